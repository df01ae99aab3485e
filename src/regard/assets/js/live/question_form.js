// Form for a question to the model: text fields, a button, and the answer below.

import { setChildren, h } from "regard/dom.js";
import { effect, signal } from "regard/signals.js";

/** @typedef {import("regard/app.js").App} App */
/** @typedef {import("regard/dom.js").Child} Child */
/**
 * @typedef {object} QuestionOptions
 * @property {string} title
 * @property {string} why explanation of what the answer shows
 * @property {[string, string][]} inputs names and initial values
 * @property {string} button
 * @property {(values: string[]) => { route: string, body: object }} ask
 * @property {(answer: any) => Child[]} show
 * @property {Child[]} [also] content below the form
 */

/** @param {App} app @param {QuestionOptions} question @returns {HTMLElement} */
export function questionForm(app, { title, why, inputs, button, ask, show, also = [] }) {
  const fields = inputs.map(([name, value]) => /** @type {HTMLInputElement} */ (h("input", { type: "text", value, dir: "auto", "aria-label": name })));
  const submitButton = h("button", { class: "main" }, button);
  const answer = h("div", { "aria-live": "polite" });
  const result = signal(/** @type {any} */ (null));
  effect(() => setChildren(answer, ...(result.value ? show(result.value) : [])));
  let pending = new AbortController();
  async function submit(/** @type {Event} */ event) {
    event.preventDefault();
    const { route, body } = ask(fields.map((field) => field.value));
    pending.abort();
    const controller = (pending = new AbortController());
    submitButton.setAttribute("aria-busy", "true");
    try {
      result.value = await app.source?.ask(route, { ...body, step: app.request.peek().step ?? null }, controller.signal);
    } catch (problem) {
      const { name, message } = /** @type {Error} */ (problem);
      if (name !== "AbortError") setChildren(answer, h("p", { class: "problem", role: "alert" }, message));
    } finally {
      if (controller === pending) submitButton.removeAttribute("aria-busy");
    }
  }
  const labels = fields.map((field, i) => h("label", { class: "text-field" }, h("span", {}, inputs[i][0]), field));
  return h("section", { "aria-label": title, "data-question": title }, h("h2", {}, title), h("p", {}, why), h("form", { class: "question", onsubmit: submit }, labels, submitButton), ...also, answer);
}
