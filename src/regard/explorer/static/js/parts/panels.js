// Questions to ask of the model itself; a file that was sent carries no model to ask.

import { h } from "regard/dom.js";
import { rolled } from "regard/parts/rolled.js";
import { order, survives } from "regard/parts/order.js";
import { contexts, neighbours } from "regard/parts/words.js";
import { mixers } from "regard/parts/mixers.js";

/** @typedef {import("regard/app.js").App} App */

/** @param {App} app @returns {HTMLElement} */
export function panels(app) {
  if (app.source) return h("div", {}, h("div", { class: "grid" }, rolled(app), survives(app)), h("div", { class: "grid" }, order(app), mixers(app)), h("div", { class: "grid" }, neighbours(app), contexts(app)));
  return h("div", { class: "grid" }, rolled(app), h("section", { "aria-label": "questions" }, h("h2", {}, "Questions to the model"),
    h("p", {}, "Neighbours of a word, one word in two sentences, words without positions, how long positions last, attention beside other mixers: these ask the model itself. Open it with ", h("code", {}, "regard explore MODEL"), ".")));
}
