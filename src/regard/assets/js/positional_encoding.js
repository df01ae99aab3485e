// Positions as the formulas give them: src/regard/model/position.py, once more for the page.

/** @typedef {import("regard/trace.js").Matrix} Matrix */
/** @typedef {"interleaved" | "halves" | "t2t"} Layout */
/** @typedef {{ cosine: boolean, timescale: number, pair: number }} Wave */

/** What a model calls its table. @type {Record<string, Layout | "learned">} */
export const LAYOUT_OF = { paper: "interleaved", halves: "halves", tensor2tensor: "t2t", learned: "learned" };

/**
 * What a column is: a sine or a cosine of the position over a timescale; null for one that is all zero.
 * @param {Layout} layout
 * @param {number} column
 * @param {number} width
 * @returns {Wave | null}
 */
export function wave(layout, column, width) {
  const sines = layout === "t2t" ? Math.floor(width / 2) : Math.ceil(width / 2);
  if (layout === "interleaved") return { cosine: column % 2 === 1, pair: column >> 1, timescale: 10000 ** ((2 * (column >> 1)) / width) };
  const [cosine, pair] = [column >= sines, column % sines];
  if (layout === "halves") return { cosine, pair, timescale: 10000 ** ((2 * pair) / width) };
  if (column >= 2 * sines) return null;
  return { cosine, pair, timescale: 10000 ** (pair / Math.max(sines - 1, 1)) };
}

/** @param {Wave | null} wave @param {number} position */
export function height(wave, position) {
  if (!wave) return 0;
  return (wave.cosine ? Math.cos : Math.sin)(position / wave.timescale);
}

/**
 * @param {Layout} layout
 * @param {number} length
 * @param {number} width
 * @returns {Matrix}
 */
export function table(layout, length, width) {
  const waves = Array.from({ length: width }, (_, column) => wave(layout, column, width));
  const values = new Float32Array(length * width);
  for (let row = 0; row < length; row++) waves.forEach((each, column) => (values[row * width + column] = height(each, row)));
  return { rows: length, columns: width, values };
}

/** @param {Matrix} matrix @returns {Matrix} the dot product of every row with every other */
export function products({ rows, columns, values }) {
  const out = new Float32Array(rows * rows);
  for (let p = 0; p < rows; p++) {
    for (let q = p; q < rows; q++) {
      let sum = 0;
      for (let i = 0; i < columns; i++) sum += values[p * columns + i] * values[q * columns + i];
      out[p * rows + q] = out[q * rows + p] = sum;
    }
  }
  return { rows, columns: rows, values: out };
}

/**
 * The dot products by distance: mean, least and most.
 * @param {Matrix} dots
 */
export function byDistance(dots) {
  return Array.from({ length: dots.rows }, (_, distance) => {
    const all = Array.from({ length: dots.rows - distance }, (_, p) => dots.values[p * dots.columns + p + distance]);
    return { mean: all.reduce((a, b) => a + b, 0) / all.length, least: Math.min(...all), most: Math.max(...all) };
  });
}

/**
 * sin(x + y) and cos(x + y) from sin x and cos x, with what depends on y alone: a turn of each pair.
 * @param {number} shift
 * @param {number} timescale
 * @returns {[[number, number], [number, number]]}
 */
export function turn(shift, timescale) {
  const [sine, cosine] = [Math.sin(shift / timescale), Math.cos(shift / timescale)];
  return [[cosine, sine], [-sine, cosine]];
}

/**
 * The largest difference between the table moved on by the turns and the table itself.
 * @param {Layout} layout
 * @param {number} length
 * @param {number} width
 * @param {number} shift
 */
export function turned(layout, length, width, shift) {
  let most = 0;
  for (let column = 0; column < width; column++) {
    const here = wave(layout, column, width);
    if (!here) continue;
    const matrix = turn(shift, here.timescale);
    for (let x = 0; x + shift < length; x++) {
      const pair = [Math.sin(x / here.timescale), Math.cos(x / here.timescale)];
      const row = matrix[here.cosine ? 1 : 0];
      most = Math.max(most, Math.abs(row[0] * pair[0] + row[1] * pair[1] - height(here, x + shift)));
    }
  }
  return most;
}
