// Comparison of traces A and B, on every page: the changes, their effect, and which of the two is shown.

import { diffWords } from "regard/live/word_diff.js";
import { radioGroup, setChildren, h } from "regard/dom.js";
import { effect } from "regard/signals.js";
import { describeChanges } from "regard/what_if.js";

/** @typedef {import("regard/app.js").App} App */
/** @typedef {import("regard/types").Trace} Trace */

/** Longer translations scroll. */
const LONG = 250;

/**
 * @param {App} app
 * @returns {HTMLElement | null}
 */
export function traceComparison(app) {
  const { state, whatIf } = app;
  if (!whatIf) return null;
  const box = h("section", { class: "compare", "aria-label": "A and B" });
  const which = radioGroup("shown", [["a", "A"], ["b", "B"], ["difference", "B − A"]], () => state.show.value, (value) => (state.show.value = value));
  effect(() => {
    which.refresh();
    const [a, b] = [app.traceA.value, app.traceB.value];
    box.hidden = !a || !b;
    if (!a || !b) return;
    const focused = box.contains(document.activeElement) ? document.activeElement : null;
    setChildren(
      box,
      h("p", { class: "bar" }, h("span", {}, h("strong", {}, "B: "), `${describeChanges(b)}.`), which, h("button", { type: "button", class: "quiet", onclick: () => whatIf.clear() }, "Clear")),
      h("div", { class: "pair" }, translationLine("A", a, a), translationLine("B", b, a)),
      effectSummary(whatIf.delta.value, a, b),
      state.show.value === "difference" ? [subtractionScope(state.page.value), subtractionNote(a, b)] : null,
    );
    if (focused instanceof HTMLElement && box.contains(focused)) focused.focus();
  });

  /** @param {Trace} a @param {Trace} b @returns a note why some numbers cannot be subtracted, or what their difference means */
  function subtractionNote(a, b) {
    const [m, n] = [a.target.tokens.length, b.target.tokens.length];
    if (a.target.text === b.target.text && m === n) return null;
    const force = h("button", { type: "button", class: "quiet", onclick: forceTargetOfA }, "Give B the words of A");
    const why = m === n
      ? "The words differ: numbers at the same position are subtracted, labelled by the words of B."
      : `A has ${m} target tokens and B ${n}: numbers of the decoder cannot be subtracted.`;
    return h("p", { class: "faint" }, why, force);
  }
  function forceTargetOfA() {
    whatIf?.change({ prefix: "", target: app.traceA.peek()?.target.text ?? "" });
    whatIf?.run();
  }
  return box;
}

/** @param {string} page @returns a note what the page subtracts, unless it is everything */
function subtractionScope(page) {
  const note = { attention: "", model: "", search: "The weights are those of B minus those of A; all other numbers are those of B." }[page];
  return note === "" ? null : h("p", { class: "faint" }, note ?? "Attention, Search and Model show differences; this page shows the numbers of B.");
}

/** @param {string} name @param {Trace} trace @param {Trace} a */
function translationLine(name, trace, a) {
  const words = diffWords(a.target.text, trace.target.text).flatMap(({ word, isNew }) => [isNew ? h("ins", {}, word) : word, " "]);
  return [
    h("strong", {}, name),
    h("span", { dir: "auto", lang: trace.model.target_lang, ...(trace.target.text.length > LONG ? { class: "long", tabindex: 0, role: "group", "aria-label": `translation ${name}` } : {}) }, words),
    h("span", { class: "facts" }, `score ${signed(trace.target.score)}`),
  ];
}

/** @param {number | null} delta @param {Trace} a @param {Trace} b */
function effectSummary(delta, a, b) {
  const same = a.target.text === b.target.text ? "The words stay the same. " : "";
  if (delta === null) return same ? h("p", { class: "facts" }, same) : null;
  return h("p", { class: "facts" }, `${same}Δ log p of A under B: ${signed(delta)}`);
}

/** @param {number} value */
const signed = (value) => `${value < 0 ? "−" : ""}${Math.abs(value).toFixed(2)}`;
