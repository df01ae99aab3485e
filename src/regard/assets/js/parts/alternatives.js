// What else could stand in the place of a word, in a box below it.

import { choices, fill, h } from "regard/dom.js";
import { candidates } from "regard/parts/candidates.js";

/** @typedef {import("regard/app.js").App} App */

/**
 * @param {App} app
 * @returns {HTMLElement & { open: (tokens: number[], element: HTMLElement) => void, close: (back?: HTMLElement) => void }}
 */
export function alternatives(app) {
  const box = h("div", { class: "panel", hidden: true, role: "dialog", "aria-label": "what else could stand here", onfocusout: left });

  /** @param {number[]} tokens of the word @param {HTMLElement} element where it stands */
  function open(tokens, element) {
    const trace = app.trace.value;
    if (!trace) return;
    const room = h("div", {});
    let now = tokens[0];
    const which = choices("which piece", tokens.map((t) => [t, trace.target.tokens[t].text]), () => now, show);
    /** @param {number} t */
    function show(t) {
      if (!trace) return;
      now = t;
      app.at.token.value = String(t);
      which.refresh();
      fill(room, candidates(app, trace, t, () => close(element)));
    }
    show(now);
    const shut = h("button", { type: "button", class: "quiet", "aria-label": "close", onclick: () => close(element) }, "✕");
    fill(
      box,
      h("div", { class: "bar" }, tokens.length > 1 ? which : h("strong", { dir: "auto" }, trace.target.tokens[now].text), shut),
      room,
      h("p", { class: "faint" }, app.source
        ? "Choosing one keeps what stands before it and translates the rest again."
        : "To go on from another one, open the model with regard explore."),
    );
    box.hidden = false;
    box.onkeydown = (event) => {
      event.stopPropagation(); // its keys are its own
      if (event.key === "Escape") close(element);
    };
    below(element);
    const first = ["[role=radio][tabindex='0']", "button.candidate", "button"].map((each) => box.querySelector(each)).find(Boolean);
    /** @type {HTMLElement | undefined} */ (first)?.focus();
  }

  /** @param {HTMLElement} element */
  function below(element) {
    const frame = /** @type {HTMLElement} */ (box.parentElement).getBoundingClientRect();
    const word = element.getBoundingClientRect();
    box.style.setProperty("top", `${word.bottom - frame.top + 6}px`);
    box.style.setProperty("left", `${Math.max(0, Math.min(word.left - frame.left, frame.width - box.offsetWidth))}px`);
  }

  /** @param {FocusEvent} event */
  function left(event) {
    if (event.relatedTarget instanceof Node && !box.contains(event.relatedTarget)) close();
  }

  /** @param {HTMLElement} [back] where the focus goes */
  function close(back) {
    if (box.hidden) return;
    box.hidden = true;
    if (back?.isConnected) back.focus();
  }
  return Object.assign(box, { open, close });
}
