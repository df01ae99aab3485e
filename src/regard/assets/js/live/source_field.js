// The source field, and the list of translations for several lines.

import { DEFAULT_REQUEST } from "regard/app.js";
import { setChildren, h } from "regard/dom.js";
import { formatSigned } from "regard/hypothesis.js";
import { effect, scope } from "regard/signals.js";
import { alignedTexts } from "regard/parts/aligned_texts.js";

/** @typedef {import("regard/app.js").App} App */
/** @typedef {import("regard/types").Line} Line */

const TYPING_PAUSE_MS = 300;

/**
 * The source field: shortly after the last key, one line is traced, several lines are translated.
 * @param {App} app
 */
export function sourceField(app) {
  const ask = /** @type {NonNullable<typeof app.source>} */ (app.source).ask;
  const area = /** @type {HTMLTextAreaElement} */ (
    h("textarea", {
      "data-key": "/", rows: 4, dir: "auto", spellcheck: "true", lang: app.info?.model.source_lang,
      "aria-label": "source text", "aria-describedby": "too-long", placeholder: "Type a sentence; one line is one sentence.",
      oninput: (/** @type {InputEvent} */ event) => event.isComposing || scheduleRequest(),
      oncompositionend: () => scheduleRequest(),
    })
  );
  area.value = app.draft.peek();
  const problem = h("p", { class: "problem beside", id: "too-long", role: "alert" });
  let timer = 0;
  let typed = "";
  let pending = new AbortController();

  function scheduleRequest() {
    app.draft.value = area.value;
    pending.abort();
    clearTimeout(timer);
    timer = setTimeout(submit, TYPING_PAUSE_MS);
  }

  function submit() {
    const lines = app.draft.peek().split("\n").filter((line) => line.trim());
    if (lines.length > 1) return translateLines();
    app.lineTranslations.value = null;
    app.tooLongMessage.value = "";
    typed = lines[0]?.trim() ?? "";
    app.request.value = { ...requestSettings(app), text: typed };
  }

  /** Translate without a trace. */
  async function translateLines() {
    pending.abort();
    pending = new AbortController();
    const { beam, alpha, top_k, step } = app.request.peek();
    const controller = pending;
    app.translatingLines.value = true;
    try {
      const text = app.draft.peek();
      const answer = await ask("translate", { text, beam, alpha, top_k, step, n_best: beam }, controller.signal);
      app.lineTranslations.value = { ...answer, texts: text.split("\n") };
      if (!app.tooLongMessage.peek()) app.errorMessage.value = "";
    } catch (error) {
      const { name, message } = /** @type {Error} */ (error);
      if (name !== "AbortError") app.errorMessage.value = message;
    } finally {
      if (controller === pending) app.translatingLines.value = false;
    }
  }

  effect(() => {
    problem.textContent = app.tooLongMessage.value;
    problem.hidden = !app.tooLongMessage.value;
    if (app.tooLongMessage.value && !app.lineTranslations.peek()) translateLines();
  });
  let lastSettings = searchSettings(app);
  effect(() => {
    const now = searchSettings(app);
    if (now !== lastSettings && app.lineTranslations.peek()) translateLines();
    lastSettings = now;
  });
  effect(() => {
    const { text } = app.request.value;
    const lines = app.draft.peek().split("\n").map((line) => line.trim());
    if (text !== typed && !lines.includes(text)) app.draft.value = area.value = text;
  });
  return h("div", {}, area, problem);
}

/** @param {App} app @returns {string} the settings that a list of translations depends on */
function searchSettings(app) {
  const { beam, alpha, step } = app.request.value;
  return JSON.stringify([beam, alpha, step]);
}

/** @param {App} app @returns the request without the fields that belong to its text */
function requestSettings(app) {
  const { beam, alpha, top_k, step } = app.request.peek();
  return { ...DEFAULT_REQUEST, beam, alpha, top_k, step };
}

/**
 * The translations of several lines.
 * @param {App} app
 * @param {HTMLElement} status
 */
export function lineList(app, status) {
  const box = h("ol", { class: "lines" });
  let disposeEntries = () => {};
  effect(() => {
    const { lines, texts } = app.lineTranslations.value ?? { lines: [], texts: [] };
    app.state.best.value;
    disposeEntries();
    const [entries, end] = scope(() => lines.map((line, i) => (texts[i].trim() ? lineEntry(app, line, texts[i].trim(), status) : h("li", {}))));
    disposeEntries = end;
    setChildren(box, entries);
  });
  return box;
}

/**
 * @param {App} app
 * @param {Line} line
 * @param {string} text as typed
 * @param {HTMLElement} status
 */
function lineEntry(app, line, text, status) {
  const { source_lang, target_lang } = /** @type {NonNullable<typeof app.info>} */ (app.info).model;
  const look = () => (app.request.value = { ...requestSettings(app), text });
  const others = line.n_best.slice(1, app.state.best.value);
  return h(
    "li",
    {},
    line.omitted
      ? [h("p", { dir: "auto", lang: source_lang }, text), h("p", { class: "words", dir: "auto", lang: target_lang }, line.target.text)]
      : bothSides(),
    h("ul", { class: "others faint" }, others.map((other) => h("li", {}, h("span", { dir: "auto" }, other.text), ` ${formatSigned(other.score)} (${formatSigned(other.score - line.n_best[0].score)})`))),
    h("p", { class: "bar" }, h("span", { class: "faint facts" }, `score ${formatSigned(line.target.score)}`),
      line.target.unlike_training && h("strong", {}, "unlike the training text"),
      line.omitted
        ? h("span", { class: "faint" }, "too long to look into")
        : h("button", { type: "button", class: "quiet", onclick: look }, "Look inside")),
  );

  function bothSides() {
    const pair = alignedTexts({ status, press: look });
    const values = Float32Array.from(line.alignment.flat());
    const matrix = { rows: line.target.tokens.length, columns: line.source.tokens.length, values };
    pair.show({ ...line, alignment: matrix, languages: [source_lang, target_lang] });
    pair.source.classList.add("small");
    return [pair.source, pair.target];
  }
}
