// What has met what, layer by layer: attention multiplied through the encoder.

import { fill, h, pick } from "regard/dom.js";
import { computed, effect, signal } from "regard/signals.js";
import { rollout } from "regard/rollout.js";
import { attention, labels, summary } from "regard/trace.js";
import { matrixView } from "regard/parts/matrix_view.js";
import { quoted } from "regard/units.js";

/** @typedef {import("regard/app.js").App} App */

/** @param {App} app */
export function rolled(app) {
  const layer = signal(0);
  const found = computed(() => {
    const trace = app.trace.value;
    return trace ? rollout(Array.from({ length: trace.model.encoder_layers }, (_, i) => attention(trace, "encoder", i + 1, 0))) : [];
  });
  const here = () => Math.min(layer.value || found.value.length, found.value.length);
  const names = () => (app.trace.value ? labels(app.trace.value, "encoder").rows : []);
  const bar = h("div", { class: "bar" });
  effect(() => fill(bar, pick("after encoder layer", found.value.map((_, i) => [String(i + 1), String(i + 1)]), String(here()), (v) => (layer.value = Number(v)))));
  const view = matrixView({
    picture: () => {
      const matrix = found.value[here() - 1];
      const texts = names().map((label) => label.text);
      return matrix ? { matrix, rows: texts, columns: texts, top: matrix.values.reduce((most, value) => Math.max(most, value), 1e-6), axes: ["holds", "of"] } : null;
    },
    name: () => `roll-out after encoder layer ${here()}`,
    summary: () => (found.value.length ? summary(found.value[here() - 1], names()) : ""),
    tell: (row, column) => `${found.value[here() - 1].values[row * names().length + column].toFixed(3)}  of ${quoted(names()[column].text)} in ${quoted(names()[row].text)}`,
  });
  return h("section", { "aria-label": "roll-out" }, h("h2", {}, "Pairs, then pairs of pairs"),
    h("p", {}, "The first layer mixes words in pairs; the second mixes what were pairs already. Multiplied through, the weights say how much of each word may be in each other. An estimate: half is taken to pass by on the residual, and values differ in size."), bar, view);
}
