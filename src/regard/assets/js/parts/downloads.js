// Table, CSV and SVG of a picture, and file downloads.

import { h } from "regard/dom.js";

/** @typedef {{ rows: string[], columns: string[], values: (row: number, column: number) => string, corner?: string }} Table */

/**
 * Start the download of a file.
 * @param {string} name
 * @param {string} type
 * @param {string} content
 */
export function download(name, type, content) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** @param {Table} table @returns {string} CSV as in RFC 4180 */
export function toCsv({ rows, columns, values, corner = "" }) {
  const quoted = (/** @type {string} */ text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const lines = [[corner, ...columns], ...rows.map((row, r) => [row, ...columns.map((_, c) => values(r, c))])];
  return lines.map((line) => line.map(quoted).join(",")).join("\r\n") + "\r\n";
}

/**
 * Return the table as an HTML table.
 * @param {Table} table
 * @param {string} caption
 */
export function dataTable({ rows, columns, values, corner = "" }, caption) {
  const head = h("tr", {}, h("td", {}, corner), columns.map((c) => h("th", { scope: "col", dir: "auto" }, c)));
  const body = rows.map((row, r) =>
    h("tr", {}, h("th", { scope: "row", dir: "auto" }, row), columns.map((_, c) => h("td", {}, values(r, c)))),
  );
  const table = h("table", {}, h("caption", {}, caption), h("thead", {}, head), h("tbody", {}, body));
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, table);
}

/** Larger tables are cut: they open slowly. */
const MAX_CELLS = 4000;
const MAX_COLUMNS = 60;

/**
 * Return the table, or the beginning of a large one with a note.
 * @param {Table} table
 * @param {string} caption
 */
function truncatedTable(table, caption) {
  const { rows, columns } = table;
  if (rows.length * columns.length <= MAX_CELLS) return [dataTable(table, caption)];
  const part = { ...table, columns: columns.slice(0, MAX_COLUMNS) };
  part.rows = rows.slice(0, Math.floor(MAX_CELLS / part.columns.length));
  const note = `The first ${part.rows.length} of ${rows.length} rows and ${part.columns.length} of ${columns.length} columns; CSV has them all.`;
  return [h("p", { class: "faint" }, note), dataTable(part, caption)];
}

/**
 * The buttons Table, SVG and CSV below a picture, and the table when it is open.
 * @param {{ name: () => string, table: () => Table, svg: () => string }} what
 */
export function downloadBar({ name, table, svg }) {
  const room = h("div", {});
  const button = h("button", { type: "button", class: "quiet", "aria-expanded": "false", "data-key": "t", onclick: toggle }, "Table");
  function toggle() {
    const open = button.getAttribute("aria-expanded") === "false";
    button.setAttribute("aria-expanded", String(open));
    room.replaceChildren(...(open ? truncatedTable(table(), name()) : []));
  }
  const refresh = () => {
    if (button.getAttribute("aria-expanded") === "true") room.replaceChildren(...truncatedTable(table(), name()));
  };
  const file = () => name().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").toLowerCase();
  const bar = h(
    "div",
    { class: "downloads" },
    button,
    h("button", { type: "button", class: "quiet", onclick: () => download(`${file()}.svg`, "image/svg+xml", svg()) }, "SVG"),
    h("button", { type: "button", class: "quiet", onclick: () => download(`${file()}.csv`, "text/csv", toCsv(table())) }, "CSV"),
  );
  return Object.assign(h("div", {}, bar, room), { refresh });
}
