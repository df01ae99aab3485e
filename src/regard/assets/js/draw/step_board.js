// The seven steps as a board: one row for each word that may be looked at, one column for each step.

import { clip } from "regard/draw/matrix_image.js";
import { fixed } from "regard/format.js";
import { quoted } from "regard/units.js";

/** @typedef {import("regard/draw/surface.js").Surface} Surface */
/** @typedef {import("regard/theme.js").Theme} Theme */
/** @typedef {import("regard/attention_math.js").Walk} Walk */
/** @typedef {import("regard/attention_math.js").Vector} Vector */
/** @typedef {{ query: string, keys: string[], x: Vector | null, q: Vector, k: Vector[], v: Vector[], divisor: number } & Walk} Numbers */
/** @typedef {{ numbers: Numbers, step: number, hard: boolean, cursor: { row: number | null, dimension: number } | null }} Board */
/** @typedef {{ name: string, left: number, width: number }} Column */
/** @typedef {{ width: number, height: number, row: number, top: number, label: number, columns: Record<string, Column> }} Place */

const NUMBER = 62;
const WEIGHT = 112;
const HEAD = 46;
const STRIP = 34;
const GAP = 14;
const NARROW = 700;
/** A cell so wide has its number written in it. */
const LETTERED = 30;
const MANY = 24;
/** What a narrow board shows at each step. */
const AT_ONCE = [[], [], ["k", "v"], ["k", "dot"], ["dot", "scaled"], ["scaled", "masked"], ["masked", "weight"], ["weight", "v"]];
const FROM = { k: 2, dot: 3, scaled: 4, masked: 5, weight: 6, v: 2 };
const TITLES = { k: "k", dot: "q · k", scaled: "÷ √dₖ", masked: "mask", weight: "softmax", v: "v" };

/**
 * @param {Board} board
 * @param {number} room
 * @returns {Place}
 */
export function place({ numbers, step }, room) {
  const narrow = room < NARROW;
  const names = narrow ? AT_ONCE[step] : Object.keys(FROM);
  const longest = Math.max(...numbers.keys.map((key) => key.length), 4);
  const label = Math.min(longest * 7.5 + 14, narrow ? 92 : 130);
  const few = narrow && step === 6; // the bars have room to grow
  const fixedWidth = (/** @type {string} */ name) => (name === "weight" ? (few ? room - label - NUMBER - 2 * GAP : WEIGHT) : name === "k" || name === "v" ? 0 : NUMBER);
  const strips = names.filter((name) => !fixedWidth(name)).length;
  const left = room - label - names.reduce((sum, name) => sum + fixedWidth(name) + GAP, 0);
  const wide = Math.max(60, Math.min(left / Math.max(1, strips), LETTERED * 1.6 * numbers.q.length));
  /** @type {Record<string, Column>} */
  const columns = {};
  let x = label;
  for (const name of names) {
    const width = fixedWidth(name) || wide;
    if (/** @type {any} */ (FROM)[name] <= step) columns[name] = { name, left: x, width };
    x += width + GAP;
  }
  const row = numbers.keys.length > 40 ? 18 : 24;
  const top = HEAD + (columns.k ? STRIP : 0);
  const foot = step === 7 ? STRIP + 10 : 6;
  return { width: Math.max(room, 260), height: top + row * numbers.keys.length + foot, row, top, label, columns };
}

/**
 * @param {Surface} surface
 * @param {Board} board
 * @param {Place} at
 * @param {Theme} theme
 */
export function paint(surface, board, at, theme) {
  const { numbers, step, cursor } = board;
  titles(surface, board, at, theme);
  const found = step === 7 ? numbers.v.map((value, row) => scaledBy(value, share(board, row))) : numbers.v;
  const top = { q: largest([numbers.q]), k: largest(numbers.k), v: largest(found) };
  const { k, v } = at.columns;
  if (k) {
    surface.text(0, HEAD + 12, "q", { bold: true, fill: theme.query, mono: true });
    bars(surface, numbers.q, k, HEAD, 26, top.q, theme.query, theme);
    if (cursor) band(surface, k, HEAD, at.height - HEAD, cursor.dimension, numbers.q.length, theme);
  }
  numbers.keys.forEach((key, row) => {
    const y = at.top + row * at.row;
    if (cursor?.row === row) surface.rect(0, y, at.width, at.row, { fill: theme.line, opacity: 0.35 });
    surface.text(0, y + at.row / 2, clip(key, Math.floor((at.label - 8) / 7.5)), { mono: true, fill: theme.ink });
    if (k) bars(surface, numbers.k[row], k, y + 1, at.row - 3, top.k, theme.key, theme);
    figures(surface, board, at, theme, row, y + at.row / 2);
    if (v) bars(surface, found[row], v, y + 1, at.row - 3, top.v, theme.value, theme);
  });
  if (step === 7) total(surface, board, at, theme);
}

/** @param {Board} board @param {number} row the weight of a row; of a hard look-up, 1 for the best */
export function share({ numbers, hard }, row) {
  if (!hard) return numbers.weights[row];
  return row === numbers.weights.indexOf(Math.max(...numbers.weights)) ? 1 : 0;
}

/** @param {Surface} surface @param {Board} board @param {Place} at @param {Theme} theme */
function titles(surface, { numbers, step, cursor, hard }, at, theme) {
  const { k, v, weight } = at.columns;
  const tone = /** @type {Record<string, string>} */ ({ k: theme.key, v: theme.value });
  for (const { name, left, width } of Object.values(at.columns)) {
    const strip = name === "k" || name === "v";
    let text = /** @type {any} */ (TITLES)[name];
    if (name === "dot" && cursor) text = `q${sub(cursor.dimension)}·k${sub(cursor.dimension)}`;
    if (name === "scaled" && Math.abs(numbers.divisor - Math.sqrt(numbers.q.length)) > 1e-3) text = `÷ ${fixed(numbers.divisor)}`;
    if (name === "v" && step === 7) text = hard ? "v of the best" : "weight × v";
    if (name === "weight" && hard && step === 7) text = "argmax";
    surface.text(strip || name === "weight" ? left : left + width, 32, text, { anchor: strip || name === "weight" ? "start" : "end", bold: true, fill: tone[name] ?? theme.ink });
  }
  const end = weight ?? at.columns.masked ?? at.columns.scaled ?? at.columns.dot ?? k;
  const start = k ?? at.columns.dot ?? at.columns.scaled ?? at.columns.masked ?? weight;
  if (start && end) span(surface, start.left, end.left + end.width, "where to look", theme);
  if (v) span(surface, v.left, v.left + v.width, "what is found there", theme);
  if (step === 1) surface.text(0, 32, `the words that ${quoted(numbers.query)} may look at`, { fill: theme.faint });
}

/** @param {Surface} surface @param {number} from @param {number} to @param {string} text @param {Theme} theme */
function span(surface, from, to, text, theme) {
  surface.line([[from, 18], [to, 18]], { stroke: theme.line });
  surface.text(from, 8, text, { size: 11, fill: theme.faint });
}

/** @param {Surface} surface @param {Board} board @param {Place} at @param {Theme} theme @param {number} row @param {number} y */
function figures(surface, board, at, theme, row, y) {
  const { numbers, step, cursor } = board;
  const { dot, scaled, masked, weight } = at.columns;
  const right = (/** @type {Column} */ column, /** @type {string} */ text, /** @type {string} */ fill) =>
    surface.text(column.left + column.width, y, text, { anchor: "end", mono: true, fill });
  const now = (/** @type {number} */ from) => (from === step ? theme.ink : theme.faint);
  if (dot) {
    const product = cursor ? numbers.q[cursor.dimension] * numbers.k[row][cursor.dimension] : null;
    right(dot, fixed(product ?? numbers.dot[row]), product === null ? now(3) : theme.accent);
  }
  if (scaled) right(scaled, fixed(numbers.scaled[row]), now(4));
  if (masked) right(masked, numbers.masked[row] === null ? "−∞" : step === 5 ? "seen" : fixed(/** @type {number} */ (numbers.masked[row])), now(5));
  if (weight) {
    const part = step === 7 ? share(board, row) : numbers.weights[row];
    surface.rect(weight.left, y - 7, Math.max(0.5, (weight.width - 52) * part), 14, { fill: theme.accent });
    surface.text(weight.left + weight.width, y, fixed(part, 3), { anchor: "end", mono: true, fill: theme.ink });
  }
}

/** What comes of it: below a few words, above many, where it is seen without scrolling. @param {Surface} surface @param {Board} board @param {Place} at @param {Theme} theme */
function total(surface, board, at, theme) {
  const { numbers, hard } = board;
  const v = at.columns.v;
  const many = numbers.keys.length > MANY && at.top > HEAD;
  const y = many ? HEAD : at.top + at.row * numbers.keys.length + 8;
  const line = many ? y + 30 : y - 4;
  surface.line([[v.left, line], [v.left + v.width, line]], { stroke: theme.ink });
  surface.text(v.left - 8, y + 13, hard ? "z = v" : "z = Σ", { anchor: "end", bold: true, fill: theme.value, mono: true });
  bars(surface, sum(board), v, y, 26, largest([sum(board)]), theme.value, theme);
}

/** @param {Board} board z, or the value of the best key */
const sum = ({ numbers, hard }) => (hard ? numbers.v[numbers.weights.indexOf(Math.max(...numbers.weights))] : numbers.z);

/**
 * A vector as bars, up for what is positive and down for what is negative.
 * @param {Surface} surface
 * @param {Vector} values
 * @param {{ left: number, width: number }} place
 * @param {number} y
 * @param {number} height
 * @param {number} top the value that fills half the height
 * @param {string} colour
 * @param {Theme} theme
 */
export function bars(surface, values, { left, width }, y, height, top, colour, theme) {
  const cell = width / values.length;
  const middle = y + height / 2;
  const written = cell > LETTERED && height > 16;
  if (!written) surface.line([[left, middle], [left + width, middle]], { stroke: theme.line });
  for (let i = 0; i < values.length; i++) {
    const high = (values[i] / (top || 1)) * (height / 2);
    const wide = Math.max(0.5, cell > 3 ? cell - 1 : cell);
    const paint = { fill: colour, opacity: written ? 0.3 : 1 };
    if (high) surface.rect(left + i * cell, high > 0 ? middle - high : middle, wide, Math.max(0.4, Math.abs(high)), paint);
    if (written) surface.text(left + (i + 0.5) * cell, middle, fixed(values[i], Number.isInteger(values[i]) ? 0 : 2), { anchor: "middle", mono: true, fill: theme.ink });
  }
}

/** @param {Surface} surface @param {Column} k @param {number} y @param {number} height @param {number} i @param {number} count @param {Theme} theme */
function band(surface, k, y, height, i, count, theme) {
  const cell = k.width / count;
  surface.rect(k.left + i * cell - 1, y, Math.max(3, cell + 1), height - 6, { fill: theme.accent, opacity: 0.22 });
}

/**
 * What lies under a point.
 * @param {Board} board
 * @param {Place} at
 * @param {number} x
 * @param {number} y
 */
export function pointAt({ numbers }, at, x, y) {
  const k = at.columns.k;
  if (!k || x < k.left || x >= k.left + k.width) return null;
  const row = Math.floor((y - at.top) / at.row);
  if (y < HEAD || row >= numbers.keys.length) return null;
  return { row: row < 0 ? null : row, dimension: Math.floor(((x - k.left) / k.width) * numbers.q.length) };
}

/** @param {Vector} values @param {number} by */
const scaledBy = (values, by) => (by === 1 ? values : Array.from(values, (value) => value * by));

/** @param {Vector[]} rows */
export const largest = (rows) => rows.reduce((most, row) => row.reduce((m, value) => Math.max(m, Math.abs(value)), most), 0);

/** @param {number} i from 0; people count dimensions from 1 */
export const sub = (i) => String(i + 1).replace(/\d/g, (digit) => "₀₁₂₃₄₅₆₇₈₉"[Number(digit)]);
