// Numbers of the attention steps: from the server, from the offline page, or of the worked example.

import { matrixAt, unpack, axisLabels } from "regard/trace.js";
import { dot, vectorTimesMatrix, attentionSteps, WORKED_EXAMPLE } from "regard/attention_math.js";

/** @typedef {import("regard/types").Trace} Trace */
/** @typedef {import("regard/types").Kind} Kind */
/** @typedef {import("regard/trace.js").Matrix} Matrix */
/** @typedef {import("regard/draw/step_board.js").Numbers} Numbers */
/** @typedef {{ name: string, values: number[], tone: "query" | "key" | "value" | "ink" | Kind }} Strip */
/**
 * @typedef {Numbers & { after: Strip[], scores: Matrix | null,
 *   weightRows: Matrix | null, rows: string[], position: number, hidden: (row: number, key: number) => boolean }} StepNumbers
 */

/**
 * Numbers from the server.
 * @param {any} steps
 * @param {Trace} trace
 * @returns {StepNumbers}
 */
export function fromServer(steps, trace) {
  const kind = /** @type {Kind} */ (steps.kind);
  const texts = axisTexts(trace, kind);
  return {
    ...steps,
    query: texts.rows[steps.position],
    keys: texts.columns,
    divisor: 1 / steps.scale,
    after: vectorsAfterAttention(steps),
    scores: steps.scores ? matrixAt(unpack(steps.scores)) : null,
    weightRows: matrixAt(unpack(trace.attention[kind]), steps.layer - 1, steps.head - 1),
    rows: texts.rows,
    hidden: maskedIn(trace, kind),
  };
}

/**
 * Numbers from an offline page, which has queries, keys and values of some layers in 16 bits.
 * @param {Trace} trace
 * @param {Kind} kind
 * @param {number} layer
 * @param {number} head
 * @param {number} position
 * @returns {StepNumbers | null} null if that layer was left out
 */
export function fromFile(trace, kind, layer, head, position) {
  const packs = trace.qkv?.[kind];
  const place = packs?.layers.indexOf(layer) ?? -1;
  if (!packs || place < 0) return null;
  const [q, k, v] = [packs.q, packs.k, packs.v].map((pack) => vectors(matrixAt(unpack(pack), place, head - 1)));
  const named = axisTexts(trace, kind);
  const hidden = maskedIn(trace, kind);
  const divisor = 1 / (trace.model.attention_scale ?? 1 / Math.sqrt(trace.model.d_k));
  const values = Float32Array.from(q.flatMap((query) => k.map((key) => dot(query, key) / divisor)));
  return {
    query: named.rows[position],
    keys: named.columns,
    x: null,
    q: q[position],
    k,
    v,
    ...attentionSteps(q[position], k, v, divisor, (key) => hidden(position, key)),
    divisor,
    after: [],
    scores: { rows: q.length, columns: k.length, values },
    weightRows: matrixAt(unpack(trace.attention[kind]), layer - 1, head - 1),
    rows: named.rows,
    position,
    hidden,
  };
}

/**
 * Numbers of the worked example at one of its inputs.
 * @param {number} position
 * @param {boolean} divide
 * @returns {StepNumbers}
 */
export function fromExample(position, divide) {
  const [q, k, v] = [WORKED_EXAMPLE.query, WORKED_EXAMPLE.key, WORKED_EXAMPLE.value].map((matrix) => WORKED_EXAMPLE.x.map((x) => vectorTimesMatrix(x, matrix)));
  const divisor = divide ? Math.sqrt(q[0].length) : 1;
  const rows = WORKED_EXAMPLE.x.map((_, i) => `input ${i + 1}`);
  const walks = q.map((query) => attentionSteps(query, k, v, divisor, () => false));
  const matrix = (/** @type {"scaled" | "weights"} */ name) => ({ rows: 3, columns: 3, values: Float32Array.from(walks.flatMap((each) => each[name])) });
  return {
    query: rows[position], keys: rows, x: WORKED_EXAMPLE.x[position], q: q[position], k, v, ...walks[position], divisor,
    after: [], scores: matrix("scaled"), weightRows: matrix("weights"), rows, position, hidden: () => false,
  };
}

/** @param {Trace} trace @param {Kind} kind */
function axisTexts(trace, kind) {
  const { rows, columns } = axisLabels(trace, kind);
  return { rows: rows.map((label) => label.text), columns: columns.map((label) => label.text) };
}

/** @param {Trace} trace @param {Kind} kind @returns {(row: number, key: number) => boolean} */
function maskedIn(trace, kind) {
  if (kind === "decoder") return (row, key) => key > row;
  const out = trace.request.interventions.flatMap((each) => (each.type === "mask_source" ? each.positions : []));
  return (_, key) => out.includes(key);
}

/** @param {Matrix} matrix */
const vectors = ({ rows, columns, values }) =>
  Array.from({ length: rows }, (_, row) => Array.from(values.subarray(row * columns, (row + 1) * columns)));

/**
 * The vectors computed from z, in the order of the model.
 * @param {any} steps
 * @returns {Strip[]}
 */
function vectorsAfterAttention(steps) {
  const { norm, feed_forward: forward } = steps;
  const stack = steps.kind === "encoder" ? "encoder" : "decoder";
  const strip = (/** @type {string} */ name, /** @type {number[]} */ values, tone = /** @type {any} */ (stack)) => ({ name, values, tone });
  const residual = strip("plus the residual", steps.after_residual, "ink");
  const normed = strip({ post: "normed: output of the sublayer", pre: "normed: input of the next sublayer", literal: "normed, before the addition" }[/** @type {"post"} */ (norm)], steps.after_norm, "ink");
  return [
    strip("concatenated: z of all heads", steps.concat, "value"),
    strip("times Wᴼ: output of the attention", steps.out, steps.kind),
    ...(norm === "literal" ? [normed, residual] : [residual, normed]),
    strip("input of the feed-forward layer", forward.input, "ink"),
    strip("output of the feed-forward layer, for this word alone", forward.output),
    strip("output of the layer", forward.layer_output, "ink"),
  ];
}
