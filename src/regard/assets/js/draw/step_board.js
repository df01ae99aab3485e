// Board of the seven attention steps: a row per key, a column per step.

import { clipText } from "regard/draw/matrix_image.js";
import { formatNumber } from "regard/format.js";
import { quote } from "regard/units.js";

/** @typedef {import("regard/draw/surface.js").Surface} Surface */
/** @typedef {import("regard/theme.js").Theme} Theme */
/** @typedef {import("regard/attention_math.js").AttentionSteps} AttentionSteps */
/** @typedef {import("regard/attention_math.js").Vector} Vector */
/** @typedef {{ query: string, keys: string[], x: Vector | null, q: Vector, k: Vector[], v: Vector[], divisor: number } & AttentionSteps} Numbers */
/** @typedef {{ numbers: Numbers, step: number, hard: boolean, cursor: { row: number | null, dimension: number } | null }} Board */
/** @typedef {{ name: string, left: number, width: number }} Column */
/** @typedef {{ width: number, height: number, row: number, top: number, label: number, columns: Record<string, Column> }} BoardLayout */

const NUMBER = 62;
const WEIGHT = 112;
const HEAD = 46;
const STRIP = 34;
const GAP = 14;
const NARROW = 700;
/** Cells at least this wide contain their number. */
const MIN_NUMBER_WIDTH = 30;
const MANY_ROWS = 24;
/** Columns that a narrow board shows at each step. */
const NARROW_COLUMNS = [[], [], ["k", "v"], ["k", "dot"], ["dot", "scaled"], ["scaled", "masked"], ["masked", "weight"], ["weight", "v"]];
const FIRST_STEP = { k: 2, dot: 3, scaled: 4, masked: 5, weight: 6, v: 2 };
const TITLES = { k: "k", dot: "q · k", scaled: "÷ √dₖ", masked: "mask", weight: "softmax", v: "v" };

/**
 * @param {Board} board
 * @param {number} maxWidth
 * @returns {BoardLayout}
 */
export function layoutBoard({ numbers, step }, maxWidth) {
  const narrow = maxWidth < NARROW;
  const names = narrow ? NARROW_COLUMNS[step] : Object.keys(FIRST_STEP);
  const longest = Math.max(...numbers.keys.map((key) => key.length), 4);
  const label = Math.min(longest * 7.5 + 14, narrow ? 92 : 130);
  const few = narrow && step === 6; // the softmax column takes the rest of the width
  const fixedWidth = (/** @type {string} */ name) => (name === "weight" ? (few ? maxWidth - label - NUMBER - 2 * GAP : WEIGHT) : name === "k" || name === "v" ? 0 : NUMBER);
  const strips = names.filter((name) => !fixedWidth(name)).length;
  const left = maxWidth - label - names.reduce((sum, name) => sum + fixedWidth(name) + GAP, 0);
  const wide = Math.max(60, Math.min(left / Math.max(1, strips), MIN_NUMBER_WIDTH * 1.6 * numbers.q.length));
  /** @type {Record<string, Column>} */
  const columns = {};
  let x = label;
  for (const name of names) {
    const width = fixedWidth(name) || wide;
    if (/** @type {any} */ (FIRST_STEP)[name] <= step) columns[name] = { name, left: x, width };
    x += width + GAP;
  }
  const row = numbers.keys.length > 40 ? 18 : 24;
  const top = HEAD + (columns.k ? STRIP : 0);
  const foot = step === 7 ? STRIP + 10 : 6;
  return { width: Math.max(maxWidth, 260), height: top + row * numbers.keys.length + foot, row, top, label, columns };
}

/**
 * @param {Surface} surface
 * @param {Board} board
 * @param {BoardLayout} layout
 * @param {Theme} theme
 */
export function drawBoard(surface, board, layout, theme) {
  const { numbers, step, cursor } = board;
  drawTitles(surface, board, layout, theme);
  const values = step === 7 ? numbers.v.map((value, row) => scaleVector(value, shownWeight(board, row))) : numbers.v;
  const top = { q: maxAbs([numbers.q]), k: maxAbs(numbers.k), v: maxAbs(values) };
  const { k, v } = layout.columns;
  if (k) {
    surface.text(0, HEAD + 12, "q", { bold: true, fill: theme.query, mono: true });
    drawVectorBars(surface, numbers.q, k, HEAD, 26, top.q, theme.query, theme);
    if (cursor) drawDimensionBand(surface, k, HEAD, layout.height - HEAD, cursor.dimension, numbers.q.length, theme);
  }
  numbers.keys.forEach((key, row) => {
    const y = layout.top + row * layout.row;
    if (cursor?.row === row) surface.rect(0, y, layout.width, layout.row, { fill: theme.line, opacity: 0.35 });
    surface.text(0, y + layout.row / 2, clipText(key, Math.floor((layout.label - 8) / 7.5)), { mono: true, fill: theme.ink });
    if (k) drawVectorBars(surface, numbers.k[row], k, y + 1, layout.row - 3, top.k, theme.key, theme);
    drawNumbers(surface, board, layout, theme, row, y + layout.row / 2);
    if (v) drawVectorBars(surface, values[row], v, y + 1, layout.row - 3, top.v, theme.value, theme);
  });
  if (step === 7) drawTotal(surface, board, layout, theme);
}

/** @param {Board} board @param {number} row @returns {number} its weight; in a hard look-up 1 for the best key and 0 for the others */
export function shownWeight({ numbers, hard }, row) {
  if (!hard) return numbers.weights[row];
  return row === numbers.weights.indexOf(Math.max(...numbers.weights)) ? 1 : 0;
}

/** @param {Surface} surface @param {Board} board @param {BoardLayout} layout @param {Theme} theme */
function drawTitles(surface, { numbers, step, cursor, hard }, layout, theme) {
  const { k, v, weight } = layout.columns;
  const tone = /** @type {Record<string, string>} */ ({ k: theme.key, v: theme.value });
  for (const { name, left, width } of Object.values(layout.columns)) {
    const strip = name === "k" || name === "v";
    let text = /** @type {any} */ (TITLES)[name];
    if (name === "dot" && cursor) text = `q${subscript(cursor.dimension)}·k${subscript(cursor.dimension)}`;
    if (name === "scaled" && Math.abs(numbers.divisor - Math.sqrt(numbers.q.length)) > 1e-3) text = `÷ ${formatNumber(numbers.divisor)}`;
    if (name === "v" && step === 7) text = hard ? "v of the best" : "weight × v";
    if (name === "weight" && hard && step === 7) text = "argmax";
    surface.text(strip || name === "weight" ? left : left + width, 32, text, { anchor: strip || name === "weight" ? "start" : "end", bold: true, fill: tone[name] ?? theme.ink });
  }
  const end = weight ?? layout.columns.masked ?? layout.columns.scaled ?? layout.columns.dot ?? k;
  const start = k ?? layout.columns.dot ?? layout.columns.scaled ?? layout.columns.masked ?? weight;
  if (start && end) drawSpan(surface, start.left, end.left + end.width, "weights", theme);
  if (v) drawSpan(surface, v.left, v.left + v.width, "values", theme);
  if (step === 1) surface.text(0, 32, `the words that ${quote(numbers.query)} may attend to`, { fill: theme.faint });
}

/** @param {Surface} surface @param {number} from @param {number} to @param {string} text @param {Theme} theme */
function drawSpan(surface, from, to, text, theme) {
  surface.line([[from, 18], [to, 18]], { stroke: theme.line });
  surface.text(from, 8, text, { size: 11, fill: theme.faint });
}

/** @param {Surface} surface @param {Board} board @param {BoardLayout} layout @param {Theme} theme @param {number} row @param {number} y */
function drawNumbers(surface, board, layout, theme, row, y) {
  const { numbers, step, cursor } = board;
  const { dot, scaled, masked, weight } = layout.columns;
  const right = (/** @type {Column} */ column, /** @type {string} */ text, /** @type {string} */ fill) =>
    surface.text(column.left + column.width, y, text, { anchor: "end", mono: true, fill });
  const now = (/** @type {number} */ from) => (from === step ? theme.ink : theme.faint);
  if (dot) {
    const product = cursor ? numbers.q[cursor.dimension] * numbers.k[row][cursor.dimension] : null;
    right(dot, formatNumber(product ?? numbers.dot[row]), product === null ? now(3) : theme.accent);
  }
  if (scaled) right(scaled, formatNumber(numbers.scaled[row]), now(4));
  if (masked) right(masked, numbers.masked[row] === null ? "−∞" : step === 5 ? "seen" : formatNumber(/** @type {number} */ (numbers.masked[row])), now(5));
  if (weight) {
    const part = step === 7 ? shownWeight(board, row) : numbers.weights[row];
    surface.rect(weight.left, y - 7, Math.max(0.5, (weight.width - 52) * part), 14, { fill: theme.accent });
    surface.text(weight.left + weight.width, y, formatNumber(part, 3), { anchor: "end", mono: true, fill: theme.ink });
  }
}

/** Draw the resulting vector: below the rows, or above them where there are many, to be visible without scrolling. @param {Surface} surface @param {Board} board @param {BoardLayout} layout @param {Theme} theme */
function drawTotal(surface, board, layout, theme) {
  const { numbers, hard } = board;
  const v = layout.columns.v;
  const many = numbers.keys.length > MANY_ROWS && layout.top > HEAD;
  const y = many ? HEAD : layout.top + layout.row * numbers.keys.length + 8;
  const line = many ? y + 30 : y - 4;
  surface.line([[v.left, line], [v.left + v.width, line]], { stroke: theme.ink });
  surface.text(v.left - 8, y + 13, hard ? "z = v" : "z = Σ", { anchor: "end", bold: true, fill: theme.value, mono: true });
  drawVectorBars(surface, resultVector(board), v, y, 26, maxAbs([resultVector(board)]), theme.value, theme);
}

/** @param {Board} board @returns {Vector} z, or the value of the best key in a hard look-up */
const resultVector = ({ numbers, hard }) => (hard ? numbers.v[numbers.weights.indexOf(Math.max(...numbers.weights))] : numbers.z);

/**
 * Draw a vector as bars, positive ones up and negative ones down.
 * @param {Surface} surface
 * @param {Vector} values
 * @param {{ left: number, width: number }} place
 * @param {number} y
 * @param {number} height
 * @param {number} top the value that fills half the height
 * @param {string} colour
 * @param {Theme} theme
 */
export function drawVectorBars(surface, values, { left, width }, y, height, top, colour, theme) {
  const cell = width / values.length;
  const middle = y + height / 2;
  const written = cell > MIN_NUMBER_WIDTH && height > 16;
  if (!written) surface.line([[left, middle], [left + width, middle]], { stroke: theme.line });
  for (let i = 0; i < values.length; i++) {
    const high = (values[i] / (top || 1)) * (height / 2);
    const wide = Math.max(0.5, cell > 3 ? cell - 1 : cell);
    const paint = { fill: colour, opacity: written ? 0.3 : 1 };
    if (high) surface.rect(left + i * cell, high > 0 ? middle - high : middle, wide, Math.max(0.4, Math.abs(high)), paint);
    if (written) surface.text(left + (i + 0.5) * cell, middle, formatNumber(values[i], Number.isInteger(values[i]) ? 0 : 2), { anchor: "middle", mono: true, fill: theme.ink });
  }
}

/** @param {Surface} surface @param {Column} k @param {number} y @param {number} height @param {number} i @param {number} count @param {Theme} theme */
function drawDimensionBand(surface, k, y, height, i, count, theme) {
  const cell = k.width / count;
  surface.rect(k.left + i * cell - 1, y, Math.max(3, cell + 1), height - 6, { fill: theme.accent, opacity: 0.22 });
}

/**
 * Return the row and dimension at a point.
 * @param {Board} board
 * @param {BoardLayout} layout
 * @param {number} x
 * @param {number} y
 */
export function boardCellAt({ numbers }, layout, x, y) {
  const k = layout.columns.k;
  if (!k || x < k.left || x >= k.left + k.width) return null;
  const row = Math.floor((y - layout.top) / layout.row);
  if (y < HEAD || row >= numbers.keys.length) return null;
  return { row: row < 0 ? null : row, dimension: Math.floor(((x - k.left) / k.width) * numbers.q.length) };
}

/** @param {Vector} values @param {number} by */
const scaleVector = (values, by) => (by === 1 ? values : Array.from(values, (value) => value * by));

/** @param {Vector[]} rows */
export const maxAbs = (rows) => rows.reduce((most, row) => row.reduce((m, value) => Math.max(m, Math.abs(value)), most), 0);

/** @param {number} i counted from 0, written from 1 */
export const subscript = (i) => String(i + 1).replace(/\d/g, (digit) => "₀₁₂₃₄₅₆₇₈₉"[Number(digit)]);
