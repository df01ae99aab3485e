// What could have come next at one step, likeliest first; choosing another word keeps those before it.

import { again } from "regard/app.js";
import { h } from "regard/dom.js";
import { begins, isMark, probability } from "regard/hypothesis.js";

/** @typedef {import("regard/app.js").App} App */
/** @typedef {import("regard/types").Trace} Trace */
/** @typedef {import("regard/types").Candidate} Candidate */

/**
 * @param {App} app
 * @param {Trace} trace
 * @param {number} t
 * @param {() => void} [done] another was chosen
 * @returns {HTMLElement}
 */
export function candidates(app, trace, t, done = () => {}) {
  const step = trace.steps[t];
  const taken = trace.target.tokens[t];
  const rest = 1 - step.top.reduce((sum, { logprob }) => sum + Math.exp(logprob), 0);
  const others = trace.model.vocab.target - step.top.length;
  const outside = !step.top.some(({ id }) => id === taken.id);
  return h(
    "div",
    { class: "candidates" },
    h("ol", { "aria-label": "likeliest next tokens" }, step.top.map((each) => row(app, trace, t, each, done))),
    outside &&
      h("p", { class: "faint" }, "taken: ", name(trace, taken.id, taken.text), ` ${probability(taken.logprob ?? 0)}, rank ${step.rank}`),
    h("p", { class: "faint" }, `the other ${others.toLocaleString("en")} tokens together ${Math.max(0, rest).toFixed(3)}`),
  );
}

/**
 * @param {App} app
 * @param {Trace} trace
 * @param {number} t
 * @param {Candidate} candidate
 * @param {() => void} done
 */
function row(app, trace, t, { id, text, logprob }, done) {
  const taken = trace.target.tokens[t].id === id;
  const choosable = app.source && !taken && (!isMark(trace, id) || text === "</s>");
  const sure = Math.exp(logprob);
  const content = [
    name(trace, id, text),
    h("span", { class: "sure-bar", "aria-hidden": "true" }, h("span", { style: { width: `${(100 * sure).toFixed(2)}%` } })),
    h("span", { class: "number" }, probability(logprob)),
    h("span", { class: "taken" }, taken ? "taken" : ""),
  ];
  const how = { class: "candidate", "aria-current": taken ? "true" : null, title: `log p ${logprob.toFixed(3)}` };
  const choose = () => {
    goOn(app, trace, t, id);
    done();
  };
  return h("li", {}, choosable ? h("button", { type: "button", ...how, onclick: choose }, content) : h("div", how, content));
}

/**
 * Keeps the tokens before a step, takes another there, and has the rest searched for; the end mark ends it there.
 * @param {App} app
 * @param {Trace} trace
 * @param {number} t
 * @param {number} id
 */
function goOn(app, trace, t, id) {
  const before = trace.target.tokens.slice(0, t).map((token) => token.id);
  again(app, trace, isMark(trace, id) ? { target: before } : { prefix: [...before, id] });
}

/**
 * A token with a dot where a space stands before it.
 * @param {Trace} trace
 * @param {number} id
 * @param {string} text
 */
export function name(trace, id, text) {
  const space = begins(trace, id) && h("span", { class: "space", "aria-hidden": "true" }, "·");
  return h("span", { class: "piece", dir: "auto", lang: trace.model.target_lang }, space, text);
}
