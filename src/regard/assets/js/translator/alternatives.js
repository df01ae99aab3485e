// Other translations of a sentence, in a dialog below it.

import { h, setChildren } from "regard/dom.js";
import { ServerError, translate } from "regard/translator/api.js";
import { textDirection } from "regard/translator/words.js";

/** @typedef {import("regard/translator/api.js").Segment} Segment */
/** @typedef {import("regard/translator/sentences.js").Shown} Shown */

const COUNT = 4;
const GAP = 6;

/**
 * @param {() => Shown | null} readShown
 * @param {(shown: Shown, sentence: number, segment: Segment) => void} choose shows this one
 */
export function alternativesDialog(readShown, choose) {
  const box = h("div", { class: "alternatives", role: "dialog", "aria-label": "Other translations", tabindex: -1, hidden: true });
  let pending = new AbortController();
  /** @type {HTMLElement | null} */
  let opener = null;
  let sentence = -1;

  /** @param {number} index @param {HTMLElement} element of the sentence */
  async function open(index, element) {
    const shown = readShown();
    const segment = shown?.segments[index];
    if (!shown || !segment) return;
    const wasOpen = !box.hidden && sentence === index;
    close(false);
    if (wasOpen) return;
    opener = element;
    sentence = index;
    element.classList.add("open");
    place(element);
    box.hidden = false;
    setChildren(box, h("p", { class: "faint" }, "Looking for other translations …"));
    box.focus({ preventScroll: true });
    const controller = (pending = new AbortController());
    try {
      const { query, source } = shown.result;
      const glossary = query.isDirect ? { glossary: query.glossary } : {};
      const body = { text: segment.source, source, target: query.target, alternatives: COUNT, ...glossary };
      const answer = await translate(body, controller.signal);
      if (controller === pending) show(shown, index, segment, [answer.text, ...(answer.alternatives ?? [])]);
    } catch (problem) {
      if (controller === pending && problem instanceof ServerError) setChildren(box, h("p", {}, messageOf(problem)));
    }
  }

  /** @param {Shown} shown @param {number} index @param {Segment} segment @param {string[]} texts */
  function show(shown, index, segment, texts) {
    const others = [...new Set(texts)].filter((text) => text && text !== segment.text);
    if (!others.length) return setChildren(box, h("p", { class: "faint" }, "The model has no other translation."));
    const { target } = shown.result.query;
    const buttons = others.map((text) =>
      h("button", { type: "button", lang: target, dir: textDirection(target), onclick: () => take(shown, index, segment, text) }, markDifference(text, segment.text)),
    );
    setChildren(box, h("p", { class: "faint", id: "alternatives-heading" }, "Other translations"), buttons);
    buttons[0].focus({ preventScroll: true });
    box.scrollIntoView({ block: "nearest" });
  }

  /** @param {Shown} shown @param {number} index @param {Segment} segment @param {string} text */
  async function take(shown, index, segment, text) {
    close(true);
    const plain = { ...segment, text, words: undefined, alignment: undefined };
    choose(shown, index, plain);
    const { query, source } = shown.result;
    if (!query.isDirect) return;
    // decoded again with all of it given, for its words
    const body = { text: segment.source, source, target: query.target, prefix: text, alignments: true, confidences: true };
    const answer = await translate(body).catch(() => null);
    const found = answer?.text === text ? answer.segments?.[0] : undefined;
    if (found) choose(shown, index, { ...plain, words: found.words, alignment: found.alignment });
  }

  /** @param {boolean} returnsFocus */
  function close(returnsFocus) {
    pending.abort();
    pending = new AbortController();
    if (box.hidden) return;
    box.hidden = true;
    opener?.classList.remove("open");
    const here = document.querySelector(`.sentence[data-sentence="${sentence}"]`);
    if (returnsFocus) /** @type {HTMLElement | null} */ (here)?.focus({ preventScroll: true });
    opener = null;
  }

  /** @param {HTMLElement} element */
  function place(element) {
    const around = /** @type {HTMLElement} */ (box.parentElement).getBoundingClientRect();
    const { bottom } = element.getBoundingClientRect();
    box.style.setProperty("top", `${bottom - around.top + GAP}px`);
  }

  box.addEventListener("keydown", (event) => {
    const buttons = [...box.querySelectorAll("button")];
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") {
      event.stopPropagation();
      close(true);
    } else if (by && buttons.length) {
      event.preventDefault();
      const at = buttons.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
      buttons[(at + by + buttons.length) % buttons.length].focus();
    }
  });
  box.addEventListener("focusout", (event) => {
    const next = /** @type {Node | null} */ (event.relatedTarget);
    if (next && !box.contains(next)) close(false);
  });
  addEventListener("pointerdown", (event) => {
    const target = /** @type {Node} */ (event.target);
    if (!box.hidden && !box.contains(target) && !opener?.contains(target)) close(false);
  });

  return { box, open, close };
}

/** @param {ServerError} problem */
function messageOf(problem) {
  if (problem.code === "offline") return "The server cannot be reached.";
  if (problem.code === "overloaded" || problem.code === "rate_exceeded") return "The server is busy. Try again in a moment.";
  return problem.message;
}

/**
 * Return a text whose part that differs from another is bold.
 * @param {string} text @param {string} other
 */
function markDifference(text, other) {
  const [words, others] = [text.split(" "), other.split(" ")];
  let [start, end] = [0, 0];
  while (start < words.length && words[start] === others[start]) start++;
  while (end < words.length - start && end < others.length - start && words.at(-1 - end) === others.at(-1 - end)) end++;
  const middle = words.slice(start, words.length - end).join(" ");
  const before = words.slice(0, start).join(" ");
  const after = words.slice(words.length - end).join(" ");
  return [before, before && middle ? " " : "", middle ? h("b", {}, middle) : "", after && (middle || before) ? " " : "", after];
}
