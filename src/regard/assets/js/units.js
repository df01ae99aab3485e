// Text split into selectable units: words, or tokens in scripts without spaces.

/** @typedef {import("regard/types").Token} Token */
/** @typedef {{ tokens: number[], start: number, end: number }} Unit */

/** Letters, marks and digits of scripts without spaces between words: the same ranges as in text/unicode.py. */
const NO_SPACES =
  /[\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59\u0e81-\u0edf\u1000-\u1049\u1050-\u109f\ua9e0-\ua9fe\uaa60-\uaa7f\u1780-\u17d3\u17d7\u17dc-\u17e9\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\u{20000}-\u{3ffff}]/u;

/**
 * Group tokens into units. Tokens that share a character stay together; special tokens are not part of the text.
 * @param {Token[]} tokens
 * @param {string} text
 * @returns {Unit[]}
 */
export function wordUnits(tokens, text) {
  const at = utf16Offsets(text);
  /** @type {Unit[]} */
  const out = [];
  /** @type {number | null} */
  let word = null;
  tokens.forEach((token, i) => {
    if (token.special || token.start === null || token.end === null || token.word === null) return;
    const [start, end] = [at[token.start], at[token.end]];
    const last = out.at(-1);
    const shares = last && start < last.end;
    const joins = last && token.word === word && !NO_SPACES.test(text.slice(last.start, end));
    if (last && (shares || joins)) {
      last.tokens.push(i);
      last.end = Math.max(last.end, end);
    } else out.push({ tokens: [i], start, end });
    word = token.word;
  });
  return out;
}

/** @param {string} text @returns {number[]} UTF-16 offset of each character: Python counts code points, JavaScript UTF-16 units */
export function utf16Offsets(text) {
  const out = [0];
  for (const character of text) out.push(out[out.length - 1] + character.length);
  return out;
}

/** @param {string} text @returns {string} in quotation marks, with its own text direction */
export const quote = (text) => `“\u2068${text}\u2069”`;
