// Attention through several layers: pairs, then pairs of pairs. src/regard/trace/rollout.py, once more for the page.

/** @typedef {import("regard/trace.js").Matrix} Matrix */

/** The share that the residual carries past each attention. */
const KEPT = 0.5;

/**
 * How much of each token is in each other after each layer; rows sum to 1.
 * @param {Matrix[]} layers heads averaged, the first layer first
 * @returns {Matrix[]}
 */
export function rollout(layers) {
  /** @type {Matrix[]} */
  const found = [];
  layers.forEach((layer, i) => {
    const mixed = { ...layer, values: layer.values.map((value, k) => (1 - KEPT) * value + (k % (layer.columns + 1) ? 0 : KEPT)) };
    found.push(i ? product(mixed, found[i - 1]) : mixed);
  });
  return found;
}

/** @param {Matrix} a @param {Matrix} b @returns {Matrix} */
function product(a, b) {
  const values = new Float32Array(a.rows * b.columns);
  for (let i = 0; i < a.rows; i++) {
    for (let k = 0; k < a.columns; k++) {
      const weight = a.values[i * a.columns + k];
      for (let j = 0; j < b.columns; j++) values[i * b.columns + j] += weight * b.values[k * b.columns + j];
    }
  }
  return { rows: a.rows, columns: b.columns, values };
}
