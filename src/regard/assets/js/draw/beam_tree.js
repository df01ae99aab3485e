// The beam as layers: a column for each step, in it its hypotheses by rank, and a line to each from the one it continues.

import { clip } from "regard/draw/matrix_image.js";
import { path, signed, winner } from "regard/hypothesis.js";

/** @typedef {import("regard/draw/svg_element.js").Pen} Pen */
/** @typedef {import("regard/theme.js").Theme} Theme */
/** @typedef {import("regard/types").Beam} Beam */
/** @typedef {import("regard/types").Node} BeamNode */
/** @typedef {{ node: BeamNode, x: number, y: number }} Spot */
/**
 * @typedef {object} Layers
 * @property {Beam} beam
 * @property {Map<number, Spot>} spots by node
 * @property {Spot[][]} columns
 * @property {{ text: string, x: number, y: number }[]} greedy where it differs from the winner
 * @property {number} width
 * @property {number} height
 */

export const [COLUMN, ROW] = [154, 30];
const [LEFT, TOP, LETTERS] = [22, 34, 14];

/**
 * Where every hypothesis goes.
 * @param {Beam} beam
 * @param {boolean} pruned whether those that were given up are shown
 * @param {string[]} greedy what greedy search wrote, token by token
 * @returns {Layers}
 */
export function layers(beam, pruned, greedy) {
  const steps = Math.max(...beam.nodes.map(({ t }) => t), 0) + 1;
  const leaves = beam.greedy.leaves_at;
  const lane = leaves === null ? 0 : ROW + 6;
  /** @type {Spot[][]} */
  const columns = Array.from({ length: steps }, () => []);
  for (const node of [...beam.nodes].sort((a, b) => a.rank - b.rank)) {
    if (node.state === "pruned" && !pruned) continue;
    const column = columns[node.t];
    column.push({ node, x: LEFT + COLUMN * node.t, y: TOP + lane + ROW * (column.length + 0.5) });
  }
  const spots = new Map(columns.flat().map((spot) => [spot.node.id, spot]));
  const aside = leaves === null ? [] : greedy.slice(leaves).map((text, i) => ({ text, x: LEFT + COLUMN * (leaves + i), y: TOP + ROW / 2 }));
  const most = Math.max(...columns.map((column) => column.length), 1);
  const wide = Math.max(steps, (leaves ?? 0) + aside.length);
  return { beam, spots, columns, greedy: aside, width: LEFT + COLUMN * wide + 10, height: TOP + lane + ROW * most + 6 };
}

/**
 * What lies behind and changes at every turn: the step that is looked at, and the hypothesis.
 * @param {Pen} surface
 * @param {Layers} drawn
 * @param {{ step: number, chosen: number | null }} at
 * @param {Theme} theme
 */
export function paintPlace(surface, drawn, at, theme) {
  surface.rect(LEFT + COLUMN * at.step - 14, 2, COLUMN - 22, drawn.height - 4, { fill: theme.line, opacity: 0.28, round: 6 });
  const spot = at.chosen === null ? undefined : drawn.spots.get(at.chosen);
  if (spot) surface.rect(spot.x - 12, spot.y - 13, COLUMN - 26, 26, { stroke: theme.accent, fill: theme.paper, width: 2, round: 5 });
}

/**
 * @param {Pen} surface
 * @param {Layers} drawn
 * @param {Theme} theme
 */
export function paintBeam(surface, drawn, theme) {
  const best = winner(drawn.beam);
  const lit = new Set(best ? path(drawn.beam, best).map(({ id }) => id) : []);
  drawn.columns.forEach((_, t) => surface.text(LEFT + COLUMN * t - 6, 14, `step ${t + 1}`, { size: 11, fill: theme.faint }));
  for (const spot of [...drawn.spots.values()].sort((a, b) => Number(lit.has(a.node.id)) - Number(lit.has(b.node.id)))) edge(surface, drawn, spot, lit.has(spot.node.id), theme);
  for (const spot of drawn.spots.values()) hypothesis(surface, spot, lit.has(spot.node.id), theme);
  aside(surface, drawn, lit, theme);
}

/**
 * @param {Pen} surface
 * @param {Layers} drawn
 * @param {Spot} spot
 * @param {boolean} won
 * @param {Theme} theme
 */
function edge(surface, { spots }, { node, x, y }, won, theme) {
  const from = node.parent === null ? null : spots.get(node.parent);
  if (!from) return;
  const dash = node.state === "pruned" ? [3, 3] : undefined;
  surface.curve([from.x + COLUMN - 40, from.y], [x - 8, y], { stroke: won ? theme.accent : theme.faint, width: thickness(node.logprob), opacity: won ? 1 : 0.55, dash });
}

/** @param {number} logprob @returns {number} the surer the thicker */
export const thickness = (logprob) => 0.75 + 5 * Math.exp(logprob);

/**
 * @param {Pen} surface
 * @param {Spot} spot
 * @param {boolean} won
 * @param {Theme} theme
 */
function hypothesis(surface, { node, x, y }, won, theme) {
  const tone = won ? theme.accent : theme.ink;
  mark(surface, node.state, x, y, tone);
  const sum = signed(node.sum, 2);
  surface.text(x + 9, y, clip(node.text, LETTERS - sum.length), { mono: true, bold: won, fill: tone });
  surface.text(x + COLUMN - 44, y, sum, { size: 11, anchor: "end", fill: won ? tone : theme.faint });
}

/**
 * @param {Pen} surface
 * @param {BeamNode["state"]} state
 * @param {number} x
 * @param {number} y
 * @param {string} tone
 */
function mark(surface, state, x, y, tone) {
  if (state === "finished") surface.rect(x - 4, y - 4, 8, 8, { fill: tone });
  else surface.dot(x, y, 4, state === "kept" ? { fill: tone } : { stroke: tone, width: 1.2 });
}

/**
 * Greedy search from where it leaves the winner, above all others.
 * @param {Pen} surface
 * @param {Layers} drawn
 * @param {Set<number>} lit
 * @param {Theme} theme
 */
function aside(surface, { beam, spots, greedy }, lit, theme) {
  if (!greedy.length) return;
  const last = [...lit].map((id) => spots.get(id)).find((spot) => spot?.node.t === (beam.greedy.leaves_at ?? 0) - 1);
  const paint = { stroke: theme.decoder, width: 2, dash: [6, 3] };
  if (last) surface.curve([last.x + COLUMN - 40, last.y], [greedy[0].x - 8, greedy[0].y], paint);
  greedy.forEach(({ text, x, y }, i) => {
    if (i) surface.line([[greedy[i - 1].x + COLUMN - 40, y], [x - 8, y]], paint);
    surface.rect(x - 4, y - 4, 8, 8, { stroke: theme.decoder, width: 2 });
    surface.text(x + 9, y, clip(i ? text : `greedy: ${text}`, 14), { mono: true, fill: theme.decoder });
  });
}

/** @param {Layers} drawn @param {number} x @param {number} y @returns {BeamNode | null} the hypothesis under a point */
export function nodeAt({ columns }, x, y) {
  const column = columns[Math.floor((x - LEFT + 14) / COLUMN)] ?? [];
  return column.find((spot) => Math.abs(spot.y - y) <= ROW / 2)?.node ?? null;
}
