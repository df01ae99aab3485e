// Taking things along: a table, CSV, SVG.

import { h } from "regard/dom.js";

/** @typedef {{ rows: string[], columns: string[], values: (row: number, column: number) => string, corner?: string }} Table */

/**
 * Hands a file to the browser.
 * @param {string} name
 * @param {string} type
 * @param {string} content
 */
export function download(name, type, content) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** @param {Table} table @returns {string} as RFC 4180 has it */
export function csv({ rows, columns, values, corner = "" }) {
  const quoted = (/** @type {string} */ text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const lines = [[corner, ...columns], ...rows.map((row, r) => [row, ...columns.map((_, c) => values(r, c))])];
  return lines.map((line) => line.map(quoted).join(",")).join("\r\n") + "\r\n";
}

/**
 * The same for people.
 * @param {Table} table
 * @param {string} caption
 */
export function asTable({ rows, columns, values, corner = "" }, caption) {
  const head = h("tr", {}, h("td", {}, corner), columns.map((c) => h("th", { scope: "col", dir: "auto" }, c)));
  const body = rows.map((row, r) =>
    h("tr", {}, h("th", { scope: "row", dir: "auto" }, row), columns.map((_, c) => h("td", {}, values(r, c)))),
  );
  const table = h("table", {}, h("caption", {}, caption), h("thead", {}, head), h("tbody", {}, body));
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, table);
}

/** Cells above which a table takes long to open and is read by nobody. */
const MANY = 4000;
const WIDE = 60;

/**
 * As a table that can be read: of a large one the beginning, and a line that says so.
 * @param {Table} table
 * @param {string} caption
 */
function readable(table, caption) {
  const { rows, columns } = table;
  if (rows.length * columns.length <= MANY) return [asTable(table, caption)];
  const some = { ...table, columns: columns.slice(0, WIDE) };
  some.rows = rows.slice(0, Math.floor(MANY / some.columns.length));
  const said = `The first ${some.rows.length} of ${rows.length} rows and ${some.columns.length} of ${columns.length} columns; CSV has them all.`;
  return [h("p", { class: "faint" }, said), asTable(some, caption)];
}

/**
 * The buttons Table, SVG and CSV below a picture, and the table itself when it is asked for.
 * @param {{ name: () => string, table: () => Table, svg: () => string }} what
 */
export function takeAway({ name, table, svg }) {
  const room = h("div", {});
  const button = h("button", { type: "button", class: "quiet", "aria-expanded": "false", "data-key": "t", onclick: toggle }, "Table");
  function toggle() {
    const open = button.getAttribute("aria-expanded") === "false";
    button.setAttribute("aria-expanded", String(open));
    room.replaceChildren(...(open ? readable(table(), name()) : []));
  }
  const refresh = () => {
    if (button.getAttribute("aria-expanded") === "true") room.replaceChildren(...readable(table(), name()));
  };
  const file = () => name().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").toLowerCase();
  const bar = h(
    "div",
    { class: "take" },
    button,
    h("button", { type: "button", class: "quiet", onclick: () => download(`${file()}.svg`, "image/svg+xml", svg()) }, "SVG"),
    h("button", { type: "button", class: "quiet", onclick: () => download(`${file()}.csv`, "text/csv", csv(table())) }, "CSV"),
  );
  return Object.assign(h("div", {}, bar, room), { refresh });
}
