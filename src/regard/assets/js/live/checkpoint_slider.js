// Checkpoint slider of a run: translate the same sentence with earlier checkpoints.

import { h } from "regard/dom.js";
import { effect } from "regard/signals.js";

/** @typedef {import("regard/app.js").App} App */

const WAIT = 150;

/**
 * @param {App} app
 * @returns {HTMLElement | null} null if the model does not belong to a run
 */
export function checkpointSlider(app) {
  const { source } = app;
  const run = app.info?.run;
  if (!source || !run?.checkpoints.length) return null;
  let known = run.checkpoints;
  let timer = 0;
  const label = h("output", {});
  const best = h("span", { class: "best", "aria-hidden": "true", title: "the best" }, "▲");
  const slider = /** @type {HTMLInputElement} */ (h("input", {
    type: "range", min: 0, max: known.length, step: 1, "aria-label": "checkpoint",
    oninput: () => { updateLabel(); clearTimeout(timer); timer = setTimeout(selectCheckpoint, WAIT); },
    onfocus: () => refreshCheckpoints(),
  }));
  effect(() => {
    const { step } = app.request.value;
    const place = known.findIndex((each) => each.step === step);
    slider.value = String(place < 0 ? known.length : place);
    updateLabel();
  });

  /** The last position is the published model, which may be the mean of several checkpoints. */
  function updateLabel() {
    const now = known[Number(slider.value)];
    label.textContent = now ? `step ${now.step.toLocaleString("en")}${now.best ? ", the best" : ""}` : `the model${modelOrigin()}`;
    slider.setAttribute("aria-valuetext", label.textContent);
    const place = known.findIndex((each) => each.best);
    best.hidden = place < 0;
    best.style.setProperty("--place", String(place / known.length));
  }
  /** The checkpoint that the published model comes from. */
  function modelOrigin() {
    const same = known.find((each) => each.model);
    return same ? ` (step ${same.step.toLocaleString("en")})` : run?.mean ? " (a mean of checkpoints)" : "";
  }
  function selectCheckpoint() {
    const step = known[Number(slider.value)]?.step ?? null;
    if (step !== (app.request.peek().step ?? null)) app.request.value = { ...app.request.peek(), step };
  }
  /** Reload the list: a running training writes more checkpoints. */
  async function refreshCheckpoints() {
    const now = (await source?.info().catch(() => null))?.run?.checkpoints;
    if (!now || JSON.stringify(now) === JSON.stringify(known)) return;
    const here = known[Number(slider.value)]?.step;
    known = now;
    slider.max = String(known.length);
    const place = known.findIndex((each) => each.step === here);
    slider.value = String(place < 0 ? known.length : place);
    updateLabel();
  }
  return h("label", { class: "tick checkpoints" }, h("span", {}, "checkpoint"), h("span", { class: "track" }, slider, best), label);
}
