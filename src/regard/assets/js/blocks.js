// Blocks of a model: names, shapes, parameter counts, and vector lengths from the trace.

import { matrixAt, unpack } from "regard/trace.js";

/** @typedef {import("regard/types").Model} Model */
/** @typedef {import("regard/types").Block} Block */
/** @typedef {import("regard/types").Trace} Trace */
/** @typedef {"encoder" | "decoder"} Stack */

/**
 * Compute the blocks from the model's shape, without a server: sublayers by their formulas; the rest of the parameters,
 * embeddings and output, is counted at the first block.
 * @param {Model} model
 * @returns {Block[]}
 */
export function modelBlocks(model) {
  const { d_model: d, d_ff: ff } = model;
  const width = model.heads * model.d_k;
  /** @type {(name: string, out: number, from: number) => [string, number[]][]} */
  const linear = (name, out, from) => [[`${name}.weight`, [out, from]], [`${name}.bias`, [out]]];
  /** @type {[string, number[]][]} */
  const norm = [["norm.weight", [d]], ["norm.bias", [d]]];
  const attention = [...linear("query", width, d), ...linear("key", width, d), ...linear("value", width, d), ...linear("output", d, width), ...norm];
  const forward = [...linear("inner", ff, d), ...linear("outer", d, ff), ...norm];
  /** @type {(stack: Stack, count: number, kinds: string[]) => Block[]} */
  const stack = (name, count, kinds) => Array.from({ length: count }, (_, i) => kinds.map((each) => makeBlock(`${name}.${i + 1}.${each}`, name, i + 1, each, each === "ffn" ? forward : attention))).flat();
  const sublayers = [...stack("encoder", model.encoder_layers, ["self", "ffn"]), ...stack("decoder", model.decoder_layers, ["self", "cross", "ffn"])];
  const norms = model.norm === "pre" ? ["encoder", "decoder"].map((name) => makeBlock(`${name}.norm`, name, null, "norm", [["weight", [d]], ["bias", [d]]])) : [];
  const rest = model.parameters - [...sublayers, ...norms].reduce((sum, each) => sum + each.parameters, 0);
  return [
    { ...makeBlock("embedding.source", "encoder", null, "embedding", [["tokens.weight", [model.vocab.source, d]]]), parameters: rest },
    ...sublayers, ...norms,
    makeBlock("embedding.target", "decoder", null, "embedding", []),
    makeBlock("output", "decoder", null, "output", []),
  ];
}

/** @param {string} id @param {string} stack @param {number | null} layer @param {string} kind @param {[string, number[]][]} shapes @returns {Block} */
function makeBlock(id, stack, layer, kind, shapes) {
  return { id, stack, layer, kind, shapes, parameters: shapes.reduce((sum, [, shape]) => sum + shape.reduce((a, b) => a * b, 1), 0) };
}

/** @param {Block} block */
export function blockName({ id, stack, kind }) {
  if (id === "embedding.source") return "Embedding + position";
  if (id === "embedding.target") return "Embedding + position";
  if (kind === "output") return "Linear, then softmax";
  if (kind === "ffn") return "Feed-forward";
  if (kind === "norm") return "Final norm";
  return kind === "cross" ? "Cross-attention" : stack === "decoder" ? "Masked self-attention" : "Self-attention";
}

/** Shape of input and output. @param {Block} block @param {Model} model */
export function blockShape({ id, kind }, { d_model, d_ff, d_k, heads, vocab }) {
  if (kind === "embedding") return `${id.endsWith("source") ? vocab.source : vocab.target} × ${d_model}`;
  if (kind === "output") return `${d_model} → ${vocab.target}`;
  if (kind === "norm") return `${d_model}`;
  return kind === "ffn" ? `${d_model} → ${d_ff} → ${d_model}` : `${d_model} → ${heads} × ${d_k} → ${d_model}`;
}

/**
 * Lengths of the vectors at a block, its input and its update: of one token, or the mean.
 * @param {Trace} trace
 * @param {Block} block
 * @param {number | null} token
 * @returns {{ input: number, update: number } | null}
 */
export function vectorLengths(trace, block, token) {
  const stack = /** @type {Stack} */ (block.stack);
  const { points, stream, update } = trace.residual[stack];
  const point = block.kind === "embedding" ? 0 : points.indexOf(`${block.layer}.${block.kind}`);
  if (point < 0) return null;
  const at = (/** @type {import("regard/types").Pack} */ pack, /** @type {number} */ row) => {
    const matrix = matrixAt(unpack(pack));
    const part = matrix.values.subarray(row * matrix.columns, (row + 1) * matrix.columns);
    return token === null ? part.reduce((a, b) => a + b, 0) / part.length : part[token];
  };
  return { input: point ? at(stream, point - 1) : 0, update: at(update, point) };
}
