// Keyboard shortcuts of all pages, inactive while a text field has the focus.

import { layerCount } from "regard/app.js";
import { setChildren, h } from "regard/dom.js";

/** @typedef {import("regard/app.js").App} App */

/** @type {[string, string][]} */
const SHORTCUTS = [
  ["← →", "head"],
  ["↑ ↓", "layer"],
  ["k", "kind of attention"],
  [", .", "previous token, next token"],
  ["Space, Shift+Space", "next step, previous step"],
  ["w", "what if"],
  ["t", "table"],
  ["/", "source text"],
  ["Esc", "unlock; then close What if"],
  ["?", "this list"],
];

/** @param {App} app */
export function installShortcuts(app) {
  const help = /** @type {HTMLDialogElement} */ (h("dialog", { "aria-label": "keys" }));
  setChildren(help, h("h2", {}, "Keys"), h("dl", {}, SHORTCUTS.map(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)]).flat()), h("form", { method: "dialog" }, h("button", {}, "Close")));
  document.body.append(help);
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || help.open || isTextField(event.target)) return;
    const handled = handleKey(app, event, help);
    if (handled) event.preventDefault();
  });
}

/** @param {EventTarget | null} target */
function isTextField(target) {
  return target instanceof HTMLElement && target.matches("input:not([type=checkbox]), textarea, select, [contenteditable=true]");
}

/**
 * @param {App} app
 * @param {KeyboardEvent} event
 * @param {HTMLDialogElement} help
 * @returns {boolean} whether the key is a shortcut
 */
function handleKey(app, event, help) {
  const { state } = app;
  const trace = app.trace.value;
  if (event.key === "?") return help.showModal(), true;
  if (event.key === "/") return activate("main [data-key='/']", "focus") || activate(".strip [data-key='/']", "click");
  if (event.key === "w") return activate("[data-key='w']", "click");
  if (event.key === "t") return activate("main [data-key='t']", "click");
  if (!trace) return false;
  const depth = layerCount(trace, state.kind.value);
  const token = Number(state.token.value.replace("s", "") || -1);
  const side = state.token.value.startsWith("s") ? "s" : "";
  const tokens = (side ? trace.source.tokens : trace.target.tokens).length;
  switch (event.key) {
    case "ArrowLeft":
    case "ArrowRight":
      state.head.value = wrapAround(state.head.value, event.key === "ArrowRight" ? 1 : -1, 0, trace.model.heads);
      return true;
    case "ArrowUp":
    case "ArrowDown":
      state.layer.value = wrapAround(state.layer.value, event.key === "ArrowDown" ? 1 : -1, 1, depth);
      return true;
    case "k":
      state.rows.value = [];
      state.kind.value = app.kinds[(app.kinds.indexOf(state.kind.value) + 1) % app.kinds.length];
      return true;
    case ",":
    case ".":
      state.token.value = `${side}${wrapAround(token, event.key === "." ? 1 : -1, 0, tokens - 1)}`;
      return true;
    case "Escape":
      if (app.whatIf && !state.rows.value.length && !state.token.value) app.whatIf.open.value = false;
      state.rows.value = [];
      state.token.value = "";
      return true;
    case " ":
      // buttons that are already selected have no use for the key
      if (event.target instanceof HTMLElement && event.target.matches("button:not([role=radio][aria-checked=true], [aria-current]), summary, input")) return false;
      return activate(event.shiftKey ? "main [data-key='back']" : "main [data-key='next']", "click");
    default:
      return false;
  }
}

/** @param {string} selector @param {"click" | "focus"} how */
function activate(selector, how) {
  const element = /** @type {HTMLElement | null} */ (document.querySelector(selector));
  element?.[how]();
  return Boolean(element);
}

/** @param {number} value @param {number} by @param {number} low @param {number} high */
function wrapAround(value, by, low, high) {
  const next = value + by;
  return next < low ? high : next > high ? low : next;
}
