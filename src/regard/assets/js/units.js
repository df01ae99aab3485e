// A text cut into what is pointed at: words, or single tokens where the script has no spaces.

/** @typedef {import("regard/types").Token} Token */
/** @typedef {{ tokens: number[], start: number, end: number }} Unit */

/** Letters, marks and digits of scripts without spaces between words: the ranges of text/unicode.py. */
const NO_SPACES =
  /[\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59\u0e81-\u0edf\u1000-\u1049\u1050-\u109f\ua9e0-\ua9fe\uaa60-\uaa7f\u1780-\u17d3\u17d7\u17dc-\u17e9\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\u{20000}-\u{3ffff}]/u;

/**
 * Tokens that spell one character together are never cut; marks stand nowhere in the text and are left out.
 * @param {Token[]} tokens
 * @param {string} text
 * @returns {Unit[]}
 */
export function units(tokens, text) {
  const at = places(text);
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

/** @param {string} text @returns {number[]} where each character begins; Python counts characters, the browser halves */
export function places(text) {
  const out = [0];
  for (const character of text) out.push(out[out.length - 1] + character.length);
  return out;
}

/** @param {string} text @returns {string} that keeps its own direction, whatever stands around it */
export const quoted = (text) => `“\u2068${text}\u2069”`;
