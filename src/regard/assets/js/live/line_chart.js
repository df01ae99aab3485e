// Lines over one axis, with what to compare them with.

import { around, put, ticks } from "regard/live/axis_scale.js";

/** @typedef {import("regard/draw/surface.js").Surface} Surface */
/** @typedef {import("regard/live/axis_scale.js").Scale} Scale */
/** @typedef {import("regard/theme.js").Theme} Theme */
/** @typedef {[number, number]} Point */
/**
 * @typedef {object} Line
 * @property {Point[]} points NaN is a gap
 * @property {number} tone which colour and mark; -1 is grey
 * @property {string} label
 * @property {"thin" | "thick" | "fine"} [weight] thin: faint, for what is noisy; fine: for what was meant to be
 * @property {number} [dash]
 * @property {boolean} [marks]
 * @property {number} [shape] of its marks, where it is not that of its tone
 * @property {boolean} [bars] each value holds up to the next place
 * @property {number} [unscaled] so many points at its start do not stretch the axis, and may lie outside it
 */
/**
 * @typedef {object} Chart
 * @property {string} name
 * @property {string} title
 * @property {string} x what lies across
 * @property {Line[]} lines
 * @property {{ y: number, label: string, tone: number, left?: boolean }[]} [levels] heights to compare with, dotted
 * @property {{ x: number, y: number | null, label: string, tone: number }[]} [spots] worth a word; without a height, a line
 * @property {Point[]} [bands] shaded, from and to
 * @property {boolean} [zero] whether the axis begins there
 * @property {string} [caption]
 */
/** @typedef {{ x: Scale, y: Scale, width: number, height: number, top: number }} Place */

const [LEFT, RIGHT, BOTTOM] = [52, 14, 36];
const MOST_MARKS = 60;
const LETTER = 6.2;
export const DASHES = [[], [7, 3], [2, 3], [9, 3, 2, 3], [12, 4]];

/**
 * @param {Chart} chart
 * @param {number} width
 * @param {number} height
 * @returns {Place}
 */
export function place(chart, width, height) {
  const top = 12 + 18 * legend(chart, width).rows;
  let right = 0;
  for (const { points } of chart.lines) for (const [x] of points) if (x > right) right = x;
  const up = chart.lines.flatMap((line) => line.points.slice(line.unscaled ?? 0).map(([, y]) => y));
  const [low, high] = around([...up, ...(chart.levels ?? []).map((level) => level.y)], Boolean(chart.zero));
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
 * @param {Place} at
 * @param {Theme} theme
 */
export function paint(surface, chart, at, theme) {
  for (const [from, to] of chart.bands ?? []) {
    const [x0, x1] = [put(at.x, from), put(at.x, to)];
    surface.rect(x0, at.top, Math.max(1, x1 - x0), at.y.start - at.top, { fill: theme.line, opacity: 0.6 });
  }
  axes(surface, chart, at, theme);
  for (const { y, tone } of chart.levels ?? []) {
    surface.line([[at.x.start, put(at.y, y)], [at.x.end, put(at.y, y)]], { stroke: colour(theme, tone), width: 1.4, dash: [1.5, 3.5] });
  }
  for (const weight of ["thin", "thick", "fine"]) {
    for (const line of chart.lines) if ((line.weight ?? "thick") === weight) drawn(surface, line, at, theme);
  }
  labelled(surface, chart, at, theme);
  keys(surface, chart, at, theme);
}

/** @param {Theme} theme @param {number} tone */
const colour = (theme, tone) => (tone < 0 ? theme.faint : theme.heads[tone % theme.heads.length]);

/** @param {Surface} surface @param {Chart} chart @param {Place} at @param {Theme} theme */
function axes(surface, chart, at, theme) {
  const small = { fill: theme.faint, size: 11 };
  for (const [value, text] of ticks(at.y, Math.max(2, Math.floor((at.y.start - at.top) / 36)))) {
    const y = put(at.y, value);
    surface.line([[LEFT, y], [at.width - RIGHT, y]], { stroke: theme.line, opacity: 0.6 });
    surface.text(LEFT - 7, y, text, { ...small, anchor: "end" });
  }
  for (const [value, text] of ticks(at.x, Math.max(2, Math.floor((at.x.end - at.x.start) / 80)))) {
    const x = put(at.x, value);
    surface.line([[x, at.y.start], [x, at.y.start + 4]], { stroke: theme.line });
    surface.text(x, at.y.start + 13, text, { ...small, anchor: x > at.width - 30 ? "end" : "middle" });
  }
  surface.text(at.width - RIGHT, at.height - 7, chart.x, { ...small, anchor: "end" });
}

/** @param {Surface} surface @param {Line} line @param {Place} at @param {Theme} theme */
function drawn(surface, line, at, theme) {
  const stroke = colour(theme, line.tone);
  const paint = {
    thin: { stroke, width: 1, opacity: 0.45 },
    thick: { stroke, width: 2, dash: DASHES[(line.dash ?? 0) % DASHES.length] },
    fine: { stroke, width: 1, dash: [4, 2] },
  }[line.weight ?? "thick"];
  for (const part of pieces(line, at)) surface.line(part, paint);
  if (!line.marks || line.points.length > MOST_MARKS) return;
  for (const [x, y] of line.points) if (Number.isFinite(y)) mark(surface, put(at.x, x), put(at.y, y), line.shape ?? line.tone, stroke);
}

/**
 * The line in pixels, without its gaps and without what lies above or below the picture.
 * @param {Line} line
 * @param {Place} at
 * @returns {Point[][]}
 */
export function pieces({ points, bars }, at) {
  const [up, down] = [at.y.end, at.y.start];
  /** @type {Point[][]} */
  const out = [];
  /** @type {Point | null} */
  let last = null;
  const go = (/** @type {Point} */ to) => {
    const from = last ?? to;
    last = to;
    const [a, b] = [within(from, to, up, down), within(to, from, up, down)];
    if (!a || !b) return;
    const part = out.at(-1);
    const end = part?.at(-1);
    if (part && end && end[0] === a[0] && end[1] === a[1]) part.push(b);
    else out.push([a, b]);
  };
  points.forEach(([x, y], i) => {
    if (!Number.isFinite(x) || !Number.isFinite(y)) return void (last = null);
    const height = put(at.y, y);
    go([put(at.x, x), height]);
    if (bars) go([put(at.x, points[i + 1]?.[0] ?? x), height]);
  });
  return out;
}

/**
 * Where the way from one point to another first lies between two heights; null where it never does.
 * @param {Point} from
 * @param {Point} to
 * @param {number} up
 * @param {number} down
 * @returns {Point | null}
 */
function within([x0, y0], [x1, y1], up, down) {
  if (y0 >= up && y0 <= down) return [x0, y0];
  const edge = y0 < up ? up : down;
  if (y0 < up ? y1 < up : y1 > down) return null;
  return [x0 + ((edge - y0) / (y1 - y0)) * (x1 - x0), edge];
}

/** @param {Surface} surface @param {number} x @param {number} y @param {number} tone @param {string} fill */
function mark(surface, x, y, tone, fill) {
  if (tone === 1) return surface.rect(x - 3.2, y - 3.2, 6.4, 6.4, { fill });
  if (tone === 2) return surface.line([[x, y - 4.2], [x + 4, y + 3], [x - 4, y + 3]], { fill });
  if (tone === 3) return surface.line([[x, y - 4.6], [x + 4.6, y], [x, y + 4.6], [x - 4.6, y]], { fill });
  surface.dot(x, y, 3.5, { fill });
}

/** @param {Surface} surface @param {Chart} chart @param {Place} at @param {Theme} theme */
function labelled(surface, chart, at, theme) {
  /** @type {(x: number, y: number, text: string, anchor: "start" | "end") => void} */
  const write = (x, y, text, anchor) => {
    const wide = text.length * LETTER;
    surface.rect(anchor === "end" ? x - wide - 2 : x - 2, y - 7, wide + 4, 14, { fill: theme.paper, opacity: 0.8 });
    surface.text(x, y, text, { size: 11, fill: theme.ink, anchor });
  };
  for (const { y, label, left } of chart.levels ?? []) {
    const level = put(at.y, y);
    const below = left ? level < at.y.start - 18 : level <= at.top + 18; // at the left, lines come down from above
    write(left ? at.x.start + 6 : at.x.end - 4, below ? level + 10 : level - 9, label, left ? "start" : "end");
  }
  for (const { x, y, label, tone } of chart.spots ?? []) {
    const across = put(at.x, x);
    const anchor = across > (at.x.start + at.x.end) / 2 ? "end" : "start";
    const beside = anchor === "end" ? across - 8 : across + 8;
    if (y === null) {
      surface.line([[across, at.y.start], [across, at.top]], { stroke: theme.faint, width: 1.4, dash: [1.5, 3.5] });
      write(beside, at.top + 9, label, anchor);
    } else {
      const height = put(at.y, y);
      surface.dot(across, height, 7, { stroke: colour(theme, tone), width: 2 });
      if (label) write(beside, height > at.top + 24 ? height - 15 : height + 16, label, anchor);
    }
  }
}

/**
 * Each kind of line once; a single one is what the title says.
 * @param {Chart} chart
 * @param {number} width
 */
function legend(chart, width) {
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

/** @param {Surface} surface @param {Chart} chart @param {Place} at @param {Theme} theme */
function keys(surface, chart, at, theme) {
  for (const { line, x, y } of legend(chart, at.width).entries) {
    const stroke = colour(theme, line.tone);
    const dash = line.weight === "fine" ? [4, 2] : DASHES[(line.dash ?? 0) % DASHES.length];
    surface.line([[x, y], [x + 22, y]], { stroke, dash, width: line.weight === "thick" || !line.weight ? 2 : 1, opacity: line.weight === "thin" ? 0.45 : 1 });
    if (line.marks) mark(surface, x + 11, y, line.shape ?? line.tone, stroke);
    surface.text(x + 28, y, line.label, { size: 11, fill: theme.faint });
  }
}

/** @param {Chart} chart @returns {string} the picture in words, for those who cannot see it */
export function describe({ lines, levels = [], spots = [], caption }) {
  const said = lines.filter((line) => (line.weight ?? "thick") === "thick").flatMap(({ label, points }) => {
    const known = points.map(([, y]) => y).filter(Number.isFinite);
    if (!known.length) return [];
    const [low, high] = known.reduce(([a, b], y) => [Math.min(a, y), Math.max(b, y)], [Infinity, -Infinity]);
    return [`${label}: from ${short(known[0])} to ${short(known[known.length - 1])}, lowest ${short(low)}, highest ${short(high)}.`];
  });
  const more = [...levels, ...spots].filter(({ label }) => label).map(({ label }) => `${label}.`);
  return [caption ? `${caption}.` : "", ...said, ...more].filter(Boolean).join(" ");
}

/** @param {number} value */
export const short = (value) => (Math.abs(value) >= 10_000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(4))));
