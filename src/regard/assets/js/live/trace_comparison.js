// A and B side by side, on every page: what is different, what it did, and which of them is shown.

import { changes } from "regard/live/word_diff.js";
import { choices, fill, h } from "regard/dom.js";
import { effect } from "regard/signals.js";
import { told } from "regard/what_if.js";

/** @typedef {import("regard/app.js").App} App */
/** @typedef {import("regard/types").Trace} Trace */

/** Letters above which a translation scrolls in its place. */
const LONG = 250;

/**
 * @param {App} app
 * @returns {HTMLElement | null}
 */
export function compare(app) {
  const { at, whatIf } = app;
  if (!whatIf) return null;
  const box = h("section", { class: "compare", "aria-label": "A and B" });
  const which = choices("shown", [["a", "A"], ["b", "B"], ["difference", "B − A"]], () => at.show.value, (value) => (at.show.value = value));
  effect(() => {
    which.refresh();
    const [a, b] = [app.a.value, app.b.value];
    box.hidden = !a || !b;
    if (!a || !b) return;
    const focused = box.contains(document.activeElement) ? document.activeElement : null;
    fill(
      box,
      h("p", { class: "bar" }, h("span", {}, h("strong", {}, "B: "), `${told(b)}.`), which, h("button", { type: "button", class: "quiet", onclick: () => whatIf.clear() }, "Clear")),
      h("div", { class: "pair" }, line("A", a, a), line("B", b, a)),
      effectOf(whatIf.delta.value, a, b),
      at.show.value === "difference" ? [subtracted(at.page.value), caution(a, b)] : null,
    );
    if (focused instanceof HTMLElement && box.contains(focused)) focused.focus();
  });

  /** @param {Trace} a @param {Trace} b why some numbers cannot be subtracted, or what subtracting them means */
  function caution(a, b) {
    const [m, n] = [a.target.tokens.length, b.target.tokens.length];
    if (a.target.text === b.target.text && m === n) return null;
    const force = h("button", { type: "button", class: "quiet", onclick: same }, "Give B the words of A");
    const why = m === n
      ? "The words differ: row by row, what stands in the same place is subtracted, under the words of B."
      : `A has ${m} target tokens and B ${n}: what belongs to the decoder cannot be subtracted.`;
    return h("p", { class: "faint" }, why, force);
  }
  function same() {
    whatIf?.change({ prefix: "", target: app.a.peek()?.target.text ?? "" });
    whatIf?.run();
  }
  return box;
}

/** @param {string} page what is subtracted on it, said wherever it is not everything */
function subtracted(page) {
  const said = { attention: "", model: "", search: "The weights are those of B less those of A; all else here is B’s." }[page];
  return said === "" ? null : h("p", { class: "faint" }, said ?? "Attention, Search and Model subtract; what this page shows of the sentence is B’s.");
}

/** @param {string} name @param {Trace} trace @param {Trace} a */
function line(name, trace, a) {
  const words = changes(a.target.text, trace.target.text).flatMap(({ word, fresh }) => [fresh ? h("ins", {}, word) : word, " "]);
  return [
    h("strong", {}, name),
    h("span", { dir: "auto", lang: trace.model.target_lang, ...(trace.target.text.length > LONG ? { class: "long", tabindex: 0, role: "group", "aria-label": `translation ${name}` } : {}) }, words),
    h("span", { class: "facts" }, `score ${signed(trace.target.score)}`),
  ];
}

/** @param {number | null} delta @param {Trace} a @param {Trace} b */
function effectOf(delta, a, b) {
  const same = a.target.text === b.target.text ? "The words stay the same. " : "";
  if (delta === null) return same ? h("p", { class: "facts" }, same) : null;
  return h("p", { class: "facts" }, `${same}Δ log p of A under B: ${signed(delta)}`);
}

/** @param {number} value */
const signed = (value) => `${value < 0 ? "−" : ""}${Math.abs(value).toFixed(2)}`;
