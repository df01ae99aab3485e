// Arithmetic of one attention query: the same functions for a sentence, an offline page and the worked example.

/** @typedef {number[]} Vector */
/**
 * @typedef {object} AttentionSteps
 * @property {number[]} dot of the query with each key
 * @property {number[]} scaled
 * @property {(number | null)[]} masked null is minus infinity
 * @property {number[]} weights
 * @property {number[]} z
 * @property {number[]} cosine
 */

/** @param {Vector} a @param {Vector} b */
export function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

/** @param {Vector} a */
export const norm = (a) => Math.sqrt(dot(a, a));

/** @param {Vector} a @param {Vector} b cosine similarity; 0 if one vector is 0 */
export const cosine = (a, b) => dot(a, b) / (norm(a) * norm(b) || 1);

/** @param {Vector} x @param {number[][]} matrix @returns {number[]} x times the matrix */
export const vectorTimesMatrix = (x, matrix) => matrix[0].map((_, column) => dot(x, matrix.map((row) => row[column])));

/** @param {(number | null)[]} scores @returns {number[]} positive, with sum 1; exactly 0 where masked */
export function softmax(scores) {
  const most = Math.max(...scores.map((score) => score ?? -Infinity));
  const powers = scores.map((score) => (score === null ? 0 : Math.exp(score - most)));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / (sum || 1));
}

/** @param {number[]} weights @param {Vector[]} values @returns {number[]} */
export function weightedSum(weights, values) {
  return Array.from(values[0], (_, i) => weights.reduce((sum, weight, j) => sum + weight * values[j][i], 0));
}

/** @param {number[]} weights @param {number} visible number of keys that are not masked @returns {number} entropy from 0 (one key) to 1 (uniform) */
export function normalizedEntropy(weights, visible) {
  if (visible < 2) return 0;
  return -weights.reduce((sum, weight) => sum + (weight > 0 ? weight * Math.log(weight) : 0), 0) / Math.log(visible);
}

/**
 * @param {Vector} q
 * @param {Vector[]} k
 * @param {Vector[]} v
 * @param {number} divisor
 * @param {(key: number) => boolean} hidden
 * @returns {AttentionSteps}
 */
export function attentionSteps(q, k, v, divisor, hidden) {
  const dots = k.map((key) => dot(q, key));
  const scaled = dots.map((score) => score / divisor);
  const masked = scaled.map((score, key) => (hidden(key) ? null : score));
  const weights = softmax(masked);
  return { dot: dots, scaled, masked, weights, z: weightedSum(weights, v), cosine: k.map((key) => cosine(q, key)) };
}

/** The worked example: three inputs of width 4, one head of width 3. */
export const WORKED_EXAMPLE = {
  x: [[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]],
  query: [[1, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 1]],
  key: [[0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 0]],
  value: [[0, 2, 0], [0, 3, 0], [1, 0, 3], [1, 1, 0]],
};
