// Attention rollout: attention multiplied through the encoder layers, and its view.

import { dropdown, h, setChildren } from "regard/dom.js";
import { computed, effect, signal } from "regard/signals.js";
import { attentionWeights, axisLabels, describeMatrix } from "regard/trace.js";
import { quote } from "regard/units.js";
import { matrixView } from "regard/parts/matrix_view.js";

/** @typedef {import("regard/trace.js").Matrix} Matrix */
/** @typedef {import("regard/app.js").App} App */

/** The share of the residual connection in each layer. */
const RESIDUAL_SHARE = 0.5;

/**
 * Return the share of each input token in each position after each layer; rows sum to 1.
 * @param {Matrix[]} layers mean over heads, first layer first
 * @returns {Matrix[]}
 */
export function rollout(layers) {
  /** @type {Matrix[]} */
  const products = [];
  layers.forEach((layer, i) => {
    const mixed = { ...layer, values: layer.values.map((value, k) => (1 - RESIDUAL_SHARE) * value + (k % (layer.columns + 1) ? 0 : RESIDUAL_SHARE)) };
    products.push(i ? multiply(mixed, products[i - 1]) : mixed);
  });
  return products;
}

/** @param {Matrix} a @param {Matrix} b @returns {Matrix} */
function multiply(a, b) {
  const values = new Float32Array(a.rows * b.columns);
  for (let i = 0; i < a.rows; i++) {
    for (let k = 0; k < a.columns; k++) {
      const weight = a.values[i * a.columns + k];
      for (let j = 0; j < b.columns; j++) values[i * b.columns + j] += weight * b.values[k * b.columns + j];
    }
  }
  return { rows: a.rows, columns: b.columns, values };
}

/** @param {App} app */
export function rolloutView(app) {
  const layer = signal(0);
  const matrices = computed(() => {
    const trace = app.trace.value;
    return trace ? rollout(Array.from({ length: trace.model.encoder_layers }, (_, i) => attentionWeights(trace, "encoder", i + 1, 0))) : [];
  });
  const index = () => Math.min(layer.value || matrices.value.length, matrices.value.length);
  const names = () => (app.trace.value ? axisLabels(app.trace.value, "encoder").rows : []);
  const bar = h("div", { class: "bar" });
  effect(() => setChildren(bar, dropdown("after encoder layer", matrices.value.map((_, i) => [String(i + 1), String(i + 1)]), String(index()), (v) => (layer.value = Number(v)))));
  const view = matrixView({
    picture: () => {
      const matrix = matrices.value[index() - 1];
      const texts = names().map((label) => label.text);
      return matrix ? { matrix, rows: texts, columns: texts, top: matrix.values.reduce((most, value) => Math.max(most, value), 1e-6), axes: ["position", "input word"] } : null;
    },
    name: () => `roll-out after encoder layer ${index()}`,
    summary: () => (matrices.value.length ? describeMatrix(matrices.value[index() - 1], names()) : ""),
    describeCell: (row, column) => `${matrices.value[index() - 1].values[row * names().length + column].toFixed(3)}  of ${quote(names()[column].text)} in ${quote(names()[row].text)}`,
  });
  return h("section", { "aria-label": "roll-out" }, h("h2", {}, "Attention rollout"),
    h("p", {}, "The weights multiplied through the layers estimate how much of each word has reached each position. It is only an estimate: it assumes that half of each layer passes through the residual connection and that all value vectors have the same length."), bar, view);
}
