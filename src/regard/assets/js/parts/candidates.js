// Candidates for a target token, likeliest first: as a list, and in a panel below the word.

import { retranslate } from "regard/app.js";
import { h, radioGroup, setChildren } from "regard/dom.js";
import { formatProbability, isSpecial, startsWord } from "regard/hypothesis.js";

/** @typedef {import("regard/app.js").App} App */
/** @typedef {import("regard/types").Trace} Trace */
/** @typedef {import("regard/types").Candidate} Candidate */

/**
 * @param {App} app
 * @param {Trace} trace
 * @param {number} t
 * @param {() => void} [done] called after another candidate was chosen
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
    h("ol", { "aria-label": "likeliest next tokens" }, step.top.map((each) => candidateRow(app, trace, t, each, done))),
    outside &&
      h("p", { class: "faint" }, "chosen: ", tokenName(trace, taken.id, taken.text), ` ${formatProbability(taken.logprob ?? 0)}, rank ${step.rank}`),
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
function candidateRow(app, trace, t, { id, text, logprob }, done) {
  const taken = trace.target.tokens[t].id === id;
  const choosable = app.source && !taken && (!isSpecial(trace, id) || text === "</s>");
  const sure = Math.exp(logprob);
  const content = [
    tokenName(trace, id, text),
    h("span", { class: "sure-bar", "aria-hidden": "true" }, h("span", { style: { width: `${(100 * sure).toFixed(2)}%` } })),
    h("span", { class: "number" }, formatProbability(logprob)),
    h("span", { class: "taken" }, taken ? "chosen" : ""),
  ];
  const how = { class: "candidate", "aria-current": taken ? "true" : null, title: `log p ${logprob.toFixed(3)}` };
  const choose = () => {
    takeCandidate(app, trace, t, id);
    done();
  };
  return h("li", {}, choosable ? h("button", { type: "button", ...how, onclick: choose }, content) : h("div", how, content));
}

/**
 * Keep the tokens before a step, take another token there and search for the rest; end-of-sequence ends the translation.
 * @param {App} app
 * @param {Trace} trace
 * @param {number} t
 * @param {number} id
 */
function takeCandidate(app, trace, t, id) {
  const before = trace.target.tokens.slice(0, t).map((token) => token.id);
  retranslate(app, trace, isSpecial(trace, id) ? { target: before } : { prefix: [...before, id] });
}

/**
 * Return a token with a dot for the space before it.
 * @param {Trace} trace
 * @param {number} id
 * @param {string} text
 */
export function tokenName(trace, id, text) {
  const space = startsWord(trace, id) && h("span", { class: "space", "aria-hidden": "true" }, "·");
  return h("span", { class: "piece", dir: "auto", lang: trace.model.target_lang }, space, text);
}

/**
 * @param {App} app
 * @returns {HTMLElement & { open: (tokens: number[], element: HTMLElement) => void, close: (back?: HTMLElement) => void }}
 */
export function alternatives(app) {
  const box = h("div", { class: "panel", hidden: true, role: "dialog", "aria-label": "alternatives", onfocusout: onFocusOut });

  /** @param {number[]} tokens of the word @param {HTMLElement} element of the word */
  function open(tokens, element) {
    const trace = app.trace.value;
    if (!trace) return;
    const content = h("div", {});
    let position = tokens[0];
    const picker = radioGroup("which token", tokens.map((t) => [t, trace.target.tokens[t].text]), () => position, show);
    /** @param {number} t */
    function show(t) {
      if (!trace) return;
      position = t;
      app.state.token.value = String(t);
      picker.refresh();
      setChildren(content, candidates(app, trace, t, () => close(element)));
    }
    show(position);
    const closeButton = h("button", { type: "button", class: "quiet", "aria-label": "close", onclick: () => close(element) }, "✕");
    setChildren(
      box,
      h("div", { class: "bar" }, tokens.length > 1 ? picker : h("strong", { dir: "auto" }, trace.target.tokens[position].text), closeButton),
      content,
      h("p", { class: "faint" }, app.source
        ? "Choosing one keeps the tokens before it and translates the rest again."
        : "To continue from another token, open the model with regard explore."),
    );
    box.hidden = false;
    box.onkeydown = (event) => {
      event.stopPropagation(); // the panel handles its own keys
      if (event.key === "Escape") close(element);
    };
    placeBelow(element);
    const first = ["[role=radio][tabindex='0']", "button.candidate", "button"].map((each) => box.querySelector(each)).find(Boolean);
    /** @type {HTMLElement | undefined} */ (first)?.focus();
  }

  /** @param {HTMLElement} element */
  function placeBelow(element) {
    const frame = /** @type {HTMLElement} */ (box.parentElement).getBoundingClientRect();
    const word = element.getBoundingClientRect();
    box.style.setProperty("top", `${word.bottom - frame.top + 6}px`);
    box.style.setProperty("left", `${Math.max(0, Math.min(word.left - frame.left, frame.width - box.offsetWidth))}px`);
  }

  /** @param {FocusEvent} event */
  function onFocusOut(event) {
    if (event.relatedTarget instanceof Node && !box.contains(event.relatedTarget)) close();
  }

  /** @param {HTMLElement} [back] element that gets the focus */
  function close(back) {
    if (box.hidden) return;
    box.hidden = true;
    if (back?.isConnected) back.focus();
  }
  return Object.assign(box, { open, close });
}
