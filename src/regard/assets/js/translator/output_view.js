// Translation: sentences that open their alternatives, words that light the words they translate.

import { h, setChildren } from "regard/dom.js";
import { effect } from "regard/signals.js";
import { hasRemark, linkedWords, surenessClass } from "regard/translator/sentences.js";
import { textDirection, bareWordRanges } from "regard/translator/words.js";

/** @typedef {import("regard/translator/api.js").Segment} Segment */
/** @typedef {import("regard/translator/sentences.js").ActiveWord} ActiveWord */
/** @typedef {import("regard/translator/sentences.js").Shown} Shown */
/** @template T @typedef {import("regard/signals.js").Signal<T>} Signal */

/**
 * @param {object} view
 * @param {() => Shown | null} view.readShown reads signals
 * @param {() => string} view.readLanguage reads signals
 * @param {() => boolean} view.readIsOld whether the text has changed since; reads signals
 * @param {Signal<ActiveWord | null>} view.active
 * @param {(sentence: number, element: HTMLElement) => void} view.openAlternatives
 * @param {(text: string) => void} view.announce
 */
export function outputView({ readShown, readLanguage, readIsOld, active, openAlternatives, announce }) {
  const output = h("div", { class: "output", id: "translation", role: "group", "aria-label": "Translation" });
  /** @type {Map<Element, ActiveWord>} */
  let words = new Map();
  /** @type {HTMLElement[]} of the sentences */
  let sentences = [];
  /** @type {HTMLElement[]} */
  let lit = [];
  let tabStop = 0;

  effect(() => {
    output.lang = readLanguage();
    output.dir = textDirection(readLanguage());
  });
  effect(() => output.classList.toggle("old", readIsOld()));
  effect(() => {
    const shown = readShown();
    words = new Map();
    sentences = [];
    if (!shown) return void setChildren(output);
    tabStop = Math.min(tabStop, shown.segments.length - 1);
    const nodes = shown.gaps.flatMap((gap, i) => (i < shown.segments.length ? [gap, sentenceNode(shown.segments[i], i)] : [gap]));
    setChildren(output, nodes);
  });
  effect(() => {
    for (const span of lit) span.classList.remove("lit");
    lit = [];
    const at = active.value;
    const segment = at && readShown()?.segments[at.sentence];
    if (!at || !segment) return;
    const { target } = linkedWords(segment, at.side, at.word);
    for (const [span, each] of words)
      if (each.sentence === at.sentence && target.has(each.word)) lit.push(/** @type {HTMLElement} */ (span));
    for (const span of lit) span.classList.add("lit");
  });

  /** @param {Segment | null} segment @param {number} index */
  function sentenceNode(segment, index) {
    if (!segment) return h("span", { class: "coming", "aria-hidden": "true" }, "…");
    const scores = segment.words ?? [];
    const ranges = bareWordRanges(segment.text);
    /** @type {(string | Node)[]} */
    const nodes = [];
    let position = 0;
    ranges.forEach(([start, end], word) => {
      const sureness = scores.length === ranges.length ? surenessClass(scores[word].confidence) : "";
      const span = h("span", { class: `word ${sureness}`.trim() }, segment.text.slice(start, end));
      words.set(span, { sentence: index, side: "target", word });
      nodes.push(segment.text.slice(position, start), span);
      position = end;
    });
    nodes.push(segment.text.slice(position));
    const sentence = h(
      "span",
      {
        class: hasRemark(segment) ? "sentence remarked" : "sentence",
        role: "button",
        tabindex: index === tabStop ? 0 : -1,
        "aria-haspopup": "dialog",
        "data-sentence": index,
        onclick: () => getSelection()?.isCollapsed !== false && openAlternatives(index, sentence),
        onfocus: () => moveTabStop(index),
      },
      nodes,
    );
    sentences[index] = sentence;
    return sentence;
  }

  /** @param {number} index */
  function moveTabStop(index) {
    sentences[tabStop]?.setAttribute("tabindex", "-1");
    sentences[index].tabIndex = 0;
    tabStop = index;
  }

  output.addEventListener("pointerover", (event) => {
    const word = words.get(/** @type {Element} */ (event.target));
    if (word) active.value = word;
  });
  output.addEventListener("pointerleave", () => active.peek()?.side === "target" && (active.value = null));
  output.addEventListener("focusout", () => active.peek()?.side === "target" && (active.value = null));
  output.addEventListener("keydown", (event) => {
    const index = Number(/** @type {HTMLElement} */ (event.target).dataset.sentence ?? NaN);
    if (Number.isNaN(index) || event.ctrlKey || event.altKey || event.metaKey) return;
    if (move(event.key, index)) event.preventDefault();
  });

  /** @param {string} key @param {number} index of the sentence with the focus @returns {boolean} whether the key is used */
  function move(key, index) {
    if (key === "Enter" || key === " ") {
      openAlternatives(index, sentences[index]);
    } else if (key === "ArrowDown" || key === "ArrowUp") {
      const others = sentences.filter(Boolean);
      others[others.indexOf(sentences[index]) + (key === "ArrowDown" ? 1 : -1)]?.focus();
    } else if (key === "ArrowRight" || key === "ArrowLeft") {
      moveWord(index, (key === "ArrowRight") === (output.dir !== "rtl") ? 1 : -1);
    } else if (key === "Escape" && active.peek()) {
      active.value = null;
    } else {
      return false;
    }
    return true;
  }

  /** @param {number} index @param {number} by */
  function moveWord(index, by) {
    const segment = readShown()?.segments[index];
    if (!segment) return;
    const before = active.peek();
    const count = bareWordRanges(segment.text).length;
    const start = before?.side === "target" && before.sentence === index ? before.word : by > 0 ? -1 : count;
    const word = Math.max(0, Math.min(count - 1, start + by));
    active.value = { sentence: index, side: "target", word };
    announce(describeWord(segment, "target", word));
  }

  return output;
}

/**
 * Return a word with those that it is aligned to, and how sure the model is of it.
 * @param {Segment} segment @param {"source" | "target"} side @param {number} word
 */
export function describeWord(segment, side, word) {
  const links = linkedWords(segment, side, word);
  const take = (/** @type {string} */ text, /** @type {Set<number>} */ places) => {
    const parts = bareWordRanges(text).filter((_, place) => places.has(place));
    return parts.map(([start, end]) => `“\u2068${text.slice(start, end)}\u2069”`).join(" "); // isolated: each has its direction
  };
  const [source, target] = [take(segment.source, links.source), take(segment.text, links.target)];
  const score = side === "target" ? segment.words?.[word]?.confidence : undefined;
  const sureness = score === undefined ? "" : ` · ${Math.round(100 * score)} % sure`;
  const arrow = source && target ? " → " : "";
  return `${source}${arrow}${target}${sureness}`;
}
