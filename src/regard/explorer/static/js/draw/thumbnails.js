// Every head of every layer, small, side by side.

import { change, weight } from "regard/theme.js";

/** @typedef {import("regard/theme.js").Theme} Theme */
/** @typedef {import("regard/trace.js").Matrix} Matrix */

/**
 * A matrix as an image of one pixel per weight, that a canvas enlarges without smoothing.
 * @param {HTMLCanvasElement} canvas
 * @param {Matrix} matrix
 * @param {Theme} theme
 * @param {{ signed?: boolean, top?: number }} [how]
 */
export function thumbnail(canvas, matrix, theme, { signed = false, top = 1 } = {}) {
  [canvas.width, canvas.height] = [matrix.columns, matrix.rows];
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const image = context.createImageData(matrix.columns, matrix.rows);
  const colour = signed ? change : weight;
  for (let i = 0; i < matrix.values.length; i++) {
    const [r, g, b] = colour(theme, matrix.values[i] / top);
    image.data[4 * i] = r;
    image.data[4 * i + 1] = g;
    image.data[4 * i + 2] = b;
    image.data[4 * i + 3] = 255;
  }
  context.putImageData(image, 0, 0);
}
