// The source field, and the list that several lines become.

import { PLAIN } from "regard/app.js";
import { fill, h } from "regard/dom.js";
import { signed } from "regard/hypothesis.js";
import { effect, scope } from "regard/signals.js";
import { aligned } from "regard/parts/aligned_texts.js";

/** @typedef {import("regard/app.js").App} App */
/** @typedef {import("regard/types").Line} Line */

const PAUSE = 300;

/**
 * The source field: one line is traced, several are translated, a little after the last key.
 * @param {App} app
 */
export function sourceField(app) {
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
    typed = lines[0]?.trim() ?? "";
    app.request.value = { ...settings(app), text: typed };
  }

  /** Without looking inside. */
  async function whole() {
    under.abort();
    under = new AbortController();
    const { beam, alpha, top_k, step } = app.request.peek();
    const mine = under;
    app.listing.value = true;
    try {
      const text = app.draft.peek();
      const answer = await ask("translate", { text, beam, alpha, top_k, step, n_best: beam }, mine.signal);
      app.lines.value = { ...answer, texts: text.split("\n") };
      if (!app.tooLong.peek()) app.problem.value = "";
    } catch (error) {
      const { name, message } = /** @type {Error} */ (error);
      if (name !== "AbortError") app.problem.value = message;
    } finally {
      if (mine === under) app.listing.value = false;
    }
  }

  effect(() => {
    problem.textContent = app.tooLong.value;
    problem.hidden = !app.tooLong.value;
    if (app.tooLong.value && !app.lines.peek()) whole();
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

/**
 * Several sentences, one below the other.
 * @param {App} app
 * @param {HTMLElement} told
 */
export function severalLines(app, told) {
  const box = h("ol", { class: "lines" });
  let leave = () => {};
  effect(() => {
    const { lines, texts } = app.lines.value ?? { lines: [], texts: [] };
    app.at.best.value;
    leave();
    const [entries, end] = scope(() => lines.map((line, i) => (texts[i].trim() ? entry(app, line, texts[i].trim(), told) : h("li", {}))));
    leave = end;
    fill(box, entries);
  });
  return box;
}

/**
 * @param {App} app
 * @param {Line} line
 * @param {string} text as it was typed
 * @param {HTMLElement} told
 */
function entry(app, line, text, told) {
  const { source_lang, target_lang } = /** @type {NonNullable<typeof app.info>} */ (app.info).model;
  const look = () => (app.request.value = { ...settings(app), text });
  const others = line.n_best.slice(1, app.at.best.value);
  return h(
    "li",
    {},
    line.omitted
      ? [h("p", { dir: "auto", lang: source_lang }, text), h("p", { class: "words", dir: "auto", lang: target_lang }, line.target.text)]
      : bothSides(),
    h("ul", { class: "others faint" }, others.map((other) => h("li", {}, h("span", { dir: "auto" }, other.text), ` ${signed(other.score)} (${signed(other.score - line.n_best[0].score)})`))),
    h("p", { class: "bar" }, h("span", { class: "faint facts" }, `score ${signed(line.target.score)}`),
      line.omitted
        ? h("span", { class: "faint" }, "too long to look into")
        : h("button", { type: "button", class: "quiet", onclick: look }, "Look inside")),
  );

  function bothSides() {
    const pair = aligned({ told, press: look });
    const values = Float32Array.from(line.alignment.flat());
    const matrix = { rows: line.target.tokens.length, columns: line.source.tokens.length, values };
    pair.show({ ...line, alignment: matrix, languages: [source_lang, target_lang] });
    pair.source.classList.add("small");
    return [pair.source, pair.target];
  }
}
