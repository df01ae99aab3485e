// Line graph with two axes.

import { formatNumber } from "regard/format.js";

/** @typedef {import("regard/draw/surface.js").Surface} Surface */
/** @typedef {import("regard/theme.js").Theme} Theme */
/** @typedef {[number, number]} Point */
/** @typedef {{ points: Point[], colour: string, name?: string, dots?: boolean, dash?: number[], width?: number }} Line */
/**
 * @typedef {object} LineGraph
 * @property {Line[]} lines
 * @property {[number, number]} x
 * @property {[number, number]} y
 * @property {string} xLabel
 * @property {string} yLabel
 * @property {Point[]} [band] outline of an area behind the lines
 * @property {string[]} [ticks] labels of x = 0, 1, 2, …
 * @property {number} [height]
 */

const [LEFT, RIGHT, TOP, FOOT] = [48, 12, 24, 34];

/** @param {Line} line */
const nameWidth = ({ name }) => (name ? name.length * 7 + 14 : 0);

/** Whether the line names fit beside the y label. @param {LineGraph} graph @param {number} width */
const namesFitBeside = ({ lines, yLabel }, width) => yLabel.length * 6 + lines.reduce((sum, line) => sum + nameWidth(line), 0) < width - RIGHT;

/** @param {LineGraph} graph @param {number} maxWidth */
export const layoutGraph = (graph, maxWidth) => ({ width: maxWidth, height: graph.height ?? 210 });

/** @param {Surface} surface @param {LineGraph} graph @param {{ width: number, height: number }} layout @param {Theme} theme */
export function drawGraph(surface, graph, layout, theme) {
  const { x, y } = graph;
  const names = namesFitBeside(graph, layout.width) ? 9 : 25;
  const top = TOP + names - 9;
  const across = (/** @type {number} */ value) => LEFT + ((value - x[0]) / (x[1] - x[0] || 1)) * (layout.width - LEFT - RIGHT);
  const up = (/** @type {number} */ value) => layout.height - FOOT - ((value - y[0]) / (y[1] - y[0] || 1)) * (layout.height - top - FOOT);
  const digits = y[1] - y[0] >= 20 ? 0 : y[1] - y[0] >= 2 ? 1 : 2;
  for (let i = 0; i <= 4; i++) {
    const value = y[0] + ((y[1] - y[0]) * i) / 4;
    surface.line([[LEFT, up(value)], [layout.width - RIGHT, up(value)]], { stroke: theme.line, opacity: 0.6 });
    surface.text(LEFT - 6, up(value), formatNumber(value, digits), { anchor: "end", size: 11, fill: theme.faint });
  }
  const step = graph.ticks ? 1 : [1, 2, 5, 10, 20, 50].find((each) => (x[1] - x[0]) / each <= 10) ?? 100;
  for (let value = x[0]; value <= x[1]; value += step) {
    surface.text(across(value), layout.height - FOOT + 11, graph.ticks?.[value] ?? String(value), { anchor: "middle", size: 11, fill: theme.faint });
  }
  surface.text(layout.width - RIGHT, layout.height - 7, graph.xLabel, { anchor: "end", size: 11, fill: theme.faint });
  surface.text(0, 9, graph.yLabel, { size: 11, fill: theme.faint });
  if (graph.band) surface.line(graph.band.map(([a, b]) => [across(a), up(b)]), { fill: theme.accent, opacity: 0.18 });
  let named = layout.width - RIGHT;
  for (const line of graph.lines) {
    const points = line.points.map(([a, b]) => /** @type {Point} */ ([across(a), up(b)]));
    if (line.width !== 0 && points.length > 1) surface.line(points, { stroke: line.colour, width: line.width ?? 2, dash: line.dash });
    if (line.dots) for (const [a, b] of points) surface.dot(a, b, 3, { fill: line.colour });
    if (line.name) {
      surface.text(named, names, line.name, { anchor: "end", size: 12, bold: true, fill: line.colour });
      named -= nameWidth(line);
    }
  }
}
