// A text whose words can be pointed at; one tab stop, arrows go from word to word.

import { fill, h } from "regard/dom.js";
import { places, units } from "regard/units.js";

/** @typedef {import("regard/types").Token} Token */
/** @typedef {import("regard/units.js").Unit} Unit */
/** @typedef {HTMLElement & { show: (text: string, tokens: Token[], lang: string | null) => Unit[], light: (shares: number[] | null) => void }} Words */

const FAINTEST = 0.05;

/** Words of one or two letters reach into the spaces around them, to be wide enough for a finger. */
const SHORT = ["", " one-letter", " two-letters"];

/**
 * @param {{ name: string, point: (unit: number | null) => void, press: (unit: number, element: HTMLElement) => void }} asked
 * @returns {Words}
 */
export function words({ name, point, press }) {
  /** @type {HTMLElement[]} */
  let parts = [];
  const box = h("p", { class: "words", dir: "auto", role: "group", "aria-label": name, onkeydown: key });

  /** @param {string} text @param {Token[]} tokens @param {string | null} lang */
  function show(text, tokens, lang) {
    const found = units(tokens, text);
    parts = found.map((unit, i) => word(unit, i, text, tokens));
    /** @type {(Node | string)[]} */
    const content = [];
    let end = 0;
    found.forEach((unit, i) => {
      content.push(text.slice(end, unit.start), parts[i]);
      end = unit.end;
    });
    fill(box, ...content, text.slice(end));
    if (lang) box.lang = lang;
    return found;
  }

  /** @param {Unit} unit @param {number} i @param {string} text @param {Token[]} tokens */
  function word(unit, i, text, tokens) {
    const element = h(
      "span",
      {
        class: `word${SHORT[[...text.slice(unit.start, unit.end)].length] ?? ""}`, role: "button", tabindex: i ? -1 : 0,
        onpointerenter: () => point(i),
        onpointerleave: () => point(null),
        onfocus: () => point(i),
        onblur: () => point(null),
        onclick: () => press(i, element),
      },
      spans(unit, text, tokens).map(({ part, sure }) =>
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
  function light(shares) {
    const seen = (/** @type {number} */ i) => (shares && shares[i] >= FAINTEST ? shares[i] : 0);
    parts.forEach((part, i) => part.style.setProperty("--lit", String(seen(i))));
  }
  return /** @type {Words} */ (Object.assign(box, { show, light }));
}

/**
 * A word token by token, each with its probability; tokens that share a character are one part, as sure as both together.
 * @param {Unit} unit
 * @param {string} text
 * @param {Token[]} tokens
 */
function spans(unit, text, tokens) {
  const at = places(text);
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
