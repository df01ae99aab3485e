// Translate page: source field, aligned translation, alternatives for a word, n-best list.

import { retranslate } from "regard/app.js";
import { setChildren, h, dropdown } from "regard/dom.js";
import { truncateWords, excerpt, tokenIds, formatSigned, decodeText } from "regard/hypothesis.js";
import { effect } from "regard/signals.js";
import { alignment } from "regard/trace.js";
import { alignedTexts } from "regard/parts/aligned_texts.js";
import { alternatives } from "regard/parts/candidates.js";

/** @typedef {import("regard/app.js").App} App */
/** @typedef {import("regard/types").Trace} Trace */
/** @typedef {typeof import("regard/live/index.js")} Live */

/**
 * @param {App} app
 * @param {Live | null} live null on the offline page
 * @returns {HTMLElement}
 */
export function translatePage(app, live) {
  const status = h("p", { class: "status", role: "status" });
  const facts = h("p", { class: "facts faint" });
  effect(() => (facts.textContent = countsText(app)));
  const model = app.info?.model ?? app.traceA.peek()?.model;
  const inside = h("button", { type: "button", class: "main", onclick: () => (app.state.page.value = "attention") }, "Look inside →");
  effect(() => (inside.hidden = !app.trace.value || Boolean(app.lineTranslations.value)));
  const { source, target } = alignedSentence(app, status);
  const sourceWords = h("div", {}, h("p", { class: "faint" }, "as the model reads it"), source);
  const single = h("div", { class: "answer" }, target, prefixNote(app), unlikeTrainingNote(app), nBestList(app));
  const list = live?.lineList(app, status);
  effect(() => {
    const lines = Boolean(app.lineTranslations.value);
    single.hidden = sourceWords.hidden = lines || !app.trace.value;
    if (list) list.hidden = !lines;
  });
  return h(
    "div",
    { class: "page" },
    h("h1", {}, "Translate"),
    h(
      "div",
      { class: "panes" },
      h("section", { "aria-label": "source" }, h("h2", {}, sideTitle("Source", model?.source_lang)), live?.sourceField(app) ?? offlineNote(), sourceWords),
      h("section", { "aria-label": "translation" }, h("h2", {}, sideTitle("Translation", model?.target_lang)), single, list),
    ),
    status,
    facts,
    h("div", { class: "bar" }, searchControls(app), inside),
    h("p", { class: "faint" }, "A thicker line under a token means a higher probability. Point at a word to see the words it is aligned to; click a word of the translation to see the alternatives."),
  );
}

/** @param {string} side @param {string | null | undefined} code */
const sideTitle = (side, code) => (code ? `${side} · ${code.toUpperCase()}` : side);

const offlineNote = () =>
  h("p", { class: "note" }, "This page contains one translation. To translate your own sentences, open the model with ", h("code", {}, "regard explore MODEL"), ".");

/** @param {App} app */
function searchControls(app) {
  const box = h("span", { class: "bar" });
  /** @param {number[]} values @param {number} now @returns {[string, string][]} */
  const options = (values, now) => [...new Set([...values, now])].sort((a, b) => a - b).map((value) => [String(value), String(value)]);
  effect(() => {
    const request = app.request.value;
    const change = (/** @type {object} */ what) => (app.request.value = { ...request, ...what });
    setChildren(
      box,
      app.source && dropdown("beam", options([1, 2, 4, 6, 8, 12], request.beam), String(request.beam), (v) => change({ beam: Number(v) })),
      app.source && dropdown("length penalty α", options([0, 0.2, 0.4, 0.6, 0.8, 1, 1.5], request.alpha), String(request.alpha), (v) => change({ alpha: Number(v) })),
      dropdown("n-best", options([1, 2, 4, 8], app.state.best.value), String(app.state.best.value), (v) => (app.state.best.value = Number(v))),
    );
  });
  return box;
}

/**
 * Source and translation of the trace, aligned word by word.
 * @param {App} app
 * @param {HTMLElement} status
 */
function alignedSentence(app, status) {
  const others = alternatives(app);
  const pair = alignedTexts({
    status,
    press: (side, tokens, element) => (side === "target" ? others.open(tokens, element) : (app.state.token.value = `s${tokens[0]}`)),
  });
  const end = h("button", { type: "button", class: "quiet end", title: "the end of the sequence is predicted, too", onclick: () => others.open([last()], end) }, "end ▪");
  const last = () => (app.trace.value?.target.tokens.length ?? 1) - 1;
  effect(() => {
    const trace = app.trace.value;
    others.close();
    if (trace) pair.show({ ...trace, alignment: alignment(trace), languages: [trace.model.source_lang, trace.model.target_lang] });
  });
  return { source: pair.source, target: h("div", { class: "written" }, pair.target, end, others) };
}

/**
 * Note that a prefix or the whole target was forced, with a button to search freely.
 * @param {App} app
 */
function prefixNote(app) {
  const box = h("p", { class: "kept" });
  effect(() => {
    const trace = app.trace.value;
    const prefix = trace?.request.prefix ?? [];
    const forced = trace?.target.forced ?? false;
    box.hidden = !trace || (!prefix.length && !forced);
    if (!trace || box.hidden) return;
    const free = app.source && h("button", { type: "button", class: "quiet", onclick: () => retranslate(app, trace) }, "translate freely");
    setChildren(box, forced ? "This translation was forced, not searched for. " : ["Begins as you chose: ", h("strong", { dir: "auto" }, decodeText(trace, /** @type {number[]} */ (prefix))), ". "], free);
  });
  return box;
}

/**
 * Note that the text is unlike the training text.
 * @param {App} app
 */
function unlikeTrainingNote(app) {
  const box = h("p", { class: "note" }, "Unlike the training text: this translation is less probable than 99 % of those in validation.");
  effect(() => (box.hidden = !app.trace.value?.target.unlike_training));
  return box;
}

/**
 * The n-best list, with the score difference to the best.
 * @param {App} app
 */
function nBestList(app) {
  const box = h("div", {});
  effect(() => {
    const trace = app.trace.value;
    const beam = trace?.beam;
    const hypotheses = beam?.finished.slice(0, app.state.best.value).map(({ node }) => beam.nodes[node]) ?? [];
    box.hidden = app.state.best.value < 2 || !hypotheses.length;
    if (!trace || !beam || box.hidden) return;
    const rows = hypotheses.map((node, i) =>
      h("li", {}, h("div", {},
        h("span", { dir: "auto", lang: trace.model.target_lang }, i ? excerpt(decodeText(trace, tokenIds(beam, node)), trace.target.text) : truncateWords(trace.target.text)),
        h("span", { class: "number" }, formatSigned(node.score)),
        h("span", { class: "number" }, i ? formatSigned(node.score - hypotheses[0].score) : ""),
        app.source && i > 0 && h("button", { type: "button", class: "quiet", onclick: () => retranslate(app, trace, { target: tokenIds(beam, node) }) }, "Look inside"))),
    );
    setChildren(box, h("h3", {}, "N-best ", h("span", { class: "faint" }, `score, and how far behind the first${hypotheses.length < app.state.best.value ? `; only ${hypotheses.length} ended` : ""}`)), h("ol", { class: "n-best" }, rows));
  });
  return box;
}

/** @param {App} app */
function countsText(app) {
  const trace = app.trace.value;
  const list = app.lineTranslations.value;
  const plural = (/** @type {number} */ n, /** @type {string} */ what) => `${n} ${what}${n === 1 ? "" : "s"}`;
  const sides = list ? list.lines.map(({ source }) => source) : trace ? [trace.source] : [];
  if (!sides.length) return "";
  const count = (/** @type {(side: Trace["source"]) => number} */ of) => sides.reduce((sum, side) => sum + of(side), 0);
  return [
    list && plural(list.lines.length, "line"),
    plural(count(({ text }) => text.split(/\s+/).filter(Boolean).length), "word"),
    !list?.lines.some(({ omitted }) => omitted) && plural(count(({ tokens }) => tokens.length), "token"),
    `${Math.round(list ? list.ms : (trace?.timing.decode_ms ?? 0))} ms`,
    list ? `beam ${app.request.value.beam}` : trace?.beam ? `beam ${trace.beam.size}` : "forced",
  ].filter(Boolean).join(" · ");
}
