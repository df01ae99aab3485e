// Line chart with legend, reference levels, marks and shaded bands.

import { paddedRange, toPixel, ticks } from "regard/live/axis_scale.js";

/** @typedef {import("regard/draw/surface.js").Surface} Surface */
/** @typedef {import("regard/live/axis_scale.js").Scale} Scale */
/** @typedef {import("regard/theme.js").Theme} Theme */
/** @typedef {[number, number]} Point */
/**
 * @typedef {object} Line
 * @property {Point[]} points NaN is a gap
 * @property {number} tone index of colour and mark; -1 is grey
 * @property {string} label
 * @property {"thin" | "thick" | "fine"} [weight] thin: faint, for noisy values; fine: dashed, for planned values
 * @property {number} [dash]
 * @property {boolean} [marks]
 * @property {number} [shape] of its marks, if not that of its tone
 * @property {boolean} [bars] step line: each value holds until the next x
 * @property {number} [unscaled] number of points at the start that the y range ignores
 */
/**
 * @typedef {object} Chart
 * @property {string} name
 * @property {string} title
 * @property {string} x name of the x axis
 * @property {Line[]} lines
 * @property {{ y: number, label: string, tone: number, left?: boolean }[]} [levels] dotted horizontal reference lines
 * @property {{ x: number, y: number | null, label: string, tone: number }[]} [spots] labelled points; without y, vertical lines
 * @property {Point[]} [bands] shaded ranges of x
 * @property {boolean} [zero] whether the y axis starts at 0
 * @property {string} [caption]
 */
/** @typedef {{ x: Scale, y: Scale, width: number, height: number, top: number }} ChartLayout */

const [LEFT, RIGHT, BOTTOM] = [52, 14, 36];
const MOST_MARKS = 60;
const LETTER = 6.2;
export const DASHES = [[], [7, 3], [2, 3], [9, 3, 2, 3], [12, 4]];

/**
 * @param {Chart} chart
 * @param {number} width
 * @param {number} height
 * @returns {ChartLayout}
 */
export function layoutChart(chart, width, height) {
  const top = 12 + 18 * layoutLegend(chart, width).rows;
  let right = 0;
  for (const { points } of chart.lines) for (const [x] of points) if (x > right) right = x;
  const up = chart.lines.flatMap((line) => line.points.slice(line.unscaled ?? 0).map(([, y]) => y));
  const [low, high] = paddedRange([...up, ...(chart.levels ?? []).map((level) => level.y)], Boolean(chart.zero));
  return {
    x: { low: 0, high: right || 1, start: LEFT, end: width - RIGHT },
    y: { low, high, start: height - BOTTOM, end: top },
    width,
    height,
    top,
  };
}

/**
 * @param {Surface} surface
 * @param {Chart} chart
 * @param {ChartLayout} layout
 * @param {Theme} theme
 */
export function drawChart(surface, chart, layout, theme) {
  for (const [from, to] of chart.bands ?? []) {
    const [x0, x1] = [toPixel(layout.x, from), toPixel(layout.x, to)];
    surface.rect(x0, layout.top, Math.max(1, x1 - x0), layout.y.start - layout.top, { fill: theme.line, opacity: 0.6 });
  }
  drawAxes(surface, chart, layout, theme);
  for (const { y, tone } of chart.levels ?? []) {
    surface.line([[layout.x.start, toPixel(layout.y, y)], [layout.x.end, toPixel(layout.y, y)]], { stroke: lineColour(theme, tone), width: 1.4, dash: [1.5, 3.5] });
  }
  for (const weight of ["thin", "thick", "fine"]) {
    for (const line of chart.lines) if ((line.weight ?? "thick") === weight) drawLine(surface, line, layout, theme);
  }
  drawLabels(surface, chart, layout, theme);
  drawLegend(surface, chart, layout, theme);
}

/** @param {Theme} theme @param {number} tone */
const lineColour = (theme, tone) => (tone < 0 ? theme.faint : theme.heads[tone % theme.heads.length]);

/** @param {Surface} surface @param {Chart} chart @param {ChartLayout} layout @param {Theme} theme */
function drawAxes(surface, chart, layout, theme) {
  const small = { fill: theme.faint, size: 11 };
  for (const [value, text] of ticks(layout.y, Math.max(2, Math.floor((layout.y.start - layout.top) / 36)))) {
    const y = toPixel(layout.y, value);
    surface.line([[LEFT, y], [layout.width - RIGHT, y]], { stroke: theme.line, opacity: 0.6 });
    surface.text(LEFT - 7, y, text, { ...small, anchor: "end" });
  }
  for (const [value, text] of ticks(layout.x, Math.max(2, Math.floor((layout.x.end - layout.x.start) / 80)))) {
    const x = toPixel(layout.x, value);
    surface.line([[x, layout.y.start], [x, layout.y.start + 4]], { stroke: theme.line });
    surface.text(x, layout.y.start + 13, text, { ...small, anchor: x > layout.width - 30 ? "end" : "middle" });
  }
  surface.text(layout.width - RIGHT, layout.height - 7, chart.x, { ...small, anchor: "end" });
}

/** @param {Surface} surface @param {Line} line @param {ChartLayout} layout @param {Theme} theme */
function drawLine(surface, line, layout, theme) {
  const stroke = lineColour(theme, line.tone);
  const paint = {
    thin: { stroke, width: 1, opacity: 0.45 },
    thick: { stroke, width: 2, dash: DASHES[(line.dash ?? 0) % DASHES.length] },
    fine: { stroke, width: 1, dash: [4, 2] },
  }[line.weight ?? "thick"];
  for (const part of lineSegments(line, layout)) surface.line(part, paint);
  if (!line.marks || line.points.length > MOST_MARKS) return;
  for (const [x, y] of line.points) if (Number.isFinite(y)) drawMark(surface, toPixel(layout.x, x), toPixel(layout.y, y), line.shape ?? line.tone, stroke);
}

/**
 * Return the segments of a line in pixels, without gaps and clipped to the plot.
 * @param {Line} line
 * @param {ChartLayout} layout
 * @returns {Point[][]}
 */
export function lineSegments({ points, bars }, layout) {
  const [up, down] = [layout.y.end, layout.y.start];
  /** @type {Point[][]} */
  const out = [];
  /** @type {Point | null} */
  let last = null;
  const go = (/** @type {Point} */ to) => {
    const from = last ?? to;
    last = to;
    const [a, b] = [clipToHeights(from, to, up, down), clipToHeights(to, from, up, down)];
    if (!a || !b) return;
    const part = out.at(-1);
    const end = part?.at(-1);
    if (part && end && end[0] === a[0] && end[1] === a[1]) part.push(b);
    else out.push([a, b]);
  };
  points.forEach(([x, y], i) => {
    if (!Number.isFinite(x) || !Number.isFinite(y)) return void (last = null);
    const height = toPixel(layout.y, y);
    go([toPixel(layout.x, x), height]);
    if (bars) go([toPixel(layout.x, points[i + 1]?.[0] ?? x), height]);
  });
  return out;
}

/**
 * Return the first point between two heights on the way from one point to another, or null.
 * @param {Point} from
 * @param {Point} to
 * @param {number} up
 * @param {number} down
 * @returns {Point | null}
 */
function clipToHeights([x0, y0], [x1, y1], up, down) {
  if (y0 >= up && y0 <= down) return [x0, y0];
  const edge = y0 < up ? up : down;
  if (y0 < up ? y1 < up : y1 > down) return null;
  return [x0 + ((edge - y0) / (y1 - y0)) * (x1 - x0), edge];
}

/** @param {Surface} surface @param {number} x @param {number} y @param {number} tone @param {string} fill */
function drawMark(surface, x, y, tone, fill) {
  if (tone === 1) return surface.rect(x - 3.2, y - 3.2, 6.4, 6.4, { fill });
  if (tone === 2) return surface.line([[x, y - 4.2], [x + 4, y + 3], [x - 4, y + 3]], { fill });
  if (tone === 3) return surface.line([[x, y - 4.6], [x + 4.6, y], [x, y + 4.6], [x - 4.6, y]], { fill });
  surface.dot(x, y, 3.5, { fill });
}

/** @param {Surface} surface @param {Chart} chart @param {ChartLayout} layout @param {Theme} theme */
function drawLabels(surface, chart, layout, theme) {
  /** @type {(x: number, y: number, text: string, anchor: "start" | "end") => void} */
  const write = (x, y, text, anchor) => {
    const wide = text.length * LETTER;
    surface.rect(anchor === "end" ? x - wide - 2 : x - 2, y - 7, wide + 4, 14, { fill: theme.paper, opacity: 0.8 });
    surface.text(x, y, text, { size: 11, fill: theme.ink, anchor });
  };
  for (const { y, label, left } of chart.levels ?? []) {
    const level = toPixel(layout.y, y);
    const below = left ? level < layout.y.start - 18 : level <= layout.top + 18; // at the left, lines come from above
    write(left ? layout.x.start + 6 : layout.x.end - 4, below ? level + 10 : level - 9, label, left ? "start" : "end");
  }
  for (const { x, y, label, tone } of chart.spots ?? []) {
    const across = toPixel(layout.x, x);
    const anchor = across > (layout.x.start + layout.x.end) / 2 ? "end" : "start";
    const beside = anchor === "end" ? across - 8 : across + 8;
    if (y === null) {
      surface.line([[across, layout.y.start], [across, layout.top]], { stroke: theme.faint, width: 1.4, dash: [1.5, 3.5] });
      write(beside, layout.top + 9, label, anchor);
    } else {
      const height = toPixel(layout.y, y);
      surface.dot(across, height, 7, { stroke: lineColour(theme, tone), width: 2 });
      if (label) write(beside, height > layout.top + 24 ? height - 15 : height + 16, label, anchor);
    }
  }
}

/**
 * Lay out the legend, each label once; a single line needs none.
 * @param {Chart} chart
 * @param {number} width
 */
function layoutLegend(chart, width) {
  /** @type {Map<string, Line>} */
  const kinds = new Map();
  for (const line of chart.lines) if (line.points.some(([, y]) => Number.isFinite(y)) && !kinds.has(line.label)) kinds.set(line.label, line);
  let [x, row] = [8, 0];
  const entries = kinds.size < 2 ? [] : [...kinds.values()].map((line) => {
    const needed = 28 + line.label.length * LETTER + 14;
    if (x + needed > width && x > 8) [x, row] = [8, row + 1];
    x += needed;
    return { line, x: x - needed, y: 10 + 18 * row };
  });
  return { entries, rows: entries.length ? row + 1 : 0 };
}

/** @param {Surface} surface @param {Chart} chart @param {ChartLayout} layout @param {Theme} theme */
function drawLegend(surface, chart, layout, theme) {
  for (const { line, x, y } of layoutLegend(chart, layout.width).entries) {
    const stroke = lineColour(theme, line.tone);
    const dash = line.weight === "fine" ? [4, 2] : DASHES[(line.dash ?? 0) % DASHES.length];
    surface.line([[x, y], [x + 22, y]], { stroke, dash, width: line.weight === "thick" || !line.weight ? 2 : 1, opacity: line.weight === "thin" ? 0.45 : 1 });
    if (line.marks) drawMark(surface, x + 11, y, line.shape ?? line.tone, stroke);
    surface.text(x + 28, y, line.label, { size: 11, fill: theme.faint });
  }
}

/** @param {Chart} chart @returns {string} a text description for screen readers */
export function describeChart({ lines, levels = [], spots = [], caption }) {
  const descriptions = lines.filter((line) => (line.weight ?? "thick") === "thick").flatMap(({ label, points }) => {
    const known = points.map(([, y]) => y).filter(Number.isFinite);
    if (!known.length) return [];
    const [low, high] = known.reduce(([a, b], y) => [Math.min(a, y), Math.max(b, y)], [Infinity, -Infinity]);
    return [`${label}: from ${formatValue(known[0])} to ${formatValue(known[known.length - 1])}, lowest ${formatValue(low)}, highest ${formatValue(high)}.`];
  });
  const more = [...levels, ...spots].filter(({ label }) => label).map(({ label }) => `${label}.`);
  return [caption ? `${caption}.` : "", ...descriptions, ...more].filter(Boolean).join(" ");
}

/** @param {number} value */
export const formatValue = (value) => (Math.abs(value) >= 10_000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(4))));
