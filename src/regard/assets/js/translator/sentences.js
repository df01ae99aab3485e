// What the page shows of a translation: its sentences, with those that were chosen, and the words they link.

import { textBetween } from "regard/translator/words.js";

/** @typedef {import("regard/translator/api.js").Segment} Segment */
/** @typedef {import("regard/translator/live_translation.js").Result} Result */
/** @typedef {import("regard/translator/live_translation.js").Query} Query */
/** @typedef {{ query: Query | null, segments: Map<number, Segment> }} Choices alternatives that were chosen, by sentence */
/** @typedef {{ sentence: number, side: "source" | "target", word: number }} ActiveWord */
/** @typedef {{ result: Result, segments: (Segment | null)[], gaps: string[], text: string }} Shown */

export const LESS_SURE = 0.6;
export const UNSURE = 0.3;
/** Confidences below which a word is underlined. */

/**
 * @param {Result | null} result
 * @param {Choices} choices
 * @returns {Shown | null}
 */
export function shownTranslation(result, choices) {
  if (!result || (!result.segments.length && result.text === null)) return null;
  const isWhole = result.text !== null;
  // until the whole text is known, sentences are spaced as in the source
  const parts = result.segments.map((each) => (isWhole ? (each?.text ?? null) : (each?.source ?? null)));
  const gaps = textBetween(isWhole ? (result.text ?? "") : result.query.text, parts);
  if (!isWhole) gaps[gaps.length - 1] = "";
  const chosen = choices.query === result.query ? choices.segments : new Map();
  const segments = result.segments.map((each, i) => chosen.get(i) ?? each);
  const text = gaps.map((gap, i) => gap + (segments[i]?.text ?? "")).join("");
  return { result, segments, gaps, text };
}

/**
 * Return the words that belong to a word, itself included.
 * @param {Segment} segment
 * @param {"source" | "target"} side
 * @param {number} word
 * @returns {{ source: Set<number>, target: Set<number> }}
 */
export function linkedWords(segment, side, word) {
  const links = (segment.alignment ?? []).filter(([from, to]) => (side === "source" ? from : to) === word);
  const source = new Set(links.map(([from]) => from));
  const target = new Set(links.map(([, to]) => to));
  (side === "source" ? source : target).add(word);
  return { source, target };
}

/** @param {number} confidence @returns {"" | "less-sure" | "unsure"} */
export function surenessClass(confidence) {
  return confidence < UNSURE ? "unsure" : confidence < LESS_SURE ? "less-sure" : "";
}

/**
 * Return what a reader should know about sentences, equal remarks together.
 * @param {(Segment | null)[]} segments
 * @returns {Map<string, string[]>} source sentences by remark
 */
export function remarksOn(segments) {
  /** @type {Map<string, string[]>} */
  const remarks = new Map();
  const add = (/** @type {string} */ remark, /** @type {Segment} */ segment) => remarks.set(remark, [...(remarks.get(remark) ?? []), segment.source]);
  for (const segment of segments) {
    if (!segment) continue;
    if (segment.status !== "whole") add(statusRemark(segment), segment);
    if (segment.unlike_training) add("Unlike the texts this model learned from, so look at it twice", segment);
    for (const term of segment.misplaced_terms ?? []) add(`The glossary’s ${term.replace(" -> ", " → ")} did not fit in`, segment);
  }
  return remarks;
}

/** @param {Segment} segment @returns {boolean} */
export const hasRemark = (segment) => segment.status !== "whole" || Boolean(segment.unlike_training) || Boolean(segment.misplaced_terms?.length);

/** @param {Segment} segment */
function statusRemark({ status, message }) {
  const known = message || status;
  return known.charAt(0).toUpperCase() + known.slice(1);
}
