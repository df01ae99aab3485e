// Attention beside a linear layer and a convolution: weights that follow the input, and weights that cannot.

import { h } from "regard/dom.js";
import { pixels } from "regard/draw/surface.js";
import { fixed } from "regard/format.js";
import { shaded, theme } from "regard/theme.js";
import { question } from "regard/live/question_form.js";
import { asTable } from "regard/parts/downloads.js";

/** @typedef {import("regard/app.js").App} App */

/** @param {App} app */
export function mixers(app) {
  const text = app.request.peek().text;
  const [first = "", second = "", ...rest] = text.split(" ");
  return question(app, {
    title: "Attention, linear, convolution",
    why: "All three mix positions with weights. Attention computes its weights from the words, anew for each sentence; a linear layer has one for each pair of positions, and a convolution one for each distance within its kernel, both learned once. Shown: a head of the encoder on two sentences, and the linear layer and the convolution of width 5 that come nearest to it.",
    inputs: [["sentence", text], ["other sentence, of as many tokens", [second, first, ...rest].join(" ")]],
    button: "Compare",
    ask: (texts) => {
      const layer = Math.min(app.at.layer.value || 1, app.trace.value?.model.encoder_layers ?? 1);
      return { route: "mixers", body: { texts, layer, head: app.at.head.value || 1 } };
    },
    show: (answer) => [
      h("div", { class: "mixers" }, picture("attention, first", answer.attention[0]), picture("attention, second", answer.attention[1]), picture("linear, both", answer.linear), picture("convolution, both", answer.convolved)),
      asTable({
        rows: ["attention", "linear", "convolution"], columns: ["changes with the words by", "misses the head by"],
        values: (r, c) => fixed((c ? [0, Math.max(...answer.miss.linear), Math.max(...answer.miss.convolution)] : [answer.change, 0, 0])[r], 3),
      }, `layer ${answer.layer}, head ${answer.head}: largest difference of any weight`),
      h("p", { class: "facts" }, `The kernel: ${answer.convolution.kernel.map((/** @type {number} */ each, /** @type {number} */ i) => `${fixed(each, 3)} (${signed(answer.convolution.offsets[i])})`).join(", ")}. Nothing further away than ${Math.max(...answer.convolution.offsets)} words reaches it; attention has no such border.`),
    ],
  });
}

/** @param {number} offset */
const signed = (offset) => (offset > 0 ? `+${offset}` : fixed(offset, 0));

/** @param {string} name @param {number[][]} rows */
function picture(name, rows) {
  const canvas = /** @type {HTMLCanvasElement} */ (h("canvas", { role: "img", "aria-label": `weights: ${name}` }));
  const { shades, ramp } = shaded(theme.value, Float32Array.from(rows.flat()), {});
  pixels(canvas, rows.length, shades, ramp);
  return h("figure", {}, canvas, h("figcaption", {}, name));
}
