// The slider through the checkpoints of a run: the same sentence, earlier in the training.

import { h } from "regard/dom.js";
import { effect } from "regard/signals.js";

/** @typedef {import("regard/app.js").App} App */

const WAIT = 150;

/**
 * @param {App} app
 * @returns {HTMLElement | null} null where the model is not a run's
 */
export function checkpoints(app) {
  const { source } = app;
  const run = app.info?.run;
  if (!source || !run?.checkpoints.length) return null;
  let known = run.checkpoints;
  let waiting = 0;
  const said = h("output", {});
  const best = h("span", { class: "best", "aria-hidden": "true", title: "the best" }, "▲");
  const slider = /** @type {HTMLInputElement} */ (h("input", {
    type: "range", min: 0, max: known.length, step: 1, "aria-label": "checkpoint",
    oninput: () => { name(); clearTimeout(waiting); waiting = setTimeout(go, WAIT); },
    onfocus: () => more(),
  }));
  effect(() => {
    const { step } = app.request.value;
    const place = known.findIndex((each) => each.step === step);
    slider.value = String(place < 0 ? known.length : place);
    name();
  });

  /** After the last checkpoint comes the model itself, which may be the mean of some. */
  function name() {
    const now = known[Number(slider.value)];
    said.textContent = now ? `step ${now.step.toLocaleString("en")}${now.best ? ", the best" : ""}` : `the model${whose()}`;
    slider.setAttribute("aria-valuetext", said.textContent);
    const place = known.findIndex((each) => each.best);
    best.hidden = place < 0;
    best.style.setProperty("--place", String(place / known.length));
  }
  /** Where the model's weights come from, as far as the run says. */
  function whose() {
    const same = known.find((each) => each.model);
    return same ? ` (step ${same.step.toLocaleString("en")})` : run?.mean ? " (a mean of checkpoints)" : "";
  }
  function go() {
    const step = known[Number(slider.value)]?.step ?? null;
    if (step !== (app.request.peek().step ?? null)) app.request.value = { ...app.request.peek(), step };
  }
  /** A training that goes on has others by now. */
  async function more() {
    const now = (await source?.info().catch(() => null))?.run?.checkpoints;
    if (!now || JSON.stringify(now) === JSON.stringify(known)) return;
    const here = known[Number(slider.value)]?.step;
    known = now;
    slider.max = String(known.length);
    const place = known.findIndex((each) => each.step === here);
    slider.value = String(place < 0 ? known.length : place);
    name();
  }
  return h("label", { class: "tick checkpoints" }, h("span", {}, "checkpoint"), h("span", { class: "track" }, slider, best), said);
}
