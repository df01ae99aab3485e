// Matrix with row and column labels, drawn as pixels: an element per weight would be too slow.

import { cssColour, toShades } from "regard/theme.js";

/** @typedef {import("regard/draw/surface.js").Surface} Surface */
/** @typedef {import("regard/theme.js").Theme} Theme */
/** @typedef {import("regard/trace.js").Matrix} Matrix */
/**
 * @typedef {object} MatrixImage
 * @property {Matrix} matrix
 * @property {string[]} rows
 * @property {string[]} columns
 * @property {(row: number, column: number) => boolean} [hidden] masked: hatched, not white
 * @property {boolean} [signed] from -1 to 1, in two colours
 * @property {number} [top] the value of the strongest shade
 * @property {[string, string]} [axes] names of rows and columns
 * @property {number[]} [locked] rows
 * @property {[number, number] | null} [cursor] row and column
 * @property {{ row?: number, column?: number }} [mark] the selected token
 */
/** @typedef {{ cell: number, tall: number, left: number, top: number, width: number, height: number, small: boolean }} MatrixLayout */

const LETTER_WIDTH = 7.3;
const MIN_LABEL_SIZE = 13;
/** Below this height the name of the row axis is written above the rows. */
const LOW_HEIGHT = 90;
/** Width of the name of the row axis. */
const AXIS_NAME_WIDTH = 94;
const MIN_GAP_SIZE = 8;
/** Up to so many rows are tall enough for their labels, whatever the width of the columns, and this tall. */
const FEW_ROWS = 12;
const READABLE_HEIGHT = 16;

/**
 * Compute the layout for a width: cells are square, but a few rows of many columns are taller; labels are left
 * out where they would be too small to read.
 * @param {MatrixImage} picture
 * @param {number} maxWidth
 * @returns {MatrixLayout}
 */
export function layoutMatrix(picture, maxWidth) {
  const { rows, columns } = picture;
  const longest = (/** @type {string[]} */ labels) => Math.max(...labels.map((label) => textWidth(label)), 1);
  const left = Math.max(picture.axes ? AXIS_NAME_WIDTH : 0, Math.min(longest(rows) * LETTER_WIDTH + 34, Math.max(120, maxWidth * 0.34)));
  const fits = Math.floor((maxWidth - left - 12) / Math.max(1, columns.length));
  const cell = Math.max(3, Math.min(34, fits));
  const small = cell < MIN_LABEL_SIZE;
  const top = small ? 30 : Math.min(longest(columns) * LETTER_WIDTH, 130) + 36;
  const tall = small && rows.length <= FEW_ROWS ? READABLE_HEIGHT : cell;
  return { cell, tall, left, top, small, width: left + cell * columns.length + 12, height: top + tall * rows.length + 10 };
}

/** @param {string} text @returns {number} in letters; full-width ones count twice */
function textWidth(text) {
  let sum = 0;
  for (const c of text) sum += /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u.test(c) ? 2 : 1;
  return sum;
}

/** @param {string} text @param {number} letters in letters */
export function clipText(text, letters) {
  if (textWidth(text) <= letters) return text;
  let out = "";
  for (const c of text) {
    if (textWidth(out + c) > letters - 1) break;
    out += c;
  }
  return `${out}…`;
}

/** Clip “read → predicted”, first the part that was read. @param {string} label @param {number} letters */
function clipRowLabel(label, letters) {
  const [read, predicted] = label.split(" → ");
  if (predicted === undefined || textWidth(label) <= letters) return clipText(label, letters);
  const left = Math.max(2, letters - textWidth(predicted) - 3);
  return clipText(`${clipText(read, left)} → ${predicted}`, letters);
}

/**
 * @param {Surface} surface
 * @param {MatrixImage} picture
 * @param {MatrixLayout} layout
 * @param {Theme} theme
 */
export function drawMatrix(surface, picture, layout, theme) {
  drawCells(surface, picture, layout, theme);
  drawFrame(surface, picture, layout, theme);
  const { rows, columns, locked = [], cursor, mark } = picture;
  const letters = Math.floor((layout.left - 30) / LETTER_WIDTH);
  const highlighted = [...locked, cursor?.[0], mark?.row].filter((row) => row !== undefined);
  rows.forEach((label, row) => {
    const chosen = highlighted.includes(row);
    if (layout.tall < MIN_LABEL_SIZE && !chosen) {
      const free = highlighted.every((other) => Math.abs(other - row) * layout.tall >= MIN_LABEL_SIZE);
      return free && drawIndex(surface, layout.left - 6, layout.top + (row + 0.5) * layout.tall, row, "end", theme);
    }
    surface.text(layout.left - 6, layout.top + (row + 0.5) * layout.tall, clipRowLabel(label, letters), {
      anchor: "end",
      fill: chosen ? theme.accent : theme.ink,
      mono: true,
      bold: chosen,
    });
  });
  columns.forEach((label, column) => {
    const chosen = cursor?.[1] === column || mark?.column === column;
    if (layout.small) {
      const free = mark?.column === undefined || Math.abs(mark.column - column) * layout.cell > 14 + (textWidth(columns[mark.column] ?? "") * LETTER_WIDTH) / 2;
      if (!chosen && !cursor && free) drawIndex(surface, layout.left + (column + 0.5) * layout.cell, layout.top - 8, column, "middle", theme);
      if (chosen) surface.text(layout.left + (column + 0.5) * layout.cell, layout.top - 8, label, { anchor: "middle", fill: theme.accent, mono: true, bold: true });
      return;
    }
    surface.text(layout.left + (column + 0.5) * layout.cell, layout.top - 8, clipText(label, 17), {
      turn: -90,
      fill: chosen ? theme.accent : theme.ink,
      mono: true,
      bold: chosen,
    });
  });
}

/**
 * Write the index of every twentieth row or column where labels are too small to read.
 * @param {Surface} surface
 * @param {number} x
 * @param {number} y
 * @param {number} number
 * @param {"end" | "middle"} anchor
 * @param {Theme} theme
 */
function drawIndex(surface, x, y, number, anchor, theme) {
  if (number % 20 === 0) surface.text(x, y, String(number), { anchor, fill: theme.faint, size: 11 });
}

/**
 * @param {Surface} surface
 * @param {MatrixImage} picture
 * @param {MatrixLayout} layout
 * @param {Theme} theme
 */
function drawCells(surface, picture, layout, theme) {
  const { matrix, hidden } = picture;
  const { ramp, shades } = toShades(theme, matrix.values, picture);
  if (layout.cell > MIN_GAP_SIZE) {
    shades.forEach((shade, i) => {
      const [x, y] = [layout.left + (i % matrix.columns) * layout.cell, layout.top + Math.floor(i / matrix.columns) * layout.tall];
      surface.rect(x, y, layout.cell - 1, layout.tall - 1, { fill: cssColour(ramp.colours[shade]) });
    });
  } else surface.cells(layout.left, layout.top, layout.cell, matrix.columns, shades, ramp, layout.tall);
  if (hidden) drawMask(surface, picture, layout, theme, hidden);
}

/**
 * Hatch the masked part of each row.
 * @param {Surface} surface
 * @param {MatrixImage} picture
 * @param {MatrixLayout} layout
 * @param {Theme} theme
 * @param {(row: number, column: number) => boolean} hidden
 */
function drawMask(surface, { matrix }, layout, theme, hidden) {
  for (let row = 0; row < matrix.rows; row++) {
    for (let from = 0; from < matrix.columns; from++) {
      if (!hidden(row, from)) continue;
      let to = from;
      while (to < matrix.columns && hidden(row, to)) to++;
      surface.hatch(layout.left + from * layout.cell, layout.top + row * layout.tall, (to - from) * layout.cell, layout.tall, theme.line);
      from = to;
    }
  }
}

/**
 * @param {Surface} surface
 * @param {MatrixImage} picture
 * @param {MatrixLayout} layout
 * @param {Theme} theme
 */
function drawFrame(surface, { matrix, axes, locked = [], cursor }, layout, theme) {
  const [wide, high] = [matrix.columns * layout.cell, matrix.rows * layout.tall];
  surface.rect(layout.left - 0.5, layout.top - 0.5, wide + 1, high + 1, { stroke: theme.line });
  for (const row of locked) {
    surface.rect(layout.left - 1, layout.top + row * layout.tall - 1, wide + 1, layout.tall + 1, { stroke: theme.accent, width: 1.5 });
  }
  if (cursor) {
    const [row, column] = cursor;
    const around = { stroke: theme.accent, width: 2 };
    surface.rect(layout.left + column * layout.cell - 1, layout.top + row * layout.tall - 1, layout.cell + 1, layout.tall + 1, around);
  }
  if (axes) {
    surface.text(layout.left, 10, axes[1], { fill: theme.faint, size: 11 });
    if (high < LOW_HEIGHT) surface.text(0, layout.top - 16, axes[0], { fill: theme.faint, size: 11 });
    else surface.text(9, layout.top, axes[0], { fill: theme.faint, size: 11, turn: -90, anchor: "end" });
  }
}

/**
 * Return the cell at a point, or null.
 * @param {MatrixImage} picture
 * @param {MatrixLayout} layout
 * @param {number} x
 * @param {number} y
 * @returns {[number, number] | null}
 */
export function matrixCellAt({ matrix }, layout, x, y) {
  const [row, column] = [Math.floor((y - layout.top) / layout.tall), Math.floor((x - layout.left) / layout.cell)];
  const inside = row >= 0 && row < matrix.rows && column >= 0 && column < matrix.columns;
  return inside ? [row, column] : null;
}
