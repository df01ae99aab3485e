// Source text: a text field over a mirror of its text, in which words can be lit.

import { h, setChildren } from "regard/dom.js";
import { computed, effect } from "regard/signals.js";
import { linkedWords } from "regard/translator/sentences.js";
import { locateParts, textDirection, bareWordRanges } from "regard/translator/words.js";

/** @typedef {import("regard/translator/sentences.js").ActiveWord} ActiveWord */
/** @typedef {import("regard/translator/sentences.js").Shown} Shown */
/** @template T @typedef {import("regard/signals.js").Signal<T>} Signal */
/** @typedef {{ start: number, end: number, sentence: number, word: number }} SourceWord */

const LONG_TEXT = 20_000;
/** A longer text has no mirror; its field scrolls. */
const CARET_KEYS = new Set(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "PageUp", "PageDown"]);

/**
 * @param {Signal<string>} text
 * @param {() => string} readLanguage reads signals
 * @param {() => Shown | null} readShown reads signals
 * @param {Signal<ActiveWord | null>} active
 */
export function sourceView(text, readLanguage, readShown, active) {
  const mirror = h("div", { class: "mirror", "aria-hidden": "true" });
  const field = /** @type {HTMLTextAreaElement} */ (
    h("textarea", { id: "source", rows: 1, "aria-label": "Text to translate", placeholder: "Type or paste a text", spellcheck: "true" })
  );
  const view = h("div", { class: "editor" }, mirror, field);
  const words = computed(() => sourceWords(text.value, readShown()));
  /** @type {Map<Element, SourceWord>} */
  let spans = new Map();
  /** @type {HTMLElement[]} */
  let lit = [];

  effect(() => {
    const language = readLanguage();
    field.lang = mirror.lang = language === "auto" ? "" : language;
    field.dir = mirror.dir = textDirection(language);
  });
  effect(() => {
    if (field.value !== text.value) field.value = text.value;
    const isLong = text.value.length > LONG_TEXT;
    view.classList.toggle("long", isLong);
    spans = new Map();
    setChildren(mirror, isLong ? [] : [...mirrorNodes(text.value, words.value, spans), "\u200b"]);
  });
  effect(() => {
    for (const span of lit) span.classList.remove("lit");
    lit = [];
    const at = active.value;
    const segment = at && readShown()?.segments[at.sentence];
    if (!at || !segment || !words.value.length) return;
    const { source } = linkedWords(segment, at.side, at.word);
    for (const [span, each] of spans)
      if (each.sentence === at.sentence && source.has(each.word)) lit.push(/** @type {HTMLElement} */ (span));
    for (const span of lit) span.classList.add("lit");
  });

  field.addEventListener("input", () => {
    active.value = null;
    text.value = field.value;
  });
  field.addEventListener("pointermove", (event) => {
    if (event.pointerType !== "mouse") return;
    const span = document.elementsFromPoint(event.clientX, event.clientY).find((each) => spans.has(each));
    light(span ? spans.get(span) : undefined);
  });
  field.addEventListener("pointerleave", () => light(undefined));
  field.addEventListener("blur", () => light(undefined));
  field.addEventListener("click", lightAtCaret);
  field.addEventListener("keyup", (event) => CARET_KEYS.has(event.key) && lightAtCaret());

  function lightAtCaret() {
    const caret = field.selectionStart;
    light(words.value.find(({ start, end }) => start <= caret && caret <= end));
  }

  /** @param {SourceWord | undefined} word */
  function light(word) {
    const before = active.peek();
    if (!word) {
      if (before?.side === "source") active.value = null;
    } else if (before?.side !== "source" || before.sentence !== word.sentence || before.word !== word.word) {
      active.value = { sentence: word.sentence, side: "source", word: word.word };
    }
  }

  return { view, field };
}

/** @param {string} text @param {Shown | null} shown @returns {SourceWord[]} none if another text is shown */
function sourceWords(text, shown) {
  if (!shown || shown.result.query.text !== text || text.length > LONG_TEXT) return [];
  const starts = locateParts(text, shown.segments.map((each) => each?.source ?? null));
  return starts.flatMap((offset, sentence) => {
    const segment = shown.segments[sentence];
    if (offset === null || !segment) return [];
    return bareWordRanges(segment.source).map(([start, end], word) => ({ start: offset + start, end: offset + end, sentence, word }));
  });
}

/** @param {string} text @param {SourceWord[]} words @param {Map<Element, SourceWord>} spans is filled */
function* mirrorNodes(text, words, spans) {
  let position = 0;
  for (const word of words) {
    if (word.start > position) yield text.slice(position, word.start);
    const span = h("span", { class: "word" }, text.slice(word.start, word.end));
    spans.set(span, word);
    yield span;
    position = word.end;
  }
  yield text.slice(position);
}
