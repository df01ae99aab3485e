// A table of numbers from -1 to 1 that fills its room, however many columns it has.

import { shaded } from "regard/theme.js";

/** @typedef {import("regard/draw/surface.js").Surface} Surface */
/** @typedef {import("regard/theme.js").Theme} Theme */
/** @typedef {{ matrix: import("regard/trace.js").Matrix, top: number, column: number | null, rows: number[] }} Heat */
/** @typedef {{ left: number, top: number, width: number, height: number, inner: number, row: number }} Place */

/** A column has a pixel at least: thinner ones would be left out, and their neighbours make a pattern that is not there. @param {Heat} heat @param {number} room @returns {Place} */
export function place({ matrix }, room) {
  const [left, top] = [34, 22];
  const width = Math.max(room, left + matrix.columns + 10);
  const row = Math.max(3, Math.min(18, Math.floor(420 / matrix.rows)));
  return { left, top, row, width, height: top + row * matrix.rows + 8, inner: width - left - 10 };
}

/** @param {Surface} surface @param {Heat} heat @param {Place} at @param {Theme} theme */
export function paint(surface, { matrix, top, column, rows }, at, theme) {
  const edge = (/** @type {number} */ c) => at.left + (c * at.inner) / matrix.columns;
  const { shades, ramp } = shaded(theme, matrix.values, { signed: true, top });
  surface.cells(at.left, at.top, at.inner / matrix.columns, matrix.columns, shades, ramp, at.row);
  const every = Math.max(1, Math.ceil(14 / at.row));
  for (let r = 0; r < matrix.rows; r += every) {
    surface.text(at.left - 5, at.top + (r + 0.5) * at.row, String(r), { anchor: "end", size: 11, fill: rows.includes(r) ? theme.accent : theme.faint, bold: rows.includes(r) });
  }
  for (const c of new Set([0, 0.25, 0.5, 0.75, 1].map((part) => Math.min(matrix.columns - 1, Math.round(part * matrix.columns))))) {
    surface.text((edge(c) + edge(c + 1)) / 2, 10, String(c), { anchor: "middle", size: 11, fill: theme.faint });
  }
  surface.rect(at.left - 0.5, at.top - 0.5, at.inner + 1, at.row * matrix.rows + 1, { stroke: theme.line });
  for (const r of rows) surface.rect(at.left - 1, at.top + r * at.row - 0.5, at.inner + 2, at.row + 1, { stroke: theme.accent, width: 2 });
  if (column !== null) surface.rect(edge(column) - 1, at.top - 3, Math.max(3, edge(column + 1) - edge(column) + 2), at.row * matrix.rows + 6, { stroke: theme.ink, width: 1.5 });
}

/** @param {Heat} heat @param {Place} at @param {number} x @param {number} y @returns {[number, number] | null} */
export function cellAt({ matrix }, at, x, y) {
  const [row, column] = [Math.floor((y - at.top) / at.row), Math.floor(((x - at.left) / at.inner) * matrix.columns)];
  return row >= 0 && row < matrix.rows && column >= 0 && column < matrix.columns ? [row, column] : null;
}
