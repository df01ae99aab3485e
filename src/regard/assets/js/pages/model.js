// Model page: the stack with the numbers of this sentence, its parameters, and questions to the model.

import { blockName, modelBlocks, vectorLengths, blockShape } from "regard/blocks.js";
import { setChildren, h } from "regard/dom.js";
import { samePrefix } from "regard/hypothesis.js";
import { formatNumber, formatCount } from "regard/format.js";
import { computed, effect, signal } from "regard/signals.js";
import { theme } from "regard/theme.js";
import { tokenLabel } from "regard/trace.js";
import { dataTable, download } from "regard/parts/downloads.js";
import { stackView } from "regard/parts/stack_view.js";
import { rolloutView } from "regard/parts/rollout.js";
import { quote } from "regard/units.js";

/** @typedef {import("regard/app.js").App} App */
/** @typedef {import("regard/types").Block} Block */

const NORMS = {
  post: "The norm stands after each sum, as in the paper: LayerNorm(x + Sublayer(x)).",
  pre: "The norm stands before each sublayer, x + Sublayer(LayerNorm(x)), and once more at the end of each stack.",
  literal: "The norm stands around each sublayer alone: x + LayerNorm(Sublayer(x)).",
};

/** Below this width the decoder is drawn above the encoder, not beside it. */
const NARROW = 600;

/**
 * @param {App} app
 * @param {typeof import("regard/live/index.js") | null} live null on the offline page
 * @returns {HTMLElement}
 */
export function modelPage(app, live) {
  const facts = computed(() => app.trace.value?.model ?? app.info?.model ?? null);
  const blocks = computed(() => app.info?.blocks ?? (facts.value ? modelBlocks(facts.value) : []));
  const drawing = h("div", { class: "model-figure", tabindex: 0, role: "region", "aria-label": "the stack; each block can be chosen" });
  const summary = h("p", {});
  const narrow = signal(false);
  new ResizeObserver(() => (narrow.value = drawing.clientWidth > 0 && drawing.clientWidth < NARROW)).observe(drawing);
  effect(() => {
    const now = facts.value;
    if (!now) return;
    const focusedBlock = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset?.block;
    const shared = { model: now, blocks: blocks.value, trace: app.trace.value, before: subtractedTrace(app, targetPosition(app)), narrow: narrow.value, token: app.state.token.value, chosen: app.state.block.value, theme: theme.value };
    setChildren(drawing, stackView({ ...shared, choose: (id) => (app.state.block.value = app.state.block.value === id ? "" : id) }));
    if (focusedBlock) /** @type {HTMLElement | null} */ (drawing.querySelector(`[data-block="${focusedBlock}"]`))?.focus();
    summary.textContent = `${now.name}: ${formatCount(now.parameters)} parameters; ${now.encoder_layers} encoder and ${now.decoder_layers} decoder layers, ${now.heads} heads of width ${now.d_k}, words as vectors of ${now.d_model} numbers. ${NORMS[now.norm]}`;
  });
  const take = h("div", { class: "downloads" }, h("button", { type: "button", class: "quiet", onclick: () => download("model.svg", "image/svg+xml", new XMLSerializer().serializeToString(/** @type {Node} */ (drawing.firstChild))) }, "SVG"));
  return h("div", { class: "page contained" }, h("h1", {}, "Model"), summary,
    h("div", { class: "side-by-side" },
      h("section", { "aria-label": "the stack" }, numbersNote(app), drawing, take),
      h("div", {}, blockDetails(app, facts, blocks), layerGuesses(app), parameterTable(blocks))),
    h("div", { class: "grid pairs" }, rolloutView(app), live ? live.modelQuestions(app) : serverOnlyNote()));
}

/** The offline page has no model to ask. */
function serverOnlyNote() {
  return h("section", { "aria-label": "questions" }, h("h2", {}, "Questions to the model"),
    h("p", {}, "Neighbours of a word, one word in two sentences, words without positions, how much of the positions remains, attention beside other mixers: these questions need the model. Open it with ", h("code", {}, "regard explore MODEL"), "."));
}

/**
 * Return the trace to subtract at a target position, or null: the decoder must have read the same tokens in both.
 * @param {App} app
 * @param {number} t
 */
function subtractedTrace(app, t) {
  const [a, b] = [app.traceA.value, app.traceB.value];
  return app.state.show.value === "difference" && a && b && samePrefix(a, b, t) ? a : null;
}

/** The selected target position; 0, where all decoders have read the same, if there is none. @param {App} app */
const targetPosition = ({ state }) => (state.token.value.startsWith("s") ? 0 : Number(state.token.value));

/** @param {App} app */
function numbersNote(app) {
  const text = h("p", { class: "faint" });
  effect(() => {
    const trace = app.trace.value;
    const token = app.state.token.value;
    const side = token.startsWith("s") ? trace?.source.tokens : trace?.target.tokens;
    const chosen = token && side ? side[Number(token.replace("s", ""))] : null;
    const long = subtractedTrace(app, targetPosition(app)) ? "how much longer (+) or shorter (−) its input (above) and its update (below) are in B than in A" : "the length of its input (grey) and of its update (coloured)";
    const alone = app.state.show.value === "difference" && app.traceB.value && !subtractedTrace(app, targetPosition(app)) ? " These numbers are those of B alone: A has other words before this one." : "";
    text.textContent = `Beside each block, ${long}: ${!trace ? "once there is a sentence" : chosen ? `of ${quote(tokenLabel(chosen))}, whose path is highlighted` : "mean over the sentence; select a token above to highlight its path"}. The output of the last encoder layer goes to every decoder layer.${alone}`;
  });
  return text;
}

/** @param {App} app @param {{ readonly value: import("regard/types").Model | null }} facts @param {{ readonly value: Block[] }} blocks */
function blockDetails(app, facts, blocks) {
  const { state } = app;
  const box = h("section", { "aria-label": "the chosen block", "aria-live": "polite" });
  effect(() => {
    const block = blocks.value.find((each) => each.id === state.block.value);
    const now = facts.value;
    if (!block || !now) return setChildren(box, h("h2", {}, "A block"), h("p", { class: "faint" }, "Click a block, or reach it with Tab and press Enter, to see its matrices and go inside."));
    const attends = block.kind === "self" || block.kind === "cross";
    const kind = block.kind === "cross" ? "cross" : /** @type {"encoder" | "decoder"} */ (block.stack);
    const go = (/** @type {string} */ page) => {
      state.kind.value = kind;
      state.layer.value = block.layer ?? 1;
      state.rows.value = [];
      state.page.value = page;
    };
    const trace = app.trace.value;
    const mean = trace && vectorLengths(trace, block, null);
    setChildren(box, h("h2", {}, `${blockName(block)}${block.layer ? ` · ${block.stack} layer ${block.layer}` : ""}`),
      h("p", { class: "facts" }, `${blockShape(block, now)} · ${block.parameters ? `${block.parameters.toLocaleString("en")} parameters` : "no parameters: it shares the embedding matrix"}`),
      mean && block.layer ? h("p", { class: "facts" }, `Mean length of the input ${formatNumber(mean.input)}, of the update ${formatNumber(mean.update)}.`) : null,
      attends ? h("div", { class: "bar" }, h("button", { type: "button", class: "main", onclick: () => go("attention") }, "Its attention"), h("button", { type: "button", onclick: () => go("steps") }, "Its steps")) : null,
      block.shapes.length ? dataTable({ rows: block.shapes.map(([name]) => name), columns: ["shape"], values: (r) => block.shapes[r][1].join(" × ") }, "parameters") : null);
  });
  return box;
}

/** Logit lens: the prediction of each decoder layer if it were the last. @param {App} app */
function layerGuesses(app) {
  const room = h("div", {});
  const note = h("p", { class: "faint" });
  effect(() => {
    const trace = app.trace.value;
    if (!trace || !trace.logit_lens.length) return setChildren(room);
    const token = app.state.token.value;
    const places = token && !token.startsWith("s") ? [Number(token)] : trace.target.tokens.map((_, i) => i);
    const deep = trace.logit_lens.length;
    const cells = places.map((t) => trace.logit_lens.map((layer) => layer[t]).reverse());
    const then = places.map((t) => subtractedTrace(app, t)?.logit_lens);
    const values = (/** @type {number} */ r, /** @type {number} */ c) => {
      const [now, was] = [cells[r][c], then[r]?.[deep - 1 - c]?.[places[r]]];
      const less = was?.id === now.id ? now.prob - was.prob : 0;
      const sure = was?.id === now.id ? `${less > 0 ? "+" : ""}${formatNumber(less)}` : formatNumber(now.prob);
      return `${now.text.trim() || "␣"} ${sure}${was && was.id !== now.id ? `, was ${was.text.trim() || "␣"}` : ""}`;
    };
    const table = dataTable({ rows: places.map((t) => tokenLabel(trace.target.tokens[t])), columns: Array.from({ length: deep }, (_, i) => `layer ${deep - i}`), corner: "target token", values }, then.some(Boolean) ? "prediction in B, and change of its probability from A" : "prediction and probability");
    table.dataset.lens = "";
    setChildren(room, table);
    note.textContent = `The output matrix applied to every decoder layer, the last one first. ${places.length === 1 ? "Choose no token to see all." : ""}${then.every(Boolean) ? "" : divergenceNote(app)}`;
  });
  return h("section", { class: "gap", "aria-label": "layer by layer" }, h("h2", {}, "Layer by layer"), note, room);
}

/** Note from which word on A and B differ, if they are compared. @param {App} app */
function divergenceNote(app) {
  const [a, b] = [app.traceA.value, app.traceB.value];
  if (app.state.show.value !== "difference" || !a || !b) return "";
  const first = b.target.tokens.find(({ id }, t) => id !== a.target.tokens[t]?.id);
  return first ? ` A and B have different words from ${quote(tokenLabel(first))} on: after it the predictions are those of B alone.` : "";
}

/** @param {{ readonly value: Block[] }} blocks */
function parameterTable(blocks) {
  const room = h("div", {});
  effect(() => {
    const sum = (/** @type {(block: Block) => boolean} */ which) => blocks.value.filter(which).reduce((all, block) => all + block.parameters, 0);
    const rows = /** @type {[string, number][]} */ ([
      ["embeddings and output", sum((b) => b.kind === "embedding" || b.kind === "output")],
      ["encoder attention", sum((b) => b.stack === "encoder" && b.kind === "self")],
      ["decoder self-attention", sum((b) => b.stack === "decoder" && b.kind === "self")],
      ["cross-attention", sum((b) => b.kind === "cross")],
      ["feed-forward", sum((b) => b.kind === "ffn")],
      ["final norms", sum((b) => b.kind === "norm")],
      ["all", sum(() => true)],
    ]);
    setChildren(room, dataTable({ rows: rows.map(([name]) => name), columns: ["parameters", "share"], values: (r, c) => (c ? `${formatNumber((100 * rows[r][1]) / rows[6][1], 1)}%` : rows[r][1].toLocaleString("en")) }, "where the parameters are"));
  });
  return h("section", { class: "gap", "data-sizes": "", "aria-label": "sizes" }, h("h2", {}, "Sizes"), room);
}
