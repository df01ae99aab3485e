// A matrix that the mouse, the keyboard and the ear can walk through.

import { h, reveal } from "regard/dom.js";
import { canvasSurface, svgSurface } from "regard/draw/surface.js";
import { cellAt, paint, place } from "regard/draw/matrix_image.js";
import { signed } from "regard/hypothesis.js";
import { effect, signal } from "regard/signals.js";
import { css, theme, weight, change } from "regard/theme.js";
import { takeAway } from "regard/parts/downloads.js";

/** @typedef {import("regard/draw/matrix_image.js").Picture} Picture */
/**
 * @typedef {object} Asked
 * @property {() => Picture | null} picture what to draw; read as a signal is
 * @property {() => string} name for the table, the files and those who hear the page
 * @property {() => string} summary in words what it shows
 * @property {(row: number, column: number) => string} tell what a cell says
 * @property {(rows: number[]) => void} [lock] a row was chosen
 * @property {(cell: [number, number] | null) => void} [hover]
 */

/**
 * @param {Asked} asked
 * @returns {HTMLElement}
 */
export function matrixView(asked) {
  const canvas = h("canvas", { "aria-hidden": "true" });
  const said = h("p", { class: "told", role: "status" });
  const box = h("div", {
    class: "matrix",
    tabindex: 0,
    role: "application",
    "aria-roledescription": "matrix",
    onpointermove: (/** @type {PointerEvent} */ e) => point(e),
    onpointerleave: () => (cursor.value = null),
    onclick: (/** @type {PointerEvent} */ e) => click(e),
    onkeydown: (/** @type {KeyboardEvent} */ e) => key(e),
    onfocus: () => (cursor.value ??= [asked.picture()?.locked?.[0] ?? 0, 0]),
    onblur: () => (cursor.value = null),
  }, canvas);
  const scale = h("div", { class: "scale", "aria-hidden": "true" });
  const room = signal(600);
  const cursor = signal(/** @type {[number, number] | null} */ (null));
  /** @type {import("regard/draw/matrix_image.js").Place} */
  let at;
  const take = takeAway({ name: asked.name, table, svg });
  const whole = h("div", { class: "matrix-view" }, box, scale, said, take);
  new ResizeObserver(() => (room.value = Math.floor(whole.clientWidth))).observe(whole);

  effect(() => {
    const picture = asked.picture();
    whole.hidden = !picture;
    if (!picture) return;
    const shown = { ...picture, cursor: inside(picture, cursor.value) };
    at = place(picture, room.value);
    paint(canvasSurface(/** @type {HTMLCanvasElement} */ (canvas), at.width, at.height), shown, at, theme.value);
    ruler(picture);
  });
  effect(() => {
    const picture = asked.picture();
    const cell = picture && inside(picture, cursor.value);
    said.textContent = cell ? asked.tell(...cell) : asked.summary();
    box.setAttribute("aria-label", `${asked.name()}: ${asked.summary()}. Arrow keys move, Enter locks a row.`);
    asked.hover?.(cell ?? null);
  });
  effect(() => {
    asked.picture();
    take.refresh();
  });

  /** @param {Picture} picture */
  function ruler(picture) {
    const colour = picture.signed ? change : weight;
    const stops = Array.from({ length: 9 }, (_, i) => css(colour(theme.value, picture.signed ? i / 4 - 1 : i / 8)));
    const bar = h("span", { class: "ramp", style: { background: `linear-gradient(90deg, ${stops.join(", ")})` } });
    const top = picture.top ?? 1;
    const digits = top < 0.1 ? 3 : top < 1 ? 2 : 0;
    scale.replaceChildren(picture.signed ? signed(-top, digits) : "0", bar, top.toFixed(digits));
  }

  /** @param {PointerEvent} event */
  function point(event) {
    const picture = asked.picture();
    const frame = canvas.getBoundingClientRect();
    cursor.value = picture && cellAt(picture, at, event.clientX - frame.left, event.clientY - frame.top);
  }

  /** @param {PointerEvent} event */
  function click(event) {
    point(event);
    const cell = cursor.value;
    const locked = asked.picture()?.locked ?? [];
    if (cell) lock(cell[0], event.shiftKey ? locked : [], locked);
    else asked.lock?.([]);
  }

  /**
   * @param {number} row
   * @param {number[]} others that stay
   * @param {number[]} locked
   */
  function lock(row, others, locked) {
    const alone = locked.includes(row) && (others.length > 0 || locked.length === 1);
    asked.lock?.(alone ? others.filter((each) => each !== row) : [...others, row]);
  }

  /** @param {KeyboardEvent} event */
  function key(event) {
    const picture = asked.picture();
    if (!picture) return;
    const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    const [row, column] = cursor.value ?? [0, 0];
    const locked = picture.locked ?? [];
    if (by) go(clamped(picture, row + by[0], column + by[1]));
    else if (event.key === "Home") go(clamped(picture, row, 0));
    else if (event.key === "End") go(clamped(picture, row, picture.matrix.columns - 1));
    else if (event.key === "Enter") lock(row, event.shiftKey ? locked : [], locked);
    else if (event.key === "Escape") asked.lock?.([]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {[number, number]} cell */
  function go(cell) {
    cursor.value = cell;
    reveal(box, [at.left + cell[1] * at.cell, at.top + cell[0] * at.tall], [at.cell, at.tall], [at.left, at.top]);
  }

  function table() {
    const picture = /** @type {Picture} */ (asked.picture());
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
    const picture = /** @type {Picture} */ (asked.picture());
    const size = place(picture, Math.max(room.value, 60 + 16 * picture.columns.length + 200));
    const surface = svgSurface(size.width, size.height, theme.value.paper);
    paint(surface, picture, size, theme.value);
    return surface.toString();
  }
  return whole;
}

/** @param {Picture} picture @param {[number, number] | null} cell */
const inside = ({ matrix }, cell) =>
  cell && cell[0] < matrix.rows && cell[1] < matrix.columns ? cell : null;

/** @param {Picture} picture @param {number} row @param {number} column @returns {[number, number]} */
const clamped = ({ matrix }, row, column) => [
  Math.max(0, Math.min(matrix.rows - 1, row)),
  Math.max(0, Math.min(matrix.columns - 1, column)),
];
