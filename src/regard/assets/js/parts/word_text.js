// Text with selectable words; one tab stop, arrow keys move between words.

import { setChildren, h } from "regard/dom.js";
import { utf16Offsets, wordUnits } from "regard/units.js";

/** @typedef {import("regard/types").Token} Token */
/** @typedef {import("regard/units.js").Unit} Unit */
/** @typedef {HTMLElement & { show: (text: string, tokens: Token[], lang: string | null) => Unit[], highlight: (shares: number[] | null) => void }} WordText */

const MIN_SHARE = 0.05;

/** Short words extend into the spaces around them, to be wide enough for touch. */
const TOUCH_CLASSES = ["", " one-letter", " two-letters"];

/**
 * @param {{ name: string, point: (unit: number | null) => void, press: (unit: number, element: HTMLElement) => void }} options
 * @returns {WordText}
 */
export function wordText({ name, point, press }) {
  /** @type {HTMLElement[]} */
  let parts = [];
  const box = h("p", { class: "words", dir: "auto", role: "group", "aria-label": name, onkeydown: key });

  /** @param {string} text @param {Token[]} tokens @param {string | null} lang */
  function show(text, tokens, lang) {
    const units = wordUnits(tokens, text);
    parts = units.map((unit, i) => word(unit, i, text, tokens));
    /** @type {(Node | string)[]} */
    const content = [];
    let end = 0;
    units.forEach((unit, i) => {
      content.push(text.slice(end, unit.start), parts[i]);
      end = unit.end;
    });
    setChildren(box, ...content, text.slice(end));
    if (lang) box.lang = lang;
    return units;
  }

  /** @param {Unit} unit @param {number} i @param {string} text @param {Token[]} tokens */
  function word(unit, i, text, tokens) {
    const element = h(
      "span",
      {
        class: `word${TOUCH_CLASSES[[...text.slice(unit.start, unit.end)].length] ?? ""}`, role: "button", tabindex: i ? -1 : 0,
        onpointerenter: () => point(i),
        onpointerleave: () => point(null),
        onfocus: () => point(i),
        onblur: () => point(null),
        onclick: () => press(i, element),
      },
      tokenSpans(unit, text, tokens).map(({ part, sure }) =>
        h("span", sure === null ? {} : { class: "sure", style: { "--sure": sure }, title: `probability ${sure.toFixed(3)}` }, part),
      ),
    );
    return element;
  }

  /** @param {KeyboardEvent} event */
  function key(event) {
    const here = parts.indexOf(/** @type {HTMLElement} */ (event.target));
    if (here < 0) return;
    const on = getComputedStyle(box).direction === "rtl" ? -1 : 1;
    const by = { ArrowRight: on, ArrowLeft: -on }[event.key];
    if (by) go(here, Math.max(0, Math.min(parts.length - 1, here + by)));
    else if (event.key === "Home") go(here, 0);
    else if (event.key === "End") go(here, parts.length - 1);
    else if (event.key === "Enter" || event.key === " ") press(here, parts[here]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {number} from @param {number} to */
  function go(from, to) {
    parts[from].tabIndex = -1;
    parts[to].tabIndex = 0;
    parts[to].focus();
  }

  /** @param {number[] | null} shares */
  function highlight(shares) {
    const seen = (/** @type {number} */ i) => (shares && shares[i] >= MIN_SHARE ? shares[i] : 0);
    parts.forEach((part, i) => part.style.setProperty("--lit", String(seen(i))));
  }
  return /** @type {WordText} */ (Object.assign(box, { show, highlight }));
}

/**
 * Split a word into tokens with probabilities; tokens that share a character are one part with their joint probability.
 * @param {Unit} unit
 * @param {string} text
 * @param {Token[]} tokens
 */
function tokenSpans(unit, text, tokens) {
  const at = utf16Offsets(text);
  /** @type {{ start: number, end: number, logprob: number | null }[]} */
  const out = [];
  for (const i of unit.tokens) {
    const token = tokens[i];
    const [start, end] = [at[token.start ?? 0], at[token.end ?? 0]];
    const last = out.at(-1);
    if (last && start < last.end) {
      last.end = Math.max(last.end, end);
      if (last.logprob !== null) last.logprob += token.logprob ?? 0;
    } else out.push({ start, end, logprob: token.logprob ?? null });
  }
  return out.map(({ start, end, logprob }) => ({
    part: text.slice(start, end),
    sure: logprob === null ? null : Math.exp(logprob),
  }));
}
