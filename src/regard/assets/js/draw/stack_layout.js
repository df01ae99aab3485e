// Layout of an encoder or decoder stack, as in figure 1 of the paper.

/** @typedef {import("regard/types").Block} Block */
/** @typedef {import("regard/types").Model} Model */
/** @typedef {"block" | "add" | "norm" | "add, then norm"} Part */
/** @typedef {{ part: Part, block: Block, y: number, height: number }} Item */
/** @typedef {{ layer: number, y: number, height: number }} Frame */
/** @typedef {{ items: Item[], frames: Frame[], residuals: { from: number, to: number }[], top: number }} StackColumn */

export const BLOCK_HEIGHT = 38;
const NORM_HEIGHT = 16;
const GAP = 6;
const LAYER_GAP = 12;

/** The parts of a sublayer from below, by the position of the norm. @type {Record<Model["norm"], Part[]>} */
const SUBLAYER_PARTS = { post: ["block", "add, then norm"], pre: ["norm", "block", "add"], literal: ["block", "norm", "add"] };

/**
 * Lay out one stack; y grows upwards from 0.
 * @param {Block[]} blocks of the stack, from input to output
 * @param {Model["norm"]} norm
 * @returns {StackColumn}
 */
export function layoutStack(blocks, norm) {
  /** @type {StackColumn} */
  const layout = { items: [], frames: [], residuals: [], top: 0 };
  let y = 0;
  const addPart = (/** @type {Part} */ part, /** @type {Block} */ block) => {
    const height = part === "block" ? BLOCK_HEIGHT : NORM_HEIGHT;
    layout.items.push({ part, block, y, height });
    y += height + GAP;
  };
  blocks.forEach((block, i) => {
    if (block.layer === null) {
      addPart(block.kind === "norm" ? "norm" : "block", block);
      y += LAYER_GAP;
      return;
    }
    const first = blocks[i - 1]?.layer !== block.layer;
    const last = blocks[i + 1]?.layer !== block.layer;
    if (first) y += 4;
    const from = y - GAP / 2;
    if (first) layout.frames.push({ layer: block.layer, y: y - 8, height: 0 });
    for (const part of SUBLAYER_PARTS[norm]) addPart(part, block);
    const sum = layout.items[layout.items.length - 1];
    layout.residuals.push({ from, to: sum.y + sum.height / 2 });
    y += last ? LAYER_GAP : 4;
    if (last) {
      const frame = layout.frames[layout.frames.length - 1];
      frame.height = y - LAYER_GAP + 4 - frame.y;
      y += 10;
    }
  });
  layout.top = y;
  return layout;
}
