// The keys that work on every page, never while a text field has the focus.

import { layers } from "regard/app.js";
import { fill, h } from "regard/dom.js";

/** @typedef {import("regard/app.js").App} App */

/** @type {[string, string][]} */
const LIST = [
  ["← →", "head"],
  ["↑ ↓", "layer"],
  ["k", "kind of attention"],
  [", .", "token before, token after"],
  ["Space, Shift+Space", "next step, step before"],
  ["w", "what if"],
  ["t", "table"],
  ["/", "source text"],
  ["Esc", "free what is locked; then close What if"],
  ["?", "this list"],
];

/** @param {App} app */
export function keys(app) {
  const help = /** @type {HTMLDialogElement} */ (h("dialog", { "aria-label": "keys" }));
  fill(help, h("h2", {}, "Keys"), h("dl", {}, LIST.map(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)]).flat()), h("form", { method: "dialog" }, h("button", {}, "Close")));
  document.body.append(help);
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || help.open || writing(event.target)) return;
    const done = act(app, event, help);
    if (done) event.preventDefault();
  });
}

/** @param {EventTarget | null} target */
function writing(target) {
  return target instanceof HTMLElement && target.matches("input:not([type=checkbox]), textarea, select, [contenteditable=true]");
}

/**
 * @param {App} app
 * @param {KeyboardEvent} event
 * @param {HTMLDialogElement} help
 * @returns {boolean} whether the key meant something
 */
function act(app, event, help) {
  const { at } = app;
  const trace = app.trace.value;
  if (event.key === "?") return help.showModal(), true;
  if (event.key === "/") return press("main [data-key='/']", "focus") || press(".strip [data-key='/']", "click");
  if (event.key === "w") return press("[data-key='w']", "click");
  if (event.key === "t") return press("main [data-key='t']", "click");
  if (!trace) return false;
  const deep = layers(trace, at.kind.value);
  const token = Number(at.token.value.replace("s", "") || -1);
  const side = at.token.value.startsWith("s") ? "s" : "";
  const tokens = (side ? trace.source.tokens : trace.target.tokens).length;
  switch (event.key) {
    case "ArrowLeft":
    case "ArrowRight":
      at.head.value = around(at.head.value, event.key === "ArrowRight" ? 1 : -1, 0, trace.model.heads);
      return true;
    case "ArrowUp":
    case "ArrowDown":
      at.layer.value = around(at.layer.value, event.key === "ArrowDown" ? 1 : -1, 1, deep);
      return true;
    case "k":
      at.rows.value = [];
      at.kind.value = app.kinds[(app.kinds.indexOf(at.kind.value) + 1) % app.kinds.length];
      return true;
    case ",":
    case ".":
      at.token.value = `${side}${around(token, event.key === "." ? 1 : -1, 0, tokens - 1)}`;
      return true;
    case "Escape":
      if (app.whatIf && !at.rows.value.length && !at.token.value) app.whatIf.open.value = false;
      at.rows.value = [];
      at.token.value = "";
      return true;
    case " ":
      // what is chosen already has no other use for the key
      if (event.target instanceof HTMLElement && event.target.matches("button:not([role=radio][aria-checked=true], [aria-current]), summary, input")) return false;
      return press(event.shiftKey ? "main [data-key='back']" : "main [data-key='next']", "click");
    default:
      return false;
  }
}

/** @param {string} selector @param {"click" | "focus"} how */
function press(selector, how) {
  const element = /** @type {HTMLElement | null} */ (document.querySelector(selector));
  element?.[how]();
  return Boolean(element);
}

/** @param {number} value @param {number} by @param {number} low @param {number} high */
function around(value, by, low, high) {
  const next = value + by;
  return next < low ? high : next > high ? low : next;
}
