// Axis scales: numbers to pixels, padded ranges, round ticks.

/** @typedef {{ low: number, high: number, start: number, end: number }} Scale puts low at the pixel start */

/** @param {Scale} scale @param {number} value */
export const toPixel = ({ low, high, start, end }, value) => start + ((value - low) / (high - low)) * (end - start);

/**
 * Return a range a little wider than the values, from 0 if `zero` is set, and never empty.
 * @param {number[]} values
 * @param {boolean} zero
 * @returns {[number, number]}
 */
export function paddedRange(values, zero) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) if (Number.isFinite(value)) [low, high] = [Math.min(low, value), Math.max(high, value)];
  if (low > high) [low, high] = [0, 1];
  if (zero) low = Math.min(low, 0);
  const room = 0.05 * (high - low) || 0.05 * Math.abs(high) || 0.5;
  return [zero && low === 0 ? low : low - room, high + room];
}

/**
 * Return about `count` round numbers with their labels.
 * @param {Scale} scale
 * @param {number} count
 * @returns {[number, string][]}
 */
export function ticks({ low, high }, count) {
  const step = roundStep((high - low) / Math.max(1, count));
  const [first, last] = [Math.ceil(low / step - 1e-9), Math.floor(high / step + 1e-9)];
  const largest = Math.max(Math.abs(low), Math.abs(high));
  return Array.from({ length: last - first + 1 }, (_, i) => [(first + i) * step, tickLabel((first + i) * step, step, largest)]);
}

/**
 * 12k, 1.5M, 0.25, 7e-4: enough digits to differ from the next tick, in the unit of the largest.
 * @param {number} value
 * @param {number} step
 * @param {number} largest
 */
export function tickLabel(value, step, largest) {
  if (Math.abs(value) < step / 1e6) return "0";
  for (const [unit, letter, least] of /** @type {const} */ ([[1e9, "G", 1e9], [1e6, "M", 1e6], [1e3, "k", 1e4]])) {
    if (largest >= least) return formatTick(value / unit, step / unit) + letter;
  }
  if (step < 1e-3) {
    const power = Math.floor(Math.log10(Math.abs(value)) + 1e-9);
    return `${formatTick(value / 10 ** power, step / 10 ** power)}e${power}`;
  }
  return formatTick(value, step);
}

/** @param {number} value @param {number} step */
function formatTick(value, step) {
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return value.toFixed(decimals + 1).replace(/\.?0+$/, "");
}

/** @param {number} rough */
function roundStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * /** @type {number} */ ([1, 2, 2.5, 5, 10].find((size) => size >= (rough / power) * 0.9));
}
