// Questions to ask of the model itself; a file that was sent carries no model to ask.

import { h } from "regard/dom.js";

/** @typedef {import("regard/app.js").App} App */

/** @param {App} app @returns {HTMLElement} */
export function panels(app) {
  if (!app.source) return h("section", { class: "gap", "aria-label": "questions" }, h("h2", {}, "Questions to the model"),
    h("p", {}, "Neighbours of a word, one word in two sentences, words without positions, how long positions last, attention beside other mixers: these ask the model itself. Open it with ", h("code", {}, "regard explore MODEL"), "."));
  return h("div", {});
}
