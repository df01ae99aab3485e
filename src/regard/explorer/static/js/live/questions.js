// Questions to ask of the model itself.

import { h } from "regard/dom.js";
import { mixers } from "regard/live/mixers.js";
import { order, survives } from "regard/live/order.js";
import { contexts, neighbours } from "regard/live/vocabulary.js";

/** @typedef {import("regard/app.js").App} App */

/** @param {App} app @returns {HTMLElement} */
export function questions(app) {
  return h("div", {}, h("div", { class: "grid" }, survives(app), order(app)), h("div", { class: "grid" }, mixers(app), contexts(app), neighbours(app)));
}
