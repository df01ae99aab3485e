// Beam search hypotheses: paths, token ids, detokenized text, scores. No drawing.

/** @typedef {import("regard/types").Trace} Trace */
/** @typedef {import("regard/types").Beam} Beam */
/** @typedef {import("regard/types").Node} BeamNode */

const BYTE = /^<0x([0-9A-F]{2})>$/;
const SPECIAL = /^<(pad|\/?s)>$/;

/**
 * Return the nodes from the first token of a hypothesis to its last.
 * @param {Beam} beam
 * @param {BeamNode} node
 * @returns {BeamNode[]}
 */
export function pathTo(beam, node) {
  const out = [node];
  while (out[0].parent !== null) out.unshift(beam.nodes[out[0].parent]);
  return out;
}

/** @param {Beam} beam @returns {BeamNode | null} the best finished hypothesis, which is the translation */
export function bestHypothesis(beam) {
  const first = beam.finished.find(({ rank }) => rank === 0);
  return first ? beam.nodes[first.node] : null;
}

/**
 * Return the token ids of a hypothesis, without the end-of-sequence token.
 * @param {Beam} beam
 * @param {BeamNode} node
 */
export function tokenIds(beam, node) {
  return pathTo(beam, node).filter(({ text }) => !SPECIAL.test(text)).map(({ token }) => token);
}

/**
 * Return a vocabulary entry as text: with a space where it starts a word.
 * @param {Trace} trace
 * @param {number} id
 */
const vocabularyText = (trace, id) => (trace.vocabulary[id] ?? "").replaceAll("▁", " ");

/** @param {Trace} trace @param {number} id @returns {boolean} whether a space stands before it */
export const startsWord = (trace, id) => vocabularyText(trace, id).startsWith(" ");

/** @param {Trace} trace @param {number} id @returns {boolean} whether it is a special token */
export const isSpecial = (trace, id) => SPECIAL.test(vocabularyText(trace, id));

/**
 * Detokenize ids; byte tokens are joined to characters.
 * @param {Trace} trace
 * @param {number[]} ids
 */
export function decodeText(trace, ids) {
  const out = /** @type {number[]} */ ([]);
  const encoder = new TextEncoder();
  for (const id of ids) {
    const byte = BYTE.exec(vocabularyText(trace, id));
    if (byte) out.push(parseInt(byte[1], 16));
    else if (!isSpecial(trace, id)) out.push(...encoder.encode(vocabularyText(trace, id)));
  }
  return new TextDecoder().decode(Uint8Array.from(out)).trim();
}

/** @param {number} length @param {number} alpha @returns {number} the divisor of the summed log-probabilities */
export const lengthPenalty = (length, alpha) => ((5 + length) / 6) ** alpha;

/**
 * Return the first layer from which every layer predicts the chosen token; 0 if the last one does not.
 * @param {Trace} trace
 * @param {number} t
 */
export function decidedLayer(trace, t) {
  const chosen = trace.target.tokens[t].id;
  let layer = trace.logit_lens.length;
  while (layer > 0 && trace.logit_lens[layer - 1][t].id === chosen) layer--;
  return layer === trace.logit_lens.length ? 0 : layer + 1;
}

/**
 * Whether two translations have the same tokens before a step: only then can their numbers at it be compared.
 * @param {Trace} a
 * @param {Trace} b
 * @param {number} t
 */
export const samePrefix = (a, b, t) => b.target.tokens.slice(0, t).every(({ id }, i) => id === a.target.tokens[i]?.id);

/** @param {number} value @returns {string} with the true minus sign */
export const formatSigned = (value, digits = 3) => `${value < 0 ? "−" : ""}${Math.abs(value).toFixed(digits)}`;

/** @param {number} logprob @returns {string} the probability */
export const formatProbability = (logprob) => Math.exp(logprob).toFixed(3);

const MAX_WORDS = 30;
const CONTEXT_WORDS = 5;

/**
 * Return the part of a long text that differs from another, with some words of context.
 * @param {string} text
 * @param {string} other
 */
export function excerpt(text, other) {
  const [words, others] = [text, other].map((each) => each.split(/\s+/));
  if (words.length <= MAX_WORDS) return text;
  let same = 0;
  while (same < words.length && words[same] === others[same]) same++;
  let end = 0;
  while (end < Math.min(words.length, others.length) - same && words[words.length - 1 - end] === others[others.length - 1 - end]) end++;
  const [from, to] = [Math.max(0, Math.min(same, words.length - 1) - CONTEXT_WORDS), Math.min(words.length, words.length - end + CONTEXT_WORDS)];
  return [from ? "…" : "", ...words.slice(from, to), to < words.length ? "…" : ""].filter(Boolean).join(" ");
}

/** @param {string} text @returns {string} the beginning of a long text */
export function truncateWords(text) {
  const words = text.split(/\s+/);
  return words.length <= MAX_WORDS ? text : `${words.slice(0, MAX_WORDS / 2).join(" ")} …`;
}
