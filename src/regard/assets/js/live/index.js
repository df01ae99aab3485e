// Modules that need a server with a model or a run folder; the offline page leaves them out.

import { mixerComparison } from "regard/live/mixer_comparison.js";
import { wordOrderQuestion, positionSurvival } from "regard/live/word_order.js";
import { contextsQuestion, neighboursQuestion } from "regard/live/word_vectors.js";

/** @typedef {import("regard/app.js").App} App */

export { checkpointSlider } from "regard/live/checkpoint_slider.js";
export { traceComparison } from "regard/live/trace_comparison.js";
export { whatIfDrawer } from "regard/live/what_if_drawer.js";
export { trainingPage } from "regard/live/training.js";
export { lineList, sourceField } from "regard/live/source_field.js";

/** @param {App} app @returns {HTMLElement[]} */
export const modelQuestions = (app) => [positionSurvival(app), wordOrderQuestion(app), mixerComparison(app), contextsQuestion(app), neighboursQuestion(app)];
