// Comparison of attention with a linear layer and a convolution, whose weights do not depend on the input.

import { h } from "regard/dom.js";
import { drawPixels } from "regard/draw/surface.js";
import { formatNumber } from "regard/format.js";
import { toShades, theme } from "regard/theme.js";
import { questionForm } from "regard/live/question_form.js";
import { dataTable } from "regard/parts/downloads.js";

/** @typedef {import("regard/app.js").App} App */

/** @param {App} app */
export function mixerComparison(app) {
  const text = app.request.peek().text;
  const [first = "", second = "", ...rest] = text.split(" ");
  return questionForm(app, {
    title: "Attention, linear, convolution",
    why: "All three mix positions with weights. Attention computes its weights from the words of each sentence; a linear layer has one for each pair of positions, and a convolution one for each distance within its kernel, both learned once. Shown: a head of the encoder on two sentences, and the linear layer and the convolution of width 5 that come nearest to it.",
    inputs: [["sentence", text], ["other sentence, of as many tokens", [second, first, ...rest].join(" ")]],
    button: "Compare",
    ask: (texts) => {
      const layer = Math.min(app.state.layer.value || 1, app.trace.value?.model.encoder_layers ?? 1);
      return { route: "token_mixers", body: { texts, layer, head: app.state.head.value || 1 } };
    },
    show: (answer) => [
      h("div", { class: "mixers" }, weightsImage("attention, first", answer.attention[0]), weightsImage("attention, second", answer.attention[1]), weightsImage("linear, both", answer.linear), weightsImage("convolution, both", answer.convolved)),
      dataTable({
        rows: ["attention", "linear", "convolution"], columns: ["difference between the sentences", "distance from the head"],
        values: (r, c) => formatNumber((c ? [0, Math.max(...answer.max_error.linear), Math.max(...answer.max_error.convolution)] : [answer.change, 0, 0])[r], 3),
      }, `layer ${answer.layer}, head ${answer.head}: largest difference of any weight`),
      h("p", { class: "facts" }, `The kernel: ${answer.convolution.kernel.map((/** @type {number} */ each, /** @type {number} */ i) => `${formatNumber(each, 3)} (${formatOffset(answer.convolution.offsets[i])})`).join(", ")}. Nothing further away than ${Math.max(...answer.convolution.offsets)} words reaches it; attention has no such border.`),
    ],
  });
}

/** @param {number} offset */
const formatOffset = (offset) => (offset > 0 ? `+${offset}` : formatNumber(offset, 0));

/** @param {string} name @param {number[][]} rows */
function weightsImage(name, rows) {
  const canvas = /** @type {HTMLCanvasElement} */ (h("canvas", { role: "img", "aria-label": `weights: ${name}` }));
  const { shades, ramp } = toShades(theme.value, Float32Array.from(rows.flat()), {});
  drawPixels(canvas, rows.length, shades, ramp);
  return h("figure", {}, canvas, h("figcaption", {}, name));
}
