// Words and places of sentences in a text, counted as the server counts them; text direction of languages.

/** @typedef {import("regard/translator/api.js").Segment} Segment */

/** White space as Python's str.split() has it, by which the server numbers words. */
const WORD = /[^\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/g;
const EDGES = /^\p{P}+|\p{P}+$/gu;
const RIGHT_TO_LEFT = new Set("ar arc ckb dv fa he iw ks ps sd sdh syr ug ur yi".split(" "));
const names = new Intl.DisplayNames(["en"], { type: "language" });

/** @param {string} text @returns {[number, number][]} start and end of each word */
function wordRanges(text) {
  return Array.from(text.matchAll(WORD), (match) => [match.index, match.index + match[0].length]);
}

/**
 * Return the words without the punctuation around them; a word of punctuation stays.
 * @param {string} text @returns {[number, number][]}
 */
export function bareWordRanges(text) {
  return wordRanges(text).map(([start, end]) => {
    const bare = text.slice(start, end).replace(EDGES, "");
    const from = bare ? text.indexOf(bare, start) : start;
    return [from, bare ? from + bare.length : end];
  });
}

/** @param {string} text @returns {number} characters as the server counts them: code points */
export function countCharacters(text) {
  let count = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0xdc00 && unit < 0xe000) count--;
  }
  return count;
}

/**
 * Return where each sentence starts in a text; null for those that are not there.
 * @param {string} text
 * @param {readonly (string | null)[]} parts in order; null: not known yet
 * @returns {(number | null)[]}
 */
export function locateParts(text, parts) {
  let position = 0;
  return parts.map((part) => {
    const start = part === null ? -1 : text.indexOf(part, position);
    if (start < 0 || part === null) return null;
    position = start + part.length;
    return start;
  });
}

/**
 * Return the text before each sentence, and after the last one.
 * @param {string} text
 * @param {readonly (string | null)[]} parts
 * @returns {string[]} one more than parts
 */
export function textBetween(text, parts) {
  let position = 0;
  const gaps = locateParts(text, parts).map((start, i) => {
    if (start === null) return i ? " " : "";
    const gap = text.slice(position, start);
    position = start + (parts[i] ?? "").length;
    return gap;
  });
  return [...gaps, text.slice(position)];
}

/** @param {string} code @returns {"rtl" | "ltr" | "auto"} */
export function textDirection(code) {
  const [base, ...rest] = code.toLowerCase().split("-");
  if (base === "auto") return "auto";
  return RIGHT_TO_LEFT.has(base) || rest.includes("arab") || rest.includes("hebr") ? "rtl" : "ltr";
}

/** @param {string} code @returns {string} English name of a language */
export function languageName(code) {
  try {
    return names.of(code) ?? code;
  } catch {
    return code;
  }
}

/** @param {string} text @param {number} length @returns {string} the text, shortened with an ellipsis */
export function shorten(text, length) {
  const characters = Array.from(text.slice(0, 4 * length));
  return characters.length > length ? `${characters.slice(0, length - 1).join("").trimEnd()}…` : text;
}
