// Where everything of the stack stands: the paper's first figure, as this model has it.

/** @typedef {import("regard/types").Block} Block */
/** @typedef {import("regard/types").Model} Model */
/** @typedef {"block" | "add" | "norm" | "add, then norm"} Part */
/** @typedef {{ part: Part, block: Block, y: number, height: number }} Item */
/** @typedef {{ layer: number, y: number, height: number }} Frame */
/** @typedef {{ items: Item[], frames: Frame[], skips: { from: number, to: number }[], top: number }} Column */

export const BLOCK = 38;
const THIN = 16;
const GAP = 6;
const BETWEEN = 12;

/** The order of a sublayer's parts, from below, and where what came in is added. @type {Record<Model["norm"], Part[]>} */
const ORDER = { post: ["block", "add, then norm"], pre: ["norm", "block", "add"], literal: ["block", "norm", "add"] };

/**
 * One stack from below: y counts upwards from 0.
 * @param {Block[]} blocks of the stack, in the order in which a word passes them
 * @param {Model["norm"]} norm
 * @returns {Column}
 */
export function column(blocks, norm) {
  /** @type {Column} */
  const found = { items: [], frames: [], skips: [], top: 0 };
  let y = 0;
  const put = (/** @type {Part} */ part, /** @type {Block} */ block) => {
    const height = part === "block" ? BLOCK : THIN;
    found.items.push({ part, block, y, height });
    y += height + GAP;
  };
  blocks.forEach((block, i) => {
    if (block.layer === null) {
      put(block.which === "norm" ? "norm" : "block", block);
      y += BETWEEN;
      return;
    }
    const first = blocks[i - 1]?.layer !== block.layer;
    const last = blocks[i + 1]?.layer !== block.layer;
    if (first) y += 4;
    const from = y - GAP / 2;
    if (first) found.frames.push({ layer: block.layer, y: y - 8, height: 0 });
    for (const part of ORDER[norm]) put(part, block);
    const sum = found.items[found.items.length - 1];
    found.skips.push({ from, to: sum.y + sum.height / 2 });
    y += last ? BETWEEN : 4;
    if (last) {
      const frame = found.frames[found.frames.length - 1];
      frame.height = y - BETWEEN + 4 - frame.y;
      y += 10;
    }
  });
  found.top = y;
  return found;
}
