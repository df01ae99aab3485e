// Measure every head: the translation read again without it, one head after another.

import { h } from "regard/dom.js";
import { effect, signal } from "regard/signals.js";
import { asked } from "regard/source.js";

/** @typedef {import("regard/app.js").App} App */

/**
 * @param {App} app
 * @returns {HTMLElement | null} null where there is no translation to measure by
 */
export function measure(app) {
  const { source } = app;
  if (app.task !== "translation") return null;
  if (!source) return h("p", { class: "faint" }, "To measure what each head matters, open the model with regard explore.");
  const running = signal(/** @type {AbortController | null} */ (null));
  const button = h("button", { type: "button", onclick: () => (running.value ? stop() : start()) });
  const bar = h("progress", { max: 1, value: 0, "aria-label": "heads measured" });
  effect(() => {
    button.textContent = running.value ? "Stop" : "Measure every head";
    bar.hidden = !running.value;
  });

  function stop() {
    running.value?.abort();
    running.value = null;
  }

  async function start() {
    const trace = app.a.value;
    if (!trace || !source) return;
    const mine = new AbortController();
    running.value = mine;
    const all = (trace.model.encoder_layers + 2 * trace.model.decoder_layers) * trace.model.heads;
    const found = new Map();
    try {
      await source.stream("heads", { request: asked(trace) }, (row) => {
        if (app.a.peek() !== trace) return mine.abort();
        found.set(`${row.kind} ${row.layer} ${row.head}`, row.matters);
        app.matters.value = new Map(found);
        bar.setAttribute("value", String(found.size / all));
      }, mine.signal);
      if (app.a.peek() === trace) app.at.sort.value = "matters";
    } catch (problem) {
      const { name, message } = /** @type {Error} */ (problem);
      if (name !== "AbortError") app.problem.value = message;
    } finally {
      if (running.peek() === mine) running.value = null;
    }
  }
  return h("p", { class: "bar" }, button, bar);
}
