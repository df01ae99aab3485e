// Beam search as a tree: a column per step, hypotheses by rank, an edge from each to its parent.

import { clipText } from "regard/draw/matrix_image.js";
import { pathTo, formatSigned, bestHypothesis } from "regard/hypothesis.js";

/** @typedef {import("regard/draw/svg_element.js").VectorSurface} VectorSurface */
/** @typedef {import("regard/theme.js").Theme} Theme */
/** @typedef {import("regard/types").Beam} Beam */
/** @typedef {import("regard/types").Node} BeamNode */
/** @typedef {{ node: BeamNode, x: number, y: number }} NodePosition */
/**
 * @typedef {object} BeamLayout
 * @property {Beam} beam
 * @property {Map<number, NodePosition>} positions by node
 * @property {NodePosition[][]} columns
 * @property {{ text: string, x: number, y: number }[]} greedy from where it leaves the best hypothesis
 * @property {number} width
 * @property {number} height
 */

export const [COLUMN, ROW] = [154, 30];
const [LEFT, TOP, LETTERS] = [22, 34, 14];

/**
 * Compute the position of every hypothesis.
 * @param {Beam} beam
 * @param {boolean} pruned whether pruned hypotheses are drawn
 * @param {string[]} greedy tokens of greedy search
 * @returns {BeamLayout}
 */
export function layoutBeam(beam, pruned, greedy) {
  const steps = Math.max(...beam.nodes.map(({ t }) => t), 0) + 1;
  const leaves = beam.greedy.diverges_at;
  const greedyLane = leaves === null ? 0 : ROW + 6;
  /** @type {NodePosition[][]} */
  const columns = Array.from({ length: steps }, () => []);
  for (const node of [...beam.nodes].sort((a, b) => a.rank - b.rank)) {
    if (node.state === "pruned" && !pruned) continue;
    const column = columns[node.t];
    column.push({ node, x: LEFT + COLUMN * node.t, y: TOP + greedyLane + ROW * (column.length + 0.5) });
  }
  const spots = new Map(columns.flat().map((spot) => [spot.node.id, spot]));
  const aside = leaves === null ? [] : greedy.slice(leaves).map((text, i) => ({ text, x: LEFT + COLUMN * (leaves + i), y: TOP + ROW / 2 }));
  const tallest = Math.max(...columns.map((column) => column.length), 1);
  const columnCount = Math.max(steps, (leaves ?? 0) + aside.length);
  return { beam, positions: spots, columns, greedy: aside, width: LEFT + COLUMN * columnCount + 10, height: TOP + greedyLane + ROW * tallest + 6 };
}

/**
 * Draw the background, which changes with each step: the current step and the focused hypothesis.
 * @param {VectorSurface} surface
 * @param {BeamLayout} layout
 * @param {{ step: number, chosen: number | null }} selection
 * @param {Theme} theme
 */
export function drawSelection(surface, layout, selection, theme) {
  surface.rect(LEFT + COLUMN * selection.step - 14, 2, COLUMN - 22, layout.height - 4, { fill: theme.line, opacity: 0.28, round: 6 });
  const spot = selection.chosen === null ? undefined : layout.positions.get(selection.chosen);
  if (spot) surface.rect(spot.x - 12, spot.y - 13, COLUMN - 26, 26, { stroke: theme.accent, fill: theme.paper, width: 2, round: 5 });
}

/**
 * @param {VectorSurface} surface
 * @param {BeamLayout} layout
 * @param {Theme} theme
 */
export function drawBeam(surface, layout, theme) {
  const best = bestHypothesis(layout.beam);
  const winnerIds = new Set(best ? pathTo(layout.beam, best).map(({ id }) => id) : []);
  layout.columns.forEach((_, t) => surface.text(LEFT + COLUMN * t - 6, 14, `step ${t + 1}`, { size: 11, fill: theme.faint }));
  for (const spot of [...layout.positions.values()].sort((a, b) => Number(winnerIds.has(a.node.id)) - Number(winnerIds.has(b.node.id)))) drawEdge(surface, layout, spot, winnerIds.has(spot.node.id), theme);
  for (const spot of layout.positions.values()) drawNode(surface, spot, winnerIds.has(spot.node.id), theme);
  drawGreedyPath(surface, layout, winnerIds, theme);
}

/**
 * @param {VectorSurface} surface
 * @param {BeamLayout} drawn
 * @param {NodePosition} spot
 * @param {boolean} won
 * @param {Theme} theme
 */
function drawEdge(surface, { positions }, { node, x, y }, won, theme) {
  const from = node.parent === null ? null : positions.get(node.parent);
  if (!from) return;
  const dash = node.state === "pruned" ? [3, 3] : undefined;
  surface.curve([from.x + COLUMN - 40, from.y], [x - 8, y], { stroke: won ? theme.accent : theme.faint, width: edgeWidth(node.logprob), opacity: won ? 1 : 0.55, dash });
}

/** @param {number} logprob @returns {number} thicker for higher probability */
export const edgeWidth = (logprob) => 0.75 + 5 * Math.exp(logprob);

/**
 * @param {VectorSurface} surface
 * @param {NodePosition} spot
 * @param {boolean} won
 * @param {Theme} theme
 */
function drawNode(surface, { node, x, y }, won, theme) {
  const tone = won ? theme.accent : theme.ink;
  drawMark(surface, node.state, x, y, tone);
  const sum = formatSigned(node.sum, 2);
  surface.text(x + 9, y, clipText(node.text, LETTERS - sum.length), { mono: true, bold: won, fill: tone });
  surface.text(x + COLUMN - 44, y, sum, { size: 11, anchor: "end", fill: won ? tone : theme.faint });
}

/**
 * @param {VectorSurface} surface
 * @param {BeamNode["state"]} state
 * @param {number} x
 * @param {number} y
 * @param {string} tone
 */
function drawMark(surface, state, x, y, tone) {
  if (state === "finished") surface.rect(x - 4, y - 4, 8, 8, { fill: tone });
  else surface.dot(x, y, 4, state === "kept" ? { fill: tone } : { stroke: tone, width: 1.2 });
}

/**
 * Draw greedy search above the beam, from where it leaves the best hypothesis.
 * @param {VectorSurface} surface
 * @param {BeamLayout} drawn
 * @param {Set<number>} lit
 * @param {Theme} theme
 */
function drawGreedyPath(surface, { beam, positions, greedy }, lit, theme) {
  if (!greedy.length) return;
  const last = [...lit].map((id) => positions.get(id)).find((spot) => spot?.node.t === (beam.greedy.diverges_at ?? 0) - 1);
  const paint = { stroke: theme.decoder, width: 2, dash: [6, 3] };
  if (last) surface.curve([last.x + COLUMN - 40, last.y], [greedy[0].x - 8, greedy[0].y], paint);
  greedy.forEach(({ text, x, y }, i) => {
    if (i) surface.line([[greedy[i - 1].x + COLUMN - 40, y], [x - 8, y]], paint);
    surface.rect(x - 4, y - 4, 8, 8, { stroke: theme.decoder, width: 2 });
    surface.text(x + 9, y, clipText(i ? text : `greedy: ${text}`, 14), { mono: true, fill: theme.decoder });
  });
}

/** @param {BeamLayout} drawn @param {number} x @param {number} y @returns {BeamNode | null} the hypothesis at a point */
export function nodeAt({ columns }, x, y) {
  const column = columns[Math.floor((x - LEFT + 14) / COLUMN)] ?? [];
  return column.find((spot) => Math.abs(spot.y - y) <= ROW / 2)?.node ?? null;
}
