// Matrix view with a cell cursor, for mouse, keyboard and screen reader.

import { h, scrollBoxTo } from "regard/dom.js";
import { canvasSurface, svgSurface } from "regard/draw/surface.js";
import { matrixCellAt, drawMatrix, layoutMatrix } from "regard/draw/matrix_image.js";
import { formatSigned } from "regard/hypothesis.js";
import { effect, signal } from "regard/signals.js";
import { cssColour, theme, weightColour, changeColour } from "regard/theme.js";
import { downloadBar } from "regard/parts/downloads.js";

/** @typedef {import("regard/draw/matrix_image.js").MatrixImage} MatrixImage */
/**
 * @typedef {object} MatrixViewOptions
 * @property {() => MatrixImage | null} picture reads signals
 * @property {() => string} name for the table, the files and screen readers
 * @property {() => string} summary text description
 * @property {(row: number, column: number) => string} describeCell text for a cell
 * @property {(rows: number[]) => void} [lock] called when rows are locked
 * @property {(cell: [number, number] | null) => void} [hover]
 */

/**
 * @param {MatrixViewOptions} options
 * @returns {HTMLElement}
 */
export function matrixView(options) {
  const canvas = h("canvas", { "aria-hidden": "true" });
  const status = h("p", { class: "status", role: "status" });
  const box = h("div", {
    class: "matrix",
    tabindex: 0,
    role: "application",
    "aria-roledescription": "matrix",
    onpointermove: (/** @type {PointerEvent} */ e) => moveCursor(e),
    onpointerleave: () => (cursor.value = null),
    onclick: (/** @type {PointerEvent} */ e) => click(e),
    onkeydown: (/** @type {KeyboardEvent} */ e) => key(e),
    onfocus: () => (cursor.value ??= [options.picture()?.locked?.[0] ?? 0, 0]),
    onblur: () => (cursor.value = null),
  }, canvas);
  const scale = h("div", { class: "scale", "aria-hidden": "true" });
  const width = signal(600);
  const cursor = signal(/** @type {[number, number] | null} */ (null));
  /** @type {import("regard/draw/matrix_image.js").MatrixLayout} */
  let layout;
  const downloads = downloadBar({ name: options.name, table, svg });
  const view = h("div", { class: "matrix-view" }, box, scale, status, downloads);
  new ResizeObserver(() => (width.value = Math.floor(view.clientWidth))).observe(view);

  effect(() => {
    const picture = options.picture();
    view.hidden = !picture;
    if (!picture) return;
    const image = { ...picture, cursor: validCell(picture, cursor.value) };
    layout = layoutMatrix(picture, width.value);
    drawMatrix(canvasSurface(/** @type {HTMLCanvasElement} */ (canvas), layout.width, layout.height), image, layout, theme.value);
    updateScale(picture);
  });
  effect(() => {
    const picture = options.picture();
    const cell = picture && validCell(picture, cursor.value);
    status.textContent = cell ? options.describeCell(...cell) : options.summary();
    box.setAttribute("aria-label", `${options.name()}: ${options.summary()}. Arrow keys move, Enter locks a row.`);
    options.hover?.(cell ?? null);
  });
  effect(() => {
    options.picture();
    downloads.refresh();
  });

  /** @param {MatrixImage} picture */
  function updateScale(picture) {
    const colour = picture.signed ? changeColour : weightColour;
    const stops = Array.from({ length: 9 }, (_, i) => cssColour(colour(theme.value, picture.signed ? i / 4 - 1 : i / 8)));
    const bar = h("span", { class: "ramp", style: { background: `linear-gradient(90deg, ${stops.join(", ")})` } });
    const top = picture.top ?? 1;
    const digits = top < 0.1 ? 3 : top < 1 ? 2 : 0;
    scale.replaceChildren(picture.signed ? formatSigned(-top, digits) : "0", bar, top.toFixed(digits));
  }

  /** @param {PointerEvent} event */
  function moveCursor(event) {
    const picture = options.picture();
    const frame = canvas.getBoundingClientRect();
    cursor.value = picture && matrixCellAt(picture, layout, event.clientX - frame.left, event.clientY - frame.top);
  }

  /** @param {PointerEvent} event */
  function click(event) {
    moveCursor(event);
    const cell = cursor.value;
    const locked = options.picture()?.locked ?? [];
    if (cell) lock(cell[0], event.shiftKey ? locked : [], locked);
    else options.lock?.([]);
  }

  /**
   * @param {number} row
   * @param {number[]} others rows that stay locked
   * @param {number[]} locked
   */
  function lock(row, others, locked) {
    const alone = locked.includes(row) && (others.length > 0 || locked.length === 1);
    options.lock?.(alone ? others.filter((each) => each !== row) : [...others, row]);
  }

  /** @param {KeyboardEvent} event */
  function key(event) {
    const picture = options.picture();
    if (!picture) return;
    const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    const [row, column] = cursor.value ?? [0, 0];
    const locked = picture.locked ?? [];
    if (by) moveTo(clampCell(picture, row + by[0], column + by[1]));
    else if (event.key === "Home") moveTo(clampCell(picture, row, 0));
    else if (event.key === "End") moveTo(clampCell(picture, row, picture.matrix.columns - 1));
    else if (event.key === "Enter") lock(row, event.shiftKey ? locked : [], locked);
    else if (event.key === "Escape") options.lock?.([]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {[number, number]} cell */
  function moveTo(cell) {
    cursor.value = cell;
    scrollBoxTo(box, [layout.left + cell[1] * layout.cell, layout.top + cell[0] * layout.tall], [layout.cell, layout.tall], [layout.left, layout.top]);
  }

  function table() {
    const picture = /** @type {MatrixImage} */ (options.picture());
    const { matrix, rows, columns, hidden, axes } = picture;
    return {
      rows,
      columns,
      corner: axes ? `${axes[0]} \\ ${axes[1]}` : "",
      values: (/** @type {number} */ r, /** @type {number} */ c) =>
        hidden?.(r, c) ? "masked" : matrix.values[r * matrix.columns + c].toFixed(4),
    };
  }

  function svg() {
    const picture = /** @type {MatrixImage} */ (options.picture());
    const size = layoutMatrix(picture, Math.max(width.value, 60 + 16 * picture.columns.length + 200));
    const surface = svgSurface(size.width, size.height, theme.value.paper);
    drawMatrix(surface, picture, size, theme.value);
    return surface.toString();
  }
  return view;
}

/** @param {MatrixImage} picture @param {[number, number] | null} cell */
const validCell = ({ matrix }, cell) =>
  cell && cell[0] < matrix.rows && cell[1] < matrix.columns ? cell : null;

/** @param {MatrixImage} picture @param {number} row @param {number} column @returns {[number, number]} */
const clampCell = ({ matrix }, row, column) => [
  Math.max(0, Math.min(matrix.rows - 1, row)),
  Math.max(0, Math.min(matrix.columns - 1, column)),
];
