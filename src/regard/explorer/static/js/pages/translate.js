// Type a sentence, see its translation, point at words, take another word and see what follows.

import { PLAIN } from "regard/app.js";
import { choices, fill, h, pick } from "regard/dom.js";
import { idsOf, signed, written } from "regard/hypothesis.js";
import { effect, signal } from "regard/signals.js";
import { alignment, gathered } from "regard/trace.js";
import { candidates } from "regard/parts/candidates.js";
import { words } from "regard/parts/words.js";

/** @typedef {import("regard/app.js").App} App */
/** @typedef {import("regard/types").Trace} Trace */
/** @typedef {import("regard/types").Line} Line */
/** @typedef {import("regard/trace.js").Label} Label */

const PAUSE = 300;

/**
 * @param {App} app
 * @returns {HTMLElement}
 */
export function translate(app) {
  const told = h("p", { class: "told", role: "status" });
  const facts = h("p", { class: "facts faint" });
  effect(() => (facts.textContent = counted(app)));
  const model = app.info?.model ?? app.a.peek()?.model;
  const inside = h("button", { type: "button", class: "main", onclick: () => (app.at.page.value = "attention") }, "Look inside →");
  effect(() => (inside.hidden = !app.trace.value || Boolean(app.lines.value)));
  const { source, target } = aligned(app, told);
  const read = h("div", {}, h("p", { class: "faint" }, "as the model reads it"), source);
  const one = h("div", { class: "answer" }, target, kept(app), nBest(app));
  const many = list(app);
  effect(() => {
    const lines = Boolean(app.lines.value);
    one.hidden = read.hidden = lines || !app.trace.value;
    many.hidden = !lines;
  });
  return h(
    "div",
    { class: "page" },
    h("h1", {}, "Translate"),
    h(
      "div",
      { class: "panes" },
      h("section", { "aria-label": "source" }, h("h2", {}, language("Source", model?.source_lang)), app.source ? field(app) : baked(), read),
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

/**
 * The source field: one line is traced, several are translated, a little after the last key.
 * @param {App} app
 */
function field(app) {
  const ask = /** @type {NonNullable<typeof app.source>} */ (app.source).ask;
  const area = /** @type {HTMLTextAreaElement} */ (
    h("textarea", {
      "data-key": "/", rows: 4, dir: "auto", spellcheck: "true", lang: app.info?.model.source_lang,
      "aria-label": "source text", "aria-describedby": "too-long", placeholder: "Type a sentence; one line is one sentence.",
      oninput: (/** @type {InputEvent} */ event) => event.isComposing || later(),
      oncompositionend: () => later(),
    })
  );
  area.value = app.draft.peek();
  const problem = h("p", { class: "problem beside", id: "too-long", role: "alert" });
  let timer = 0;
  let typed = "";
  let under = new AbortController();

  function later() {
    app.draft.value = area.value;
    under.abort();
    clearTimeout(timer);
    timer = setTimeout(go, PAUSE);
  }

  function go() {
    const lines = app.draft.peek().split("\n").filter((line) => line.trim());
    if (lines.length > 1) return whole();
    app.lines.value = null;
    app.tooLong.value = "";
    if (!lines.length) return;
    typed = lines[0].trim();
    app.request.value = { ...settings(app), text: typed };
  }

  /** Without looking inside. */
  async function whole() {
    under.abort();
    under = new AbortController();
    const { beam, alpha, top_k, step } = app.request.peek();
    const mine = under;
    app.busy.value = true;
    try {
      const text = app.draft.peek();
      const answer = await ask("translate", { text, beam, alpha, top_k, step, n_best: beam }, mine.signal);
      app.lines.value = { ...answer, texts: text.split("\n") };
    } catch (error) {
      const { name, message } = /** @type {Error} */ (error);
      if (name !== "AbortError") app.problem.value = message;
    } finally {
      if (mine === under) app.busy.value = false;
    }
  }

  effect(() => {
    problem.textContent = app.tooLong.value;
    problem.hidden = !app.tooLong.value;
    if (app.tooLong.value) whole();
  });
  let asked = how(app);
  effect(() => {
    const now = how(app);
    if (now !== asked && app.lines.peek()) whole();
    asked = now;
  });
  effect(() => {
    const { text } = app.request.value;
    const lines = app.draft.peek().split("\n").map((line) => line.trim());
    if (text !== typed && !lines.includes(text)) app.draft.value = area.value = text;
  });
  return h("div", {}, area, problem);
}

/** @param {App} app what a list of translations depends on besides its text */
function how(app) {
  const { beam, alpha, step } = app.request.value;
  return JSON.stringify([beam, alpha, step]);
}

/** @param {App} app the request without what belongs to its text */
function settings(app) {
  const { beam, alpha, top_k, step } = app.request.peek();
  return { ...PLAIN, beam, alpha, top_k, step };
}

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
 * Source and translation, whose words light up with those that they are aligned to.
 * @param {App} app
 * @param {HTMLElement} told
 */
function aligned(app, told) {
  const pointed = signal(/** @type {{ side: "source" | "target", unit: number } | null} */ (null));
  /** @type {{ source: Label[], target: Label[], matrix: import("regard/trace.js").Matrix } | null} */
  let now = null;
  const at = (/** @type {"source" | "target"} */ side) => (/** @type {number | null} */ unit) => (pointed.value = unit === null ? null : { side, unit });
  const panel = h("div", { class: "panel", hidden: true, role: "dialog", "aria-label": "what else could stand here" });
  const source = words({
    name: "source words", point: at("source"),
    press: (unit) => now && (app.at.token.value = `s${now.source[unit].tokens[0]}`),
  });
  const target = words({ name: "translated words", point: at("target"), press: (unit, element) => now && open(now.target[unit].tokens, element) });
  const end = h("button", { type: "button", class: "quiet end", title: "the end of the sentence is chosen, too", onclick: () => endPressed() }, "end ▪");
  const whole = h("div", { class: "written" }, target, end);

  effect(() => {
    const trace = app.trace.value;
    close();
    if (!trace) return;
    const label = (/** @type {string} */ text) => (/** @type {import("regard/units.js").Unit} */ unit) => ({
      text: text.slice(unit.start, unit.end), tokens: unit.tokens, special: false,
    });
    const rows = target.show(trace.target.text, trace.target.tokens, trace.model.target_lang).map(label(trace.target.text));
    const columns = source.show(trace.source.text, trace.source.tokens, trace.model.source_lang).map(label(trace.source.text));
    now = { source: columns, target: rows, matrix: gathered(alignment(trace), rows, columns) };
  });
  effect(() => {
    app.trace.value;
    const which = pointed.value;
    if (!now || !which) return source.light(null), target.light(null), void (told.textContent = "");
    const { matrix } = now;
    const own = which.side === "target" ? matrix.rows : matrix.columns;
    if (which.unit >= own) return;
    const shares = which.side === "target"
      ? Array.from({ length: matrix.columns }, (_, c) => matrix.values[which.unit * matrix.columns + c])
      : Array.from({ length: matrix.rows }, (_, r) => matrix.values[r * matrix.columns + which.unit]);
    const alone = Array.from({ length: own }, (_, i) => Number(i === which.unit));
    source.light(which.side === "source" ? alone : shares);
    target.light(which.side === "target" ? alone : shares);
    told.textContent = sentence(now[which.side][which.unit].text, now[which.side === "source" ? "target" : "source"], shares, which.side);
  });

  function endPressed() {
    const trace = app.trace.value;
    if (trace) open([trace.target.tokens.length - 1], end);
  }

  /** @param {number[]} tokens @param {HTMLElement} element */
  function open(tokens, element) {
    const trace = /** @type {Trace} */ (app.trace.value);
    const t = signal(tokens[0]);
    app.at.token.value = String(tokens[0]);
    const room = h("div", {});
    const which = choices("which piece", tokens.map((token) => [token, trace.target.tokens[token].text]), () => t.value, show);
    /** @param {number} token */
    function show(token) {
      t.value = token;
      which.refresh();
      fill(room, candidates(app, trace, token, () => close(element)));
    }
    show(tokens[0]);
    fill(
      panel,
      h("div", { class: "bar" }, tokens.length > 1 ? which : h("strong", { dir: "auto" }, trace.target.tokens[tokens[0]].text),
        h("button", { type: "button", class: "quiet close", "aria-label": "close", onclick: () => close(element) }, "✕")),
      room,
      h("p", { class: "faint" }, app.source
        ? "Choosing one keeps what stands before it and translates the rest again."
        : "To go on from another one, open the model with regard explore."),
    );
    panel.hidden = false;
    const [frame, word] = [whole.getBoundingClientRect(), element.getBoundingClientRect()];
    panel.style.setProperty("top", `${word.bottom - frame.top + 6}px`);
    panel.style.setProperty("left", `${Math.max(0, Math.min(word.left - frame.left, frame.width - panel.offsetWidth))}px`);
    panel.onkeydown = (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      close(element);
    };
    /** @type {HTMLElement | null} */ (panel.querySelector("button"))?.focus();
  }

  /** @param {HTMLElement} [back] where the focus goes */
  function close(back) {
    if (panel.hidden) return;
    panel.hidden = true;
    if (back?.isConnected) back.focus();
  }
  whole.append(panel);
  whole.addEventListener("focusout", (event) => {
    if (event.relatedTarget instanceof Node && !panel.contains(event.relatedTarget) && panel.contains(/** @type {Node} */ (event.target))) close();
  });
  return { source, target: whole };
}

/**
 * @param {string} word
 * @param {Label[]} others
 * @param {number[]} shares
 * @param {"source" | "target"} side
 */
function sentence(word, others, shares, side) {
  const most = shares.map((share, i) => ({ share, text: others[i].text })).filter(({ share }) => share >= 0.05).sort((a, b) => b.share - a.share).slice(0, 4);
  const found = most.map(({ share, text }) => `“${text}” ${share.toFixed(2)}`).join(", ") || "nothing in particular";
  return side === "target" ? `“${word}” was written while looking at ${found}` : `“${word}” was looked at by ${found}`;
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
    const free = app.source && h("button", { type: "button", class: "quiet", onclick: () => (app.request.value = { ...trace.request, prefix: [], target: null }) }, "translate freely");
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
    box.hidden = found.length < 2;
    if (!trace || !beam || box.hidden) return;
    const rows = found.map((node, i) =>
      h(
        "li",
        {},
        h("span", { dir: "auto", lang: trace.model.target_lang }, i ? written(trace, idsOf(beam, node)) : trace.target.text),
        h("span", { class: "number" }, signed(node.score)),
        h("span", { class: "number" }, i ? signed(node.score - found[0].score) : ""),
        app.source && i > 0 && h("button", { type: "button", class: "quiet", onclick: () => (app.request.value = { ...trace.request, prefix: [], target: idsOf(beam, node) }) }, "Look inside"),
      ),
    );
    fill(box, h("h3", {}, "N-best ", h("span", { class: "faint" }, "score, and how far behind the first")), h("ol", { class: "n-best" }, rows));
  });
  return box;
}

/**
 * Several sentences, one below the other.
 * @param {App} app
 */
function list(app) {
  const box = h("ol", { class: "lines" });
  effect(() => {
    const { lines, texts } = app.lines.value ?? { lines: [], texts: [] };
    fill(box, lines.map((line, i) => (texts[i].trim() ? entry(app, line, texts[i].trim()) : h("li", { class: "blank" }))));
  });
  return box;
}

/** @param {App} app @param {Line} line @param {string} text as it was typed */
function entry(app, line, text) {
  const { model } = /** @type {NonNullable<typeof app.info>} */ (app.info);
  const sentence = words({ name: "translated words", point: () => {}, press: () => {} });
  sentence.show(line.target.text, line.target.tokens, model.target_lang);
  const look = () => (app.request.value = { ...settings(app), text });
  const others = line.n_best.slice(1, app.at.best.value);
  return h(
    "li",
    {},
    h("p", { class: "faint", dir: "auto", lang: model.source_lang }, text),
    line.target.tokens.length ? sentence : h("p", { class: "words", dir: "auto", lang: model.target_lang }, line.target.text),
    h("ul", { class: "others faint" }, others.map((other) => h("li", {}, h("span", { dir: "auto" }, other.text), ` ${signed(other.score)} (${signed(other.score - line.n_best[0].score)})`))),
    h("p", { class: "bar" }, h("span", { class: "faint facts" }, `score ${signed(line.target.score)}`),
      line.omitted
        ? h("span", { class: "faint" }, "too long to look into")
        : h("button", { type: "button", class: "quiet", onclick: look }, "Look inside")),
  );
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
    plural(count(({ tokens }) => tokens.length), "token"),
    `${Math.round(list ? list.ms : (trace?.timing.decode_ms ?? 0))} ms`,
    list ? `beam ${app.request.value.beam}` : trace?.beam ? `beam ${trace.beam.size}` : "given",
  ].filter(Boolean).join(" · ");
}
