// The numbers that the steps walk through: from the model, from the file, or from the worked example.

import { slice, unpack, labels } from "regard/trace.js";
import { dot, times, walk, WORKED } from "regard/attention_math.js";

/** @typedef {import("regard/types").Trace} Trace */
/** @typedef {import("regard/types").Kind} Kind */
/** @typedef {import("regard/trace.js").Matrix} Matrix */
/** @typedef {import("regard/draw/step_board.js").Numbers} Numbers */
/** @typedef {{ name: string, values: number[], tone: "query" | "key" | "value" | "ink" | Kind }} Strip */
/**
 * @typedef {Numbers & { after: Strip[], scores: Matrix | null,
 *   weightRows: Matrix | null, rows: string[], position: number, hidden: (row: number, key: number) => boolean }} Shown
 */

/**
 * What the server answered.
 * @param {any} steps
 * @param {Trace} trace
 * @returns {Shown}
 */
export function fromServer(steps, trace) {
  const kind = /** @type {Kind} */ (steps.kind);
  const named = names(trace, kind);
  return {
    ...steps,
    query: named.rows[steps.position],
    keys: named.columns,
    divisor: 1 / steps.scale,
    after: afterwards(steps),
    scores: steps.scores ? slice(unpack(steps.scores)) : null,
    weightRows: slice(unpack(trace.attention[kind]), steps.layer - 1, steps.head - 1),
    rows: named.rows,
    hidden: hiddenIn(trace, kind),
  };
}

/**
 * What an export carries: queries, keys and values of some layers, in 16 bits.
 * @param {Trace} trace
 * @param {Kind} kind
 * @param {number} layer
 * @param {number} head
 * @param {number} position
 * @returns {Shown | null} null where that layer was left out
 */
export function fromFile(trace, kind, layer, head, position) {
  const packs = trace.qkv?.[kind];
  const place = packs?.layers.indexOf(layer) ?? -1;
  if (!packs || place < 0) return null;
  const [q, k, v] = [packs.q, packs.k, packs.v].map((pack) => vectors(slice(unpack(pack), place, head - 1)));
  const named = names(trace, kind);
  const hidden = hiddenIn(trace, kind);
  const divisor = 1 / (trace.model.attention_scale ?? 1 / Math.sqrt(trace.model.d_k));
  const values = Float32Array.from(q.flatMap((query) => k.map((key) => dot(query, key) / divisor)));
  return {
    query: named.rows[position],
    keys: named.columns,
    x: null,
    q: q[position],
    k,
    v,
    ...walk(q[position], k, v, divisor, (key) => hidden(position, key)),
    divisor,
    after: [],
    scores: { rows: q.length, columns: k.length, values },
    weightRows: slice(unpack(trace.attention[kind]), layer - 1, head - 1),
    rows: named.rows,
    position,
    hidden,
  };
}

/**
 * The worked example at one of its inputs, computed here.
 * @param {number} position
 * @param {boolean} divide
 * @returns {Shown}
 */
export function fromExample(position, divide) {
  const [q, k, v] = [WORKED.query, WORKED.key, WORKED.value].map((matrix) => WORKED.x.map((x) => times(x, matrix)));
  const divisor = divide ? Math.sqrt(q[0].length) : 1;
  const rows = WORKED.x.map((_, i) => `input ${i + 1}`);
  const walks = q.map((query) => walk(query, k, v, divisor, () => false));
  const matrix = (/** @type {"scaled" | "weights"} */ name) => ({ rows: 3, columns: 3, values: Float32Array.from(walks.flatMap((each) => each[name])) });
  return {
    query: rows[position], keys: rows, x: WORKED.x[position], q: q[position], k, v, ...walks[position], divisor,
    after: [], scores: matrix("scaled"), weightRows: matrix("weights"), rows, position, hidden: () => false,
  };
}

/** @param {Trace} trace @param {Kind} kind */
function names(trace, kind) {
  const { rows, columns } = labels(trace, kind);
  return { rows: rows.map((label) => label.text), columns: columns.map((label) => label.text) };
}

/** @param {Trace} trace @param {Kind} kind @returns {(row: number, key: number) => boolean} */
function hiddenIn(trace, kind) {
  if (kind === "decoder") return (row, key) => key > row;
  const out = trace.request.interventions.flatMap((each) => (each.type === "hide_source" ? each.positions : []));
  return (_, key) => out.includes(key);
}

/** @param {Matrix} matrix */
const vectors = ({ rows, columns, values }) =>
  Array.from({ length: rows }, (_, row) => Array.from(values.subarray(row * columns, (row + 1) * columns)));

/**
 * What becomes of z, in the order in which the model does it.
 * @param {any} steps
 * @returns {Strip[]}
 */
function afterwards(steps) {
  const { norm, feed_forward: forward } = steps;
  const stack = steps.kind === "encoder" ? "encoder" : "decoder";
  const strip = (/** @type {string} */ name, /** @type {number[]} */ values, tone = /** @type {any} */ (stack)) => ({ name, values, tone });
  const residual = strip("added to what came in (residual)", steps.after_residual, "ink");
  const normed = strip({ post: "normed: what leaves the sublayer", pre: "normed: what the next sublayer reads", literal: "normed, before it is added" }[/** @type {"post"} */ (norm)], steps.after_norm, "ink");
  return [
    strip("joined: the z of all heads side by side", steps.joined, "value"),
    strip("times Wᴼ: what this attention says", steps.out, steps.kind),
    ...(norm === "literal" ? [normed, residual] : [residual, normed]),
    strip("feed-forward reads", forward.read, "ink"),
    strip("feed-forward says, at this word by itself", forward.said),
    strip("what leaves the layer", forward.after, "ink"),
  ];
}
