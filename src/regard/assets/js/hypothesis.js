// The hypotheses of a beam as token ids, as text and as a score. Nothing here draws.

/** @typedef {import("regard/types").Trace} Trace */
/** @typedef {import("regard/types").Beam} Beam */
/** @typedef {import("regard/types").Node} BeamNode */

const BYTE = /^<0x([0-9A-F]{2})>$/;
const MARK = /^<(pad|\/?s)>$/;

/**
 * From the first token of a hypothesis to its last.
 * @param {Beam} beam
 * @param {BeamNode} node
 * @returns {BeamNode[]}
 */
export function path(beam, node) {
  const out = [node];
  while (out[0].parent !== null) out.unshift(beam.nodes[out[0].parent]);
  return out;
}

/** @param {Beam} beam @returns {BeamNode | null} the hypothesis that became the translation */
export function winner(beam) {
  const first = beam.finished.find(({ rank }) => rank === 0);
  return first ? beam.nodes[first.node] : null;
}

/**
 * The ids of a hypothesis, without the mark that ends it.
 * @param {Beam} beam
 * @param {BeamNode} node
 */
export function idsOf(beam, node) {
  return path(beam, node).filter(({ text }) => !MARK.test(text)).map(({ token }) => token);
}

/**
 * A piece as it is read: a space where it begins a word.
 * @param {Trace} trace
 * @param {number} id
 */
const piece = (trace, id) => (trace.pieces[id] ?? "").replaceAll("▁", " ");

/** @param {Trace} trace @param {number} id @returns {boolean} whether a space stands before it */
export const begins = (trace, id) => piece(trace, id).startsWith(" ");

/** @param {Trace} trace @param {number} id @returns {boolean} whether it is no text but a sign to the model */
export const isMark = (trace, id) => MARK.test(piece(trace, id));

/**
 * The text that ids spell; bytes become the characters that they spell together.
 * @param {Trace} trace
 * @param {number[]} ids
 */
export function written(trace, ids) {
  const out = /** @type {number[]} */ ([]);
  const encoder = new TextEncoder();
  for (const id of ids) {
    const byte = BYTE.exec(piece(trace, id));
    if (byte) out.push(parseInt(byte[1], 16));
    else if (!isMark(trace, id)) out.push(...encoder.encode(piece(trace, id)));
  }
  return new TextDecoder().decode(Uint8Array.from(out)).trim();
}

/** @param {number} length @param {number} alpha @returns {number} what the sum of a hypothesis is divided by */
export const penalty = (length, alpha) => ((5 + length) / 6) ** alpha;

/**
 * The first layer from which on every layer guesses the token that was taken; 0 where the last one does not.
 * @param {Trace} trace
 * @param {number} t
 */
export function decidedIn(trace, t) {
  const taken = trace.target.tokens[t].id;
  let layer = trace.lens.length;
  while (layer > 0 && trace.lens[layer - 1][t].id === taken) layer--;
  return layer === trace.lens.length ? 0 : layer + 1;
}

/**
 * Whether two translations have written the same tokens before a step: only then is what they do there comparable.
 * @param {Trace} a
 * @param {Trace} b
 * @param {number} t
 */
export const agreeBefore = (a, b, t) => b.target.tokens.slice(0, t).every(({ id }, i) => id === a.target.tokens[i]?.id);

/** @param {number} value @returns {string} with a minus that is as wide as a plus */
export const signed = (value, digits = 3) => `${value < 0 ? "−" : ""}${Math.abs(value).toFixed(digits)}`;

/** @param {number} logprob @returns {string} as a share of 1 */
export const probability = (logprob) => Math.exp(logprob).toFixed(3);

const LONG = 30;
const AROUND = 5;

/**
 * A text to be told from another: of a long one what is different, with some words around it.
 * @param {string} text
 * @param {string} other
 */
export function excerpt(text, other) {
  const [words, others] = [text, other].map((each) => each.split(/\s+/));
  if (words.length <= LONG) return text;
  let same = 0;
  while (same < words.length && words[same] === others[same]) same++;
  let end = 0;
  while (end < Math.min(words.length, others.length) - same && words[words.length - 1 - end] === others[others.length - 1 - end]) end++;
  const [from, to] = [Math.max(0, Math.min(same, words.length - 1) - AROUND), Math.min(words.length, words.length - end + AROUND)];
  return [from ? "…" : "", ...words.slice(from, to), to < words.length ? "…" : ""].filter(Boolean).join(" ");
}

/** @param {string} text @returns {string} of a long one the beginning */
export function beginning(text) {
  const words = text.split(/\s+/);
  return words.length <= LONG ? text : `${words.slice(0, LONG / 2).join(" ")} …`;
}
