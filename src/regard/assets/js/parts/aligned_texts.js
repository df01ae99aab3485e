// A text and its translation: pointing at a word of either lights the words of the other that it is aligned to.

import { effect, signal } from "regard/signals.js";
import { gathered } from "regard/trace.js";
import { quoted } from "regard/units.js";
import { words } from "regard/parts/word_text.js";

/** @typedef {import("regard/types").Trace} Trace */
/** @typedef {import("regard/trace.js").Label} Label */
/** @typedef {import("regard/trace.js").Matrix} Matrix */
/** @typedef {import("regard/units.js").Unit} Unit */
/** @typedef {"source" | "target"} Which */
/** @typedef {{ source: Trace["source"], target: Trace["source"], alignment: Matrix, languages: [string | null, string | null] }} Pair */

/**
 * @param {{ told: HTMLElement, press: (side: Which, tokens: number[], element: HTMLElement) => void }} asked
 */
export function aligned({ told, press }) {
  const pointed = signal(/** @type {{ side: Which, unit: number } | null} */ (null));
  /** @type {Record<Which, Label[]>} */
  const labels = { source: [], target: [] };
  /** @type {Matrix} */
  let matrix;
  const side = (/** @type {Which} */ which, /** @type {string} */ name) =>
    words({
      name,
      point: (unit) => (pointed.value = unit === null ? null : { side: which, unit }),
      press: (unit, element) => press(which, labels[which][unit].tokens, element),
    });
  const source = side("source", "source words");
  const target = side("target", "translated words");

  effect(() => {
    const which = pointed.value;
    const own = which && labels[which.side];
    if (!which || !own || which.unit >= own.length) {
      source.light(null);
      target.light(null);
      told.textContent = "";
      return;
    }
    const shares = sharesOf(matrix, which.side, which.unit);
    const alone = own.map((_, i) => Number(i === which.unit));
    source.light(which.side === "source" ? alone : shares);
    target.light(which.side === "target" ? alone : shares);
    told.textContent = said(which.side, own[which.unit], labels[which.side === "source" ? "target" : "source"], shares);
  });

  /** @param {Pair} pair */
  function show(pair) {
    pointed.value = null;
    const label = (/** @type {string} */ text) => (/** @type {Unit} */ unit) => ({
      text: text.slice(unit.start, unit.end), tokens: unit.tokens, special: false,
    });
    labels.source = source.show(pair.source.text, pair.source.tokens, pair.languages[0]).map(label(pair.source.text));
    labels.target = target.show(pair.target.text, pair.target.tokens, pair.languages[1]).map(label(pair.target.text));
    matrix = gathered(pair.alignment, labels.target, labels.source);
  }
  return { source, target, show };
}

/** @param {Matrix} matrix @param {Which} side @param {number} unit @returns {number[]} for each word of the other side */
function sharesOf({ rows, columns, values }, side, unit) {
  if (side === "target") return Array.from(values.subarray(unit * columns, (unit + 1) * columns));
  return Array.from({ length: rows }, (_, row) => values[row * columns + unit]);
}

/** @param {Which} side @param {Label} word @param {Label[]} others @param {number[]} shares */
function said(side, word, others, shares) {
  const most = others.map(({ text }, i) => ({ text, share: shares[i] })).filter(({ share }) => share >= 0.05);
  most.sort((a, b) => b.share - a.share);
  const found = most.slice(0, 4).map(({ text, share }) => `${quoted(text)} ${share.toFixed(2)}`).join(", ") || "no word in particular";
  return `${quoted(word.text)} ${side === "target" ? "was written while looking at" : "was looked at by"} ${found}`;
}
