// What is new in a sentence, word by word.

/** @typedef {{ word: string, fresh: boolean }} Word */

/**
 * The words of `now`, each with whether it is new since `before`; if there was none, nothing is.
 * @param {string | null} before
 * @param {string} now
 * @returns {Word[]}
 */
export function changes(before, now) {
  const words = now.split(/\s+/).filter(Boolean);
  const old = before === null ? words : before.split(/\s+/).filter(Boolean);
  const kept = common(old, words);
  return words.map((word, i) => ({ word, fresh: !kept.has(i) }));
}

/**
 * Which places of `now` belong to the longest sequence of words that both have.
 * @param {string[]} before
 * @param {string[]} now
 * @returns {Set<number>}
 */
function common(before, now) {
  const wide = now.length + 1;
  const best = new Uint16Array((before.length + 1) * wide);
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      best[i * wide + j] = before[i] === now[j]
        ? best[(i + 1) * wide + j + 1] + 1
        : Math.max(best[(i + 1) * wide + j], best[i * wide + j + 1]);
    }
  }
  /** @type {Set<number>} */
  const kept = new Set();
  for (let i = 0, j = 0; i < before.length && j < now.length; ) {
    if (before[i] === now[j]) kept.add(j), i++, j++;
    else if (best[(i + 1) * wide + j] >= best[i * wide + j + 1]) i++;
    else j++;
  }
  return kept;
}
