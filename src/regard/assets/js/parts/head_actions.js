// Actions on attention heads: switch one off, and measure the importance of all.

import { h } from "regard/dom.js";
import { effect, signal } from "regard/signals.js";
import { requestOf } from "regard/source.js";

/** @typedef {import("regard/app.js").App} App */

/**
 * @param {App} app
 * @returns {HTMLElement | null} null without a server
 */
export function headSwitch(app) {
  const { state, whatIf } = app;
  if (!whatIf) return null;
  const name = () => `${state.kind.value} ${state.layer.value} ${state.head.value}`;
  const button = h("button", { type: "button", "data-key": "off", onclick: run });
  effect(() => {
    const off = whatIf.changes.value.heads.includes(name());
    button.hidden = !state.head.value;
    button.textContent = `Switch head ${state.layer.value}.${state.head.value} ${off ? "on again" : "off"}`;
  });
  function run() {
    if (!whatIf) return;
    const { heads } = whatIf.changes.peek();
    const off = heads.includes(name());
    whatIf.change({ heads: off ? heads.filter((each) => each !== name()) : [...heads, name()], mode: "zero" });
    whatIf.open.value = true;
    if (off && heads.length === 1) whatIf.clear();
    else whatIf.run();
  }
  return h("p", {}, button);
}

/**
 * @param {App} app
 * @returns {HTMLElement | null} null without a translation model
 */
export function headImportanceControl(app) {
  const { source } = app;
  if (app.task !== "translation") return null;
  if (!source) return h("p", { class: "faint" }, "To measure the importance of each head, open the model with regard explore.");
  const running = signal(/** @type {AbortController | null} */ (null));
  const button = h("button", { type: "button", onclick: () => (running.value ? stop() : start()) });
  const bar = h("progress", { max: 1, value: 0, "aria-label": "heads measured" });
  effect(() => {
    button.textContent = running.value ? "Stop" : "Measure head importance";
    bar.hidden = !running.value;
  });

  function stop() {
    running.value?.abort();
    running.value = null;
  }

  async function start() {
    const trace = app.traceA.value;
    if (!trace || !source) return;
    const controller = new AbortController();
    running.value = controller;
    const total = (trace.model.encoder_layers + 2 * trace.model.decoder_layers) * trace.model.heads;
    const importance = new Map();
    try {
      await source.stream("head_importance", { request: requestOf(trace) }, (row) => {
        if (app.traceA.peek() !== trace) return controller.abort();
        importance.set(`${row.kind} ${row.layer} ${row.head}`, row.importance);
        app.headImportance.value = new Map(importance);
        bar.setAttribute("value", String(importance.size / total));
      }, controller.signal);
      if (app.traceA.peek() === trace) app.state.sort.value = "importance";
    } catch (problem) {
      const { name, message } = /** @type {Error} */ (problem);
      if (name !== "AbortError") app.errorMessage.value = message;
    } finally {
      if (running.peek() === controller) running.value = null;
    }
  }
  return h("p", { class: "bar" }, button, bar);
}
