// Colours from the style sheet for drawings, in light and dark mode.

import { signal } from "regard/signals.js";

/** @typedef {[number, number, number]} Colour */
/** @typedef {{ colours: Colour[], pixels: Uint32Array }} Ramp 256 shades, once more as a canvas has them */
/** @typedef {{ paper: string, ink: string, faint: string, line: string, accent: string, encoder: string,
 *   decoder: string, cross: string, query: string, key: string, value: string, heads: string[],
 *   weights: Ramp, changes: Ramp, dark: boolean }} Theme */

const dark = matchMedia("(prefers-color-scheme: dark)");

/** The current colours. */
export const theme = signal(/** @type {Theme} */ (/** @type {unknown} */ (null)));

/** Read the colours now and whenever they change. */
export function watchTheme() {
  dark.addEventListener("change", refresh);
  matchMedia("(forced-colors: active)").addEventListener("change", refresh);
  refresh();
}

/** @param {"light" | "dark"} choice */
export function setTheme(choice) {
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
    weights: makeRamp(list("weights").map(parseColour)),
    changes: makeRamp(list("changes").map(parseColour)),
    dark: document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : dark.matches,
  };
}

/** @param {string} hex @returns {Colour} */
function parseColour(hex) {
  const number = parseInt(hex.slice(1), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}

/** @param {Colour[]} stops @returns {Ramp} */
function makeRamp(stops) {
  const colours = Array.from({ length: 256 }, (_, i) => {
    const at = (i / 255) * (stops.length - 1);
    const from = Math.min(Math.floor(at), stops.length - 2);
    const part = at - from;
    return /** @type {Colour} */ (stops[from].map((c, k) => Math.round(c + part * (stops[from + 1][k] - c))));
  });
  const pixels = Uint32Array.from(colours, ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0);
  return { colours, pixels };
}

/** @param {number} value from 0 to 1 @returns {number} shade index */
const weightIndex = (value) => Math.max(0, Math.min(255, Math.round(255 * value)));

/** @param {number} value from -1 to 1 @returns {number} */
const changeIndex = (value) => Math.max(0, Math.min(255, Math.round(127.5 * (1 + value))));

/** @param {Theme} theme @param {number} value from 0 to 1 @returns {Colour} */
export const weightColour = (theme, value) => theme.weights.colours[weightIndex(value)];

/** @param {Theme} theme @param {number} value from -1 to 1 @returns {Colour} */
export const changeColour = (theme, value) => theme.changes.colours[changeIndex(value)];

/**
 * Convert values to shades of a ramp.
 * @param {Theme} theme
 * @param {Float32Array} values
 * @param {{ signed?: boolean, top?: number }} how `top` is the value of the strongest shade
 * @returns {{ ramp: Ramp, shades: Uint8Array }}
 */
export function toShades(theme, values, { signed = false, top = 1 }) {
  const shades = new Uint8Array(values.length);
  const of = signed ? changeIndex : weightIndex;
  for (let i = 0; i < values.length; i++) shades[i] = of(values[i] / top);
  return { ramp: signed ? theme.changes : theme.weights, shades };
}

/** @param {Colour} colour */
export const cssColour = ([r, g, b]) => `rgb(${r},${g},${b})`;
