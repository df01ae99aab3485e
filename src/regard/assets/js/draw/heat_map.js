// Heat map of numbers from -1 to 1 that fills the available width.

import { toShades } from "regard/theme.js";

/** @typedef {import("regard/draw/surface.js").Surface} Surface */
/** @typedef {import("regard/theme.js").Theme} Theme */
/** @typedef {{ matrix: import("regard/trace.js").Matrix, top: number, column: number | null, rows: number[] }} HeatMap */
/** @typedef {{ left: number, top: number, width: number, height: number, inner: number, row: number }} HeatMapLayout */

/** A column is at least one pixel wide: thinner ones would be skipped and make a false pattern. @param {HeatMap} heat @param {number} maxWidth @returns {HeatMapLayout} */
export function layoutHeatMap({ matrix }, maxWidth) {
  const [left, top] = [34, 22];
  const width = Math.max(maxWidth, left + matrix.columns + 10);
  const row = Math.max(3, Math.min(18, Math.floor(420 / matrix.rows)));
  return { left, top, row, width, height: top + row * matrix.rows + 8, inner: width - left - 10 };
}

/** @param {Surface} surface @param {HeatMap} heat @param {HeatMapLayout} layout @param {Theme} theme */
export function drawHeatMap(surface, { matrix, top, column, rows }, layout, theme) {
  const edge = (/** @type {number} */ c) => layout.left + (c * layout.inner) / matrix.columns;
  const { shades, ramp } = toShades(theme, matrix.values, { signed: true, top });
  surface.cells(layout.left, layout.top, layout.inner / matrix.columns, matrix.columns, shades, ramp, layout.row);
  const every = Math.max(1, Math.ceil(14 / layout.row));
  for (let r = 0; r < matrix.rows; r += every) {
    surface.text(layout.left - 5, layout.top + (r + 0.5) * layout.row, String(r), { anchor: "end", size: 11, fill: rows.includes(r) ? theme.accent : theme.faint, bold: rows.includes(r) });
  }
  for (const c of new Set([0, 0.25, 0.5, 0.75, 1].map((part) => Math.min(matrix.columns - 1, Math.round(part * matrix.columns))))) {
    surface.text((edge(c) + edge(c + 1)) / 2, 10, String(c), { anchor: "middle", size: 11, fill: theme.faint });
  }
  surface.rect(layout.left - 0.5, layout.top - 0.5, layout.inner + 1, layout.row * matrix.rows + 1, { stroke: theme.line });
  for (const r of rows) surface.rect(layout.left - 1, layout.top + r * layout.row - 0.5, layout.inner + 2, layout.row + 1, { stroke: theme.accent, width: 2 });
  if (column !== null) surface.rect(edge(column) - 1, layout.top - 3, Math.max(3, edge(column + 1) - edge(column) + 2), layout.row * matrix.rows + 6, { stroke: theme.ink, width: 1.5 });
}

/** @param {HeatMap} heat @param {HeatMapLayout} layout @param {number} x @param {number} y @returns {[number, number] | null} */
export function heatMapCellAt({ matrix }, layout, x, y) {
  const [row, column] = [Math.floor((y - layout.top) / layout.row), Math.floor(((x - layout.left) / layout.inner) * matrix.columns)];
  return row >= 0 && row < matrix.rows && column >= 0 && column < matrix.columns ? [row, column] : null;
}
