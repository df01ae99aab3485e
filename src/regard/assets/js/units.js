// A text cut into what is pointed at: words, or single tokens where the script has no spaces.

/** @typedef {import("regard/types").Token} Token */
/** @typedef {{ tokens: number[], start: number, end: number }} Unit */

const NO_SPACES =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

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
