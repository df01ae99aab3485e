// A side of the sentence, written anew in its place: another source, or a translation that the model must read.

import { h } from "regard/dom.js";
import { effect } from "regard/signals.js";

/** @typedef {import("regard/app.js").App} App */

/**
 * @param {App} app
 * @param {"source" | "target"} side
 * @param {HTMLElement} tokens what the field stands in for
 * @returns {HTMLElement[]}
 */
export function editing(app, side, tokens) {
  if (!app.source) return [];
  const field = /** @type {HTMLInputElement} */ (h("input", { type: "text", class: "editing", dir: "auto", "aria-label": `${side} text`, hidden: true, onkeydown: key, onblur: close }));
  const edit = h("button", { type: "button", class: "quiet", "data-key": side === "source" ? "/" : null, "aria-label": `edit the ${side}`, onclick: open }, "Edit");
  const free = h("button", { type: "button", class: "quiet", onclick: () => ask("") }, "search again");
  tokens.addEventListener("dblclick", open);
  effect(() => {
    free.hidden = side === "source" || !app.a.value?.request.target;
  });

  function open() {
    field.value = app.trace.value?.[side].text ?? app.request.peek().text;
    turn(true);
    field.select();
  }
  /** @param {boolean} on */
  function turn(on) {
    [field.hidden, tokens.hidden, edit.hidden] = [!on, on, on];
    if (on) field.focus();
  }
  function close() {
    if (!field.hidden) turn(false);
  }
  /** @param {KeyboardEvent} event */
  function key(event) {
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "Enter") ask(field.value.trim());
    close();
    edit.focus();
  }
  /** @param {string} text an empty translation is one that is searched for */
  function ask(text) {
    const request = app.request.peek();
    if (side === "target") app.request.value = { ...request, prefix: [], target: text || null };
    else if (text) app.request.value = { ...request, text, prefix: [], target: null };
  }
  return [field, edit, free];
}
