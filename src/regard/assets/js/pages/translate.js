// Type a sentence, see its translation, point at words, take another word and see what follows.

import { again } from "regard/app.js";
import { fill, h, pick } from "regard/dom.js";
import { beginning, excerpt, idsOf, signed, written } from "regard/hypothesis.js";
import { effect } from "regard/signals.js";
import { alignment } from "regard/trace.js";
import { aligned } from "regard/parts/aligned_texts.js";
import { alternatives } from "regard/parts/alternatives.js";

/** @typedef {import("regard/app.js").App} App */
/** @typedef {import("regard/types").Trace} Trace */
/** @typedef {typeof import("regard/live/index.js")} Live */

/**
 * @param {App} app
 * @param {Live | null} live null where the page carries its translation
 * @returns {HTMLElement}
 */
export function translate(app, live) {
  const told = h("p", { class: "told", role: "status" });
  const facts = h("p", { class: "facts faint" });
  effect(() => (facts.textContent = counted(app)));
  const model = app.info?.model ?? app.a.peek()?.model;
  const inside = h("button", { type: "button", class: "main", onclick: () => (app.at.page.value = "attention") }, "Look inside →");
  effect(() => (inside.hidden = !app.trace.value || Boolean(app.lines.value)));
  const { source, target } = sentence(app, told);
  const read = h("div", {}, h("p", { class: "faint" }, "as the model reads it"), source);
  const one = h("div", { class: "answer" }, target, kept(app), nBest(app));
  const many = live?.severalLines(app, told);
  effect(() => {
    const lines = Boolean(app.lines.value);
    one.hidden = read.hidden = lines || !app.trace.value;
    if (many) many.hidden = !lines;
  });
  return h(
    "div",
    { class: "page" },
    h("h1", {}, "Translate"),
    h(
      "div",
      { class: "panes" },
      h("section", { "aria-label": "source" }, h("h2", {}, language("Source", model?.source_lang)), live?.sourceField(app) ?? baked(), read),
      h("section", { "aria-label": "translation" }, h("h2", {}, language("Translation", model?.target_lang)), one, many),
    ),
    told,
    facts,
    h("div", { class: "bar" }, controls(app), inside),
    h("p", { class: "faint" }, "The thicker the line under a piece of the translation, the surer the model was of it. Point at a word to see which words it was written from; press one of the translation to see what else could have stood there."),
  );
}

/** @param {string} side @param {string | null | undefined} code */
const language = (side, code) => (code ? `${side} · ${code.toUpperCase()}` : side);

const baked = () =>
  h("p", { class: "note" }, "This page carries one translation. To translate your own sentences, open the model with ", h("code", {}, "regard explore MODEL"), ".");

/** @param {App} app */
function controls(app) {
  const box = h("span", { class: "bar" });
  /** @param {number[]} values @param {number} now @returns {[string, string][]} */
  const options = (values, now) => [...new Set([...values, now])].sort((a, b) => a - b).map((value) => [String(value), String(value)]);
  effect(() => {
    const request = app.request.value;
    const change = (/** @type {object} */ what) => (app.request.value = { ...request, ...what });
    fill(
      box,
      app.source && pick("beam", options([1, 2, 4, 6, 8, 12], request.beam), String(request.beam), (v) => change({ beam: Number(v) })),
      app.source && pick("length penalty α", options([0, 0.2, 0.4, 0.6, 0.8, 1, 1.5], request.alpha), String(request.alpha), (v) => change({ alpha: Number(v) })),
      pick("n-best", options([1, 2, 4, 8], app.at.best.value), String(app.at.best.value), (v) => (app.at.best.value = Number(v))),
    );
  });
  return box;
}

/**
 * Source and translation of what is traced, word by word.
 * @param {App} app
 * @param {HTMLElement} told
 */
function sentence(app, told) {
  const others = alternatives(app);
  const pair = aligned({
    told,
    press: (side, tokens, element) => (side === "target" ? others.open(tokens, element) : (app.at.token.value = `s${tokens[0]}`)),
  });
  const end = h("button", { type: "button", class: "quiet end", title: "the end is predicted, too", onclick: () => others.open([last()], end) }, "end ▪");
  const last = () => (app.trace.value?.target.tokens.length ?? 1) - 1;
  effect(() => {
    const trace = app.trace.value;
    others.close();
    if (trace) pair.show({ ...trace, alignment: alignment(trace), languages: [trace.model.source_lang, trace.model.target_lang] });
  });
  return { source: pair.source, target: h("div", { class: "written" }, pair.target, end, others) };
}

/**
 * Says that the beginning was given, and how to be free of it.
 * @param {App} app
 */
function kept(app) {
  const box = h("p", { class: "kept" });
  effect(() => {
    const trace = app.trace.value;
    const prefix = trace?.request.prefix ?? [];
    const forced = trace?.target.forced ?? false;
    box.hidden = !trace || (!prefix.length && !forced);
    if (!trace || box.hidden) return;
    const free = app.source && h("button", { type: "button", class: "quiet", onclick: () => again(app, trace) }, "translate freely");
    fill(box, forced ? "This translation was given to the model, not searched for. " : ["Begins as you chose: ", h("strong", { dir: "auto" }, written(trace, /** @type {number[]} */ (prefix))), ". "], free);
  });
  return box;
}

/**
 * The best translations of the beam, each with what it is behind the first.
 * @param {App} app
 */
function nBest(app) {
  const box = h("div", {});
  effect(() => {
    const trace = app.trace.value;
    const beam = trace?.beam;
    const found = beam?.finished.slice(0, app.at.best.value).map(({ node }) => beam.nodes[node]) ?? [];
    box.hidden = app.at.best.value < 2 || !found.length;
    if (!trace || !beam || box.hidden) return;
    const rows = found.map((node, i) =>
      h("li", {}, h("div", {},
        h("span", { dir: "auto", lang: trace.model.target_lang }, i ? excerpt(written(trace, idsOf(beam, node)), trace.target.text) : beginning(trace.target.text)),
        h("span", { class: "number" }, signed(node.score)),
        h("span", { class: "number" }, i ? signed(node.score - found[0].score) : ""),
        app.source && i > 0 && h("button", { type: "button", class: "quiet", onclick: () => again(app, trace, { target: idsOf(beam, node) }) }, "Look inside"))),
    );
    fill(box, h("h3", {}, "N-best ", h("span", { class: "faint" }, `score, and how far behind the first${found.length < app.at.best.value ? `; only ${found.length} ended` : ""}`)), h("ol", { class: "n-best" }, rows));
  });
  return box;
}

/** @param {App} app */
function counted(app) {
  const trace = app.trace.value;
  const list = app.lines.value;
  const plural = (/** @type {number} */ n, /** @type {string} */ what) => `${n} ${what}${n === 1 ? "" : "s"}`;
  const sides = list ? list.lines.map(({ source }) => source) : trace ? [trace.source] : [];
  if (!sides.length) return "";
  const count = (/** @type {(side: Trace["source"]) => number} */ of) => sides.reduce((sum, side) => sum + of(side), 0);
  return [
    list && plural(list.lines.length, "line"),
    plural(count(({ text }) => text.split(/\s+/).filter(Boolean).length), "word"),
    !list?.lines.some(({ omitted }) => omitted) && plural(count(({ tokens }) => tokens.length), "token"),
    `${Math.round(list ? list.ms : (trace?.timing.decode_ms ?? 0))} ms`,
    list ? `beam ${app.request.value.beam}` : trace?.beam ? `beam ${trace.beam.size}` : "given",
  ].filter(Boolean).join(" · ");
}
