// Word-level diff of two sentences.

/** @typedef {{ word: string, isNew: boolean }} Word */

/**
 * Return the words of `now`, each with whether it is new since `before`; null means none is new.
 * @param {string | null} before
 * @param {string} now
 * @returns {Word[]}
 */
export function diffWords(before, now) {
  const words = now.split(/\s+/).filter(Boolean);
  const old = before === null ? words : before.split(/\s+/).filter(Boolean);
  const unchanged = commonWords(old, words);
  return words.map((word, i) => ({ word, isNew: !unchanged.has(i) }));
}

/**
 * Return the indices in `now` of the longest common subsequence of words.
 * @param {string[]} before
 * @param {string[]} now
 * @returns {Set<number>}
 */
function commonWords(before, now) {
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
  const indices = new Set();
  for (let i = 0, j = 0; i < before.length && j < now.length; ) {
    if (before[i] === now[j]) indices.add(j), i++, j++;
    else if (best[(i + 1) * wide + j] >= best[i * wide + j + 1]) i++;
    else j++;
  }
  return indices;
}
