// A matrix with its labels: pixels, never an element per weight.

import { css, shaded } from "regard/theme.js";

/** @typedef {import("regard/draw/surface.js").Surface} Surface */
/** @typedef {import("regard/theme.js").Theme} Theme */
/** @typedef {import("regard/trace.js").Matrix} Matrix */
/**
 * @typedef {object} Picture
 * @property {Matrix} matrix
 * @property {string[]} rows
 * @property {string[]} columns
 * @property {(row: number, column: number) => boolean} [hidden] masked: hatched, not white
 * @property {boolean} [signed] from -1 to 1, in two colours
 * @property {number} [top] what counts as 1
 * @property {[string, string]} [axes] what the rows are and what the columns are
 * @property {number[]} [locked] rows
 * @property {[number, number] | null} [cursor] row and column
 * @property {{ row?: number, column?: number }} [mark] the token that is chosen
 */
/** @typedef {{ cell: number, tall: number, left: number, top: number, width: number, height: number, small: boolean }} Place */

const LETTER = 7.3;
const LABELLED = 13;
/** Rows lower than this have the name of their axis above them. */
const FEW = 90;
/** The name takes so much room. */
const NAMED = 94;
const GAPPED = 8;
/** Rows that have room for their words whatever there are columns of, and how tall they are then. */
const FEW_ROWS = 12;
const READ = 16;

/**
 * Where everything goes in a given width: cells are square, but a few rows of many columns are taller, and labels are left
 * out where they would not be read.
 * @param {Picture} picture
 * @param {number} room
 * @returns {Place}
 */
export function place(picture, room) {
  const { rows, columns } = picture;
  const longest = (/** @type {string[]} */ labels) => Math.max(...labels.map((label) => length(label)), 1);
  const left = Math.max(picture.axes ? NAMED : 0, Math.min(longest(rows) * LETTER + 34, Math.max(120, room * 0.34)));
  const fits = Math.floor((room - left - 12) / Math.max(1, columns.length));
  const cell = Math.max(3, Math.min(34, fits));
  const small = cell < LABELLED;
  const top = small ? 30 : Math.min(longest(columns) * LETTER, 130) + 36;
  const tall = small && rows.length <= FEW_ROWS ? READ : cell;
  return { cell, tall, left, top, small, width: left + cell * columns.length + 12, height: top + tall * rows.length + 10 };
}

/** @param {string} text @returns {number} in letters; wide ones count twice */
function length(text) {
  let sum = 0;
  for (const c of text) sum += /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u.test(c) ? 2 : 1;
  return sum;
}

/** @param {string} text @param {number} room in letters */
export function clip(text, room) {
  if (length(text) <= room) return text;
  let out = "";
  for (const c of text) {
    if (length(out + c) > room - 1) break;
    out += c;
  }
  return `${out}…`;
}

/** Of “read → predicted” what is predicted is kept longest. @param {string} label @param {number} room */
function clipRow(label, room) {
  const [read, predicted] = label.split(" → ");
  if (predicted === undefined || length(label) <= room) return clip(label, room);
  const left = Math.max(2, room - length(predicted) - 3);
  return clip(`${clip(read, left)} → ${predicted}`, room);
}

/**
 * @param {Surface} surface
 * @param {Picture} picture
 * @param {Place} at
 * @param {Theme} theme
 */
export function paint(surface, picture, at, theme) {
  cells(surface, picture, at, theme);
  frame(surface, picture, at, theme);
  const { rows, columns, locked = [], cursor, mark } = picture;
  const fits = Math.floor((at.left - 30) / LETTER);
  const named = [...locked, cursor?.[0], mark?.row].filter((row) => row !== undefined);
  rows.forEach((label, row) => {
    const chosen = named.includes(row);
    if (at.tall < LABELLED && !chosen) {
      const free = named.every((other) => Math.abs(other - row) * at.tall >= LABELLED);
      return free && tick(surface, at.left - 6, at.top + (row + 0.5) * at.tall, row, "end", theme);
    }
    surface.text(at.left - 6, at.top + (row + 0.5) * at.tall, clipRow(label, fits), {
      anchor: "end",
      fill: chosen ? theme.accent : theme.ink,
      mono: true,
      bold: chosen,
    });
  });
  columns.forEach((label, column) => {
    const chosen = cursor?.[1] === column || mark?.column === column;
    if (at.small) {
      const free = mark?.column === undefined || Math.abs(mark.column - column) * at.cell > 14 + (length(columns[mark.column] ?? "") * LETTER) / 2;
      if (!chosen && !cursor && free) tick(surface, at.left + (column + 0.5) * at.cell, at.top - 8, column, "middle", theme);
      if (chosen) surface.text(at.left + (column + 0.5) * at.cell, at.top - 8, label, { anchor: "middle", fill: theme.accent, mono: true, bold: true });
      return;
    }
    surface.text(at.left + (column + 0.5) * at.cell, at.top - 8, clip(label, 17), {
      turn: -90,
      fill: chosen ? theme.accent : theme.ink,
      mono: true,
      bold: chosen,
    });
  });
}

/**
 * Where words would not be read, every twentieth has its number.
 * @param {Surface} surface
 * @param {number} x
 * @param {number} y
 * @param {number} number
 * @param {"end" | "middle"} anchor
 * @param {Theme} theme
 */
function tick(surface, x, y, number, anchor, theme) {
  if (number % 20 === 0) surface.text(x, y, String(number), { anchor, fill: theme.faint, size: 11 });
}

/**
 * @param {Surface} surface
 * @param {Picture} picture
 * @param {Place} at
 * @param {Theme} theme
 */
function cells(surface, picture, at, theme) {
  const { matrix, hidden } = picture;
  const { ramp, shades } = shaded(theme, matrix.values, picture);
  if (at.cell > GAPPED) {
    shades.forEach((shade, i) => {
      const [x, y] = [at.left + (i % matrix.columns) * at.cell, at.top + Math.floor(i / matrix.columns) * at.tall];
      surface.rect(x, y, at.cell - 1, at.tall - 1, { fill: css(ramp.colours[shade]) });
    });
  } else surface.cells(at.left, at.top, at.cell, matrix.columns, shades, ramp, at.tall);
  if (hidden) shade(surface, picture, at, theme, hidden);
}

/**
 * The masked part of each row in one stroke.
 * @param {Surface} surface
 * @param {Picture} picture
 * @param {Place} at
 * @param {Theme} theme
 * @param {(row: number, column: number) => boolean} hidden
 */
function shade(surface, { matrix }, at, theme, hidden) {
  for (let row = 0; row < matrix.rows; row++) {
    for (let from = 0; from < matrix.columns; from++) {
      if (!hidden(row, from)) continue;
      let to = from;
      while (to < matrix.columns && hidden(row, to)) to++;
      surface.hatch(at.left + from * at.cell, at.top + row * at.tall, (to - from) * at.cell, at.tall, theme.line);
      from = to;
    }
  }
}

/**
 * @param {Surface} surface
 * @param {Picture} picture
 * @param {Place} at
 * @param {Theme} theme
 */
function frame(surface, { matrix, axes, locked = [], cursor }, at, theme) {
  const [wide, high] = [matrix.columns * at.cell, matrix.rows * at.tall];
  surface.rect(at.left - 0.5, at.top - 0.5, wide + 1, high + 1, { stroke: theme.line });
  for (const row of locked) {
    surface.rect(at.left - 1, at.top + row * at.tall - 1, wide + 1, at.tall + 1, { stroke: theme.accent, width: 1.5 });
  }
  if (cursor) {
    const [row, column] = cursor;
    const around = { stroke: theme.accent, width: 2 };
    surface.rect(at.left + column * at.cell - 1, at.top + row * at.tall - 1, at.cell + 1, at.tall + 1, around);
  }
  if (axes) {
    surface.text(at.left, 10, axes[1], { fill: theme.faint, size: 11 });
    if (high < FEW) surface.text(0, at.top - 16, axes[0], { fill: theme.faint, size: 11 });
    else surface.text(9, at.top, axes[0], { fill: theme.faint, size: 11, turn: -90, anchor: "end" });
  }
}

/**
 * The cell under a point, or null.
 * @param {Picture} picture
 * @param {Place} at
 * @param {number} x
 * @param {number} y
 * @returns {[number, number] | null}
 */
export function cellAt({ matrix }, at, x, y) {
  const [row, column] = [Math.floor((y - at.top) / at.tall), Math.floor((x - at.left) / at.cell)];
  const inside = row >= 0 && row < matrix.rows && column >= 0 && column < matrix.columns;
  return inside ? [row, column] : null;
}
