// Questions to ask of the model itself.

import { mixers } from "regard/live/mixers.js";
import { order, survives } from "regard/live/order.js";
import { contexts, neighbours } from "regard/live/vocabulary.js";

/** @typedef {import("regard/app.js").App} App */

/** @param {App} app @returns {HTMLElement[]} */
export const questions = (app) => [survives(app), order(app), mixers(app), contexts(app), neighbours(app)];
