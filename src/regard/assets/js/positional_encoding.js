// Sinusoidal positional encodings, the same formulas as src/regard/model/position.py.

/** @typedef {import("regard/trace.js").Matrix} Matrix */
/** @typedef {"interleaved" | "halves" | "t2t"} Layout */
/** @typedef {{ cosine: boolean, timescale: number, pair: number }} Wave */

/** Layouts by the setting model.position. @type {Record<string, Layout | "learned">} */
export const LAYOUT_BY_SETTING = { paper: "interleaved", halves: "halves", tensor2tensor: "t2t", learned: "learned" };

/**
 * Return the wave of a column: sine or cosine of the position over a timescale; null for a column of zeros.
 * @param {Layout} layout
 * @param {number} column
 * @param {number} width
 * @returns {Wave | null}
 */
export function waveOfColumn(layout, column, width) {
  const sines = layout === "t2t" ? Math.floor(width / 2) : Math.ceil(width / 2);
  if (layout === "interleaved") return { cosine: column % 2 === 1, pair: column >> 1, timescale: 10000 ** ((2 * (column >> 1)) / width) };
  const [cosine, pair] = [column >= sines, column % sines];
  if (layout === "halves") return { cosine, pair, timescale: 10000 ** ((2 * pair) / width) };
  if (column >= 2 * sines) return null;
  return { cosine, pair, timescale: 10000 ** (pair / Math.max(sines - 1, 1)) };
}

/** @param {Wave | null} wave @param {number} position */
export function encodingValue(wave, position) {
  if (!wave) return 0;
  return (wave.cosine ? Math.cos : Math.sin)(position / wave.timescale);
}

/**
 * @param {Layout} layout
 * @param {number} length
 * @param {number} width
 * @returns {Matrix}
 */
export function encodingTable(layout, length, width) {
  const waves = Array.from({ length: width }, (_, column) => waveOfColumn(layout, column, width));
  const values = new Float32Array(length * width);
  for (let row = 0; row < length; row++) waves.forEach((each, column) => (values[row * width + column] = encodingValue(each, row)));
  return { rows: length, columns: width, values };
}

/** @param {Matrix} matrix @returns {Matrix} the dot products of all pairs of rows */
export function dotProducts({ rows, columns, values }) {
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
 * Return mean, minimum and maximum of the dot products by distance.
 * @param {Matrix} dots
 */
export function dotProductsByDistance(dots) {
  return Array.from({ length: dots.rows }, (_, distance) => {
    const all = Array.from({ length: dots.rows - distance }, (_, p) => dots.values[p * dots.columns + p + distance]);
    return { mean: all.reduce((a, b) => a + b, 0) / all.length, least: Math.min(...all), most: Math.max(...all) };
  });
}

/**
 * Rotation matrix that gives sin(x + y) and cos(x + y) from sin x and cos x; it depends on y alone.
 * @param {number} shift
 * @param {number} timescale
 * @returns {[[number, number], [number, number]]}
 */
export function rotationMatrix(shift, timescale) {
  const [sine, cosine] = [Math.sin(shift / timescale), Math.cos(shift / timescale)];
  return [[cosine, sine], [-sine, cosine]];
}

/**
 * Return the largest difference between the rotated table and the shifted table.
 * @param {Layout} layout
 * @param {number} length
 * @param {number} width
 * @param {number} shift
 */
export function maxRotationError(layout, length, width, shift) {
  let most = 0;
  for (let column = 0; column < width; column++) {
    const columnWave = waveOfColumn(layout, column, width);
    if (!columnWave) continue;
    const matrix = rotationMatrix(shift, columnWave.timescale);
    for (let x = 0; x + shift < length; x++) {
      const pair = [Math.sin(x / columnWave.timescale), Math.cos(x / columnWave.timescale)];
      const row = matrix[columnWave.cosine ? 1 : 0];
      most = Math.max(most, Math.abs(row[0] * pair[0] + row[1] * pair[1] - encodingValue(columnWave, x + shift)));
    }
  }
  return most;
}
