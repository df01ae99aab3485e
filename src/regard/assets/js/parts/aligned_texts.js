// Source and target text: hovering a word highlights the words aligned to it.

import { effect, signal } from "regard/signals.js";
import { groupTokens } from "regard/trace.js";
import { quote } from "regard/units.js";
import { wordText } from "regard/parts/word_text.js";

/** @typedef {import("regard/types").Trace} Trace */
/** @typedef {import("regard/trace.js").Label} Label */
/** @typedef {import("regard/trace.js").Matrix} Matrix */
/** @typedef {import("regard/units.js").Unit} Unit */
/** @typedef {"source" | "target"} Side */
/** @typedef {{ source: Trace["source"], target: Trace["source"], alignment: Matrix, languages: [string | null, string | null] }} AlignedPair */

/**
 * @param {{ status: HTMLElement, press: (side: Side, tokens: number[], element: HTMLElement) => void }} options
 */
export function alignedTexts({ status, press }) {
  const hovered = signal(/** @type {{ side: Side, unit: number } | null} */ (null));
  /** @type {Record<Side, Label[]>} */
  const labels = { source: [], target: [] };
  /** @type {Matrix} */
  let matrix;
  const side = (/** @type {Side} */ which, /** @type {string} */ name) =>
    wordText({
      name,
      point: (unit) => (hovered.value = unit === null ? null : { side: which, unit }),
      press: (unit, element) => press(which, labels[which][unit].tokens, element),
    });
  const source = side("source", "source words");
  const target = side("target", "translated words");

  effect(() => {
    const which = hovered.value;
    const own = which && labels[which.side];
    if (!which || !own || which.unit >= own.length) {
      source.highlight(null);
      target.highlight(null);
      status.textContent = "";
      return;
    }
    const shares = alignmentShares(matrix, which.side, which.unit);
    const alone = own.map((_, i) => Number(i === which.unit));
    source.highlight(which.side === "source" ? alone : shares);
    target.highlight(which.side === "target" ? alone : shares);
    status.textContent = describeAlignment(which.side, own[which.unit], labels[which.side === "source" ? "target" : "source"], shares);
  });

  /** @param {AlignedPair} pair */
  function show(pair) {
    hovered.value = null;
    const label = (/** @type {string} */ text) => (/** @type {Unit} */ unit) => ({
      text: text.slice(unit.start, unit.end), tokens: unit.tokens, special: false,
    });
    labels.source = source.show(pair.source.text, pair.source.tokens, pair.languages[0]).map(label(pair.source.text));
    labels.target = target.show(pair.target.text, pair.target.tokens, pair.languages[1]).map(label(pair.target.text));
    matrix = groupTokens(pair.alignment, labels.target, labels.source);
  }
  return { source, target, show };
}

/** @param {Matrix} matrix @param {Side} side @param {number} unit @returns {number[]} the share of each word of the other side */
function alignmentShares({ rows, columns, values }, side, unit) {
  if (side === "target") return Array.from(values.subarray(unit * columns, (unit + 1) * columns));
  return Array.from({ length: rows }, (_, row) => values[row * columns + unit]);
}

/** @param {Side} side @param {Label} word @param {Label[]} others @param {number[]} shares */
function describeAlignment(side, word, others, shares) {
  const most = others.map(({ text }, i) => ({ text, share: shares[i] })).filter(({ share }) => share >= 0.05);
  most.sort((a, b) => b.share - a.share);
  const list = most.slice(0, 4).map(({ text, share }) => `${quote(text)} ${share.toFixed(2)}`).join(", ") || "no word in particular";
  return `${quote(word.text)} ${side === "target" ? "is aligned to" : "is aligned to"} ${list}`;
}
