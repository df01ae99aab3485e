// Number formatting.

/** @param {number} value @param {number} [digits] uses the true minus sign */
export const formatNumber = (value, digits = 2) => value.toFixed(digits).replace(/^-(?=[0.]*$)/, "").replace("-", "−");

/** @param {number} value 1234567 is 1.23 M */
export function formatCount(value) {
  if (value >= 1e6) return `${(value / 1e6).toFixed(value < 1e8 ? 2 : 0)} M`;
  return value >= 1e4 ? `${(value / 1e3).toFixed(0)} k` : value.toLocaleString("en");
}
