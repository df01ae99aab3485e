// Keyboard shortcuts of the translator, and the dialog that lists them.

import { h } from "regard/dom.js";
import { icon } from "regard/translator/icons.js";

/** @typedef {{ translate: () => void, focusText: () => void, swap: () => void, copy: () => void, toggleGlossary: () => void }} Actions */

/** @type {[string, string][]} */
const SHORTCUTS = [
  ["Ctrl Enter", "translate at once"],
  ["/", "go to the text"],
  ["s", "swap the languages"],
  ["c", "copy the translation"],
  ["g", "open or close the glossary"],
  ["↑ ↓", "in the translation: the sentence before or after"],
  ["← →", "in the translation: word by word, with the words it translates"],
  ["Enter", "in the translation: other translations of the sentence"],
  ["Esc", "close what is open; leave the text field for single keys"],
  ["?", "this list"],
];

/** Install the shortcuts and return the button that lists them. @param {Actions} actions */
export function installShortcuts(actions) {
  const rows = SHORTCUTS.flatMap(([keys, what]) => [h("dt", {}, keys.split(" ").flatMap((key, i) => [i ? " " : "", h("kbd", {}, key)])), h("dd", {}, what)]);
  const dialog = /** @type {HTMLDialogElement} */ (
    h("dialog", { "aria-labelledby": "keys-heading" }, h("h2", { id: "keys-heading" }, "Keys"), h("p", { class: "faint" }, "Single keys work while no text field has the focus."), h("dl", {}, rows), h("form", { method: "dialog" }, h("button", { class: "main" }, "Close")))
  );
  document.body.append(dialog);
  addEventListener("keydown", (event) => {
    if (dialog.open || event.defaultPrevented || event.isComposing) return;
    if (handle(event, actions, dialog)) event.preventDefault();
  });
  return h("button", { type: "button", class: "round", title: "Keys", "aria-label": "Keys", onclick: () => dialog.showModal() }, icon("keys"));
}

/** @param {KeyboardEvent} event @param {Actions} actions @param {HTMLDialogElement} dialog @returns {boolean} whether the key is used */
function handle(event, actions, dialog) {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    actions.translate();
    return true;
  }
  if (event.ctrlKey || event.altKey || event.metaKey) return false;
  if (target.matches("input, textarea, select")) {
    if (event.key === "Escape") target.blur();
    return false;
  }
  const action = { "/": actions.focusText, s: actions.swap, c: actions.copy, g: actions.toggleGlossary, "?": () => dialog.showModal() }[event.key];
  action?.();
  return Boolean(action);
}
