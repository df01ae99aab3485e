// Questions to ask of the model itself.

import { mixers } from "regard/live/mixer_comparison.js";
import { order, survives } from "regard/live/word_order.js";
import { contexts, neighbours } from "regard/live/word_vectors.js";

/** @typedef {import("regard/app.js").App} App */

/** @param {App} app @returns {HTMLElement[]} */
export const questions = (app) => [survives(app), order(app), mixers(app), contexts(app), neighbours(app)];
