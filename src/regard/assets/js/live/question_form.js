// A question to the model: a few words to fill in, a button, and the answer below it.

import { fill, h } from "regard/dom.js";
import { effect, signal } from "regard/signals.js";

/** @typedef {import("regard/app.js").App} App */
/** @typedef {import("regard/dom.js").Child} Child */
/**
 * @typedef {object} Question
 * @property {string} title
 * @property {string} why in words what the answer shows
 * @property {[string, string][]} inputs their names and what stands in them at first
 * @property {string} button
 * @property {(values: string[]) => { route: string, body: object }} ask
 * @property {(answer: any) => Child[]} show
 * @property {Child[]} [also] what stands below the form
 */

/** @param {App} app @param {Question} question @returns {HTMLElement} */
export function question(app, { title, why, inputs, button, ask, show, also = [] }) {
  const fields = inputs.map(([name, value]) => /** @type {HTMLInputElement} */ (h("input", { type: "text", value, dir: "auto", "aria-label": name })));
  const press = h("button", { class: "main" }, button);
  const answer = h("div", { "aria-live": "polite" });
  const found = signal(/** @type {any} */ (null));
  effect(() => fill(answer, ...(found.value ? show(found.value) : [])));
  let under = new AbortController();
  async function submit(/** @type {Event} */ event) {
    event.preventDefault();
    const { route, body } = ask(fields.map((field) => field.value));
    under.abort();
    const mine = (under = new AbortController());
    press.setAttribute("aria-busy", "true");
    try {
      found.value = await app.source?.ask(route, { ...body, step: app.request.peek().step ?? null }, mine.signal);
    } catch (problem) {
      const { name, message } = /** @type {Error} */ (problem);
      if (name !== "AbortError") fill(answer, h("p", { class: "problem", role: "alert" }, message));
    } finally {
      if (mine === under) press.removeAttribute("aria-busy");
    }
  }
  const labelled = fields.map((field, i) => h("label", { class: "asked" }, h("span", {}, inputs[i][0]), field));
  return h("section", { "aria-label": title, "data-question": title }, h("h2", {}, title), h("p", {}, why), h("form", { class: "question", onsubmit: submit }, labelled, press), ...also, answer);
}
