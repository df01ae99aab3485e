// The colours, read from the style sheet, so that painters and page agree, in light and in dark.

import { signal } from "regard/signals.js";

/** @typedef {[number, number, number]} Colour */
/** @typedef {{ paper: string, ink: string, faint: string, line: string, accent: string, encoder: string,
 *   decoder: string, cross: string, query: string, key: string, value: string, heads: string[],
 *   weights: Colour[], changes: Colour[], dark: boolean }} Theme */

const dark = matchMedia("(prefers-color-scheme: dark)");

/** The colours that hold now. */
export const theme = signal(/** @type {Theme} */ (/** @type {unknown} */ (null)));

/** Reads the colours, and again whenever they become others. */
export function watchTheme() {
  dark.addEventListener("change", refresh);
  matchMedia("(forced-colors: active)").addEventListener("change", refresh);
  refresh();
}

/** @param {"light" | "dark"} choice */
export function choose(choice) {
  document.documentElement.dataset.theme = choice;
  refresh();
}

function refresh() {
  const style = getComputedStyle(document.documentElement);
  const get = (/** @type {string} */ name) => style.getPropertyValue(`--${name}`).trim();
  const list = (/** @type {string} */ name) => get(name).split(/\s+/);
  theme.value = {
    paper: get("paper"),
    ink: get("ink"),
    faint: get("faint"),
    line: get("line"),
    accent: get("accent"),
    encoder: get("encoder"),
    decoder: get("decoder"),
    cross: get("cross"),
    query: get("query"),
    key: get("key"),
    value: get("value"),
    heads: list("heads"),
    weights: table(list("weights").map(parsed)),
    changes: table(list("changes").map(parsed)),
    dark: document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : dark.matches,
  };
}

/** @param {string} hex @returns {Colour} */
function parsed(hex) {
  const number = parseInt(hex.slice(1), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}

/** @param {Colour[]} stops @returns {Colour[]} 256 colours through them */
function table(stops) {
  return Array.from({ length: 256 }, (_, i) => {
    const at = (i / 255) * (stops.length - 1);
    const from = Math.min(Math.floor(at), stops.length - 2);
    const part = at - from;
    return /** @type {Colour} */ (stops[from].map((c, k) => Math.round(c + part * (stops[from + 1][k] - c))));
  });
}

/** @param {Theme} theme @param {number} value from 0 to 1 @returns {Colour} */
export function weight(theme, value) {
  return theme.weights[Math.max(0, Math.min(255, Math.round(255 * value)))];
}

/** @param {Theme} theme @param {number} value from -1 to 1 @returns {Colour} */
export function change(theme, value) {
  return theme.changes[Math.max(0, Math.min(255, Math.round(127.5 * (1 + value))))];
}

/** @param {Colour} colour */
export const css = ([r, g, b]) => `rgb(${r},${g},${b})`;
