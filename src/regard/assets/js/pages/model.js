// The model whole: its stack with this sentence passing through it, and questions to ask of it.

import { blockName, blocksOf, lengths, shapeOf } from "regard/blocks.js";
import { fill, h } from "regard/dom.js";
import { agreeBefore } from "regard/hypothesis.js";
import { fixed, short } from "regard/format.js";
import { computed, effect, signal } from "regard/signals.js";
import { theme } from "regard/theme.js";
import { shown } from "regard/trace.js";
import { asTable, download } from "regard/parts/downloads.js";
import { stack } from "regard/parts/stack_view.js";
import { rolled } from "regard/parts/rollout_view.js";
import { quoted } from "regard/units.js";

/** @typedef {import("regard/app.js").App} App */
/** @typedef {import("regard/types").Block} Block */

const NORMS = {
  post: "The norm stands after each sum, as in the paper: LayerNorm(x + Sublayer(x)).",
  pre: "The norm stands before each sublayer, x + Sublayer(LayerNorm(x)), and once more at the end of each stack.",
  literal: "The norm stands around each sublayer alone: x + LayerNorm(Sublayer(x)).",
};

/** Pixels below which the decoder is drawn above the encoder, not beside it. */
const NARROW = 600;

/**
 * @param {App} app
 * @param {typeof import("regard/live/index.js") | null} live null where no model can be asked
 * @returns {HTMLElement}
 */
export function model(app, live) {
  const facts = computed(() => app.trace.value?.model ?? app.info?.model ?? null);
  const blocks = computed(() => app.info?.blocks ?? (facts.value ? blocksOf(facts.value) : []));
  const drawing = h("div", { class: "tower", tabindex: 0, role: "region", "aria-label": "the stack; each block can be chosen" });
  const said = h("p", {});
  const narrow = signal(false);
  new ResizeObserver(() => (narrow.value = drawing.clientWidth > 0 && drawing.clientWidth < NARROW)).observe(drawing);
  effect(() => {
    const now = facts.value;
    if (!now) return;
    const kept = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset?.block;
    const asked = { model: now, blocks: blocks.value, trace: app.trace.value, before: before(app, chosenAt(app)), narrow: narrow.value, token: app.at.token.value, chosen: app.at.block.value, theme: theme.value };
    fill(drawing, stack({ ...asked, choose: (id) => (app.at.block.value = app.at.block.value === id ? "" : id) }));
    if (kept) /** @type {HTMLElement | null} */ (drawing.querySelector(`[data-block="${kept}"]`))?.focus();
    said.textContent = `${now.name}: ${short(now.parameters)} parameters; ${now.encoder_layers} encoder and ${now.decoder_layers} decoder layers, ${now.heads} heads of width ${now.d_k}, words as vectors of ${now.d_model} numbers. ${NORMS[now.norm]}`;
  });
  const take = h("div", { class: "take" }, h("button", { type: "button", class: "quiet", onclick: () => download("model.svg", "image/svg+xml", new XMLSerializer().serializeToString(/** @type {Node} */ (drawing.firstChild))) }, "SVG"));
  return h("div", { class: "page contained" }, h("h1", {}, "Model"), said,
    h("div", { class: "abreast" },
      h("section", { "aria-label": "the stack" }, whose(app), drawing, take),
      h("div", {}, detail(app, facts, blocks), guesses(app), sizes(blocks))),
    h("div", { class: "grid pairs" }, rolled(app), live ? live.questions(app) : unasked()));
}

/** A file that was sent carries no model. */
function unasked() {
  return h("section", { "aria-label": "questions" }, h("h2", {}, "Questions to the model"),
    h("p", {}, "Neighbours of a word, one word in two sentences, words without positions, how long positions last, attention beside other mixers: these ask the model itself. Open it with ", h("code", {}, "regard explore MODEL"), "."));
}

/**
 * What is subtracted from what is shown at a target position, or nothing: the decoder must have read the same words there.
 * @param {App} app
 * @param {number} t
 */
function before(app, t) {
  const [a, b] = [app.a.value, app.b.value];
  return app.at.show.value === "difference" && a && b && agreeBefore(a, b, t) ? a : null;
}

/** The target position that is looked at; 0, where all have read the same, where none is. @param {App} app */
const chosenAt = ({ at }) => (at.token.value.startsWith("s") ? 0 : Number(at.token.value));

/** @param {App} app */
function whose(app) {
  const text = h("p", { class: "faint" });
  effect(() => {
    const trace = app.trace.value;
    const token = app.at.token.value;
    const side = token.startsWith("s") ? trace?.source.tokens : trace?.target.tokens;
    const chosen = token && side ? side[Number(token.replace("s", ""))] : null;
    const long = before(app, chosenAt(app)) ? "how much longer (+) or shorter (−) in B than in A is what enters it (above) and what it adds (below)" : "how long the vector is that enters it (grey) and what the block adds (coloured)";
    const alone = app.at.show.value === "difference" && app.b.value && !before(app, chosenAt(app)) ? " These are B’s alone: A has other words before this one." : "";
    text.textContent = `Beside each block, ${long}: ${!trace ? "once there is a sentence" : chosen ? `of ${quoted(shown(chosen))}, whose path is lit` : "on average over the sentence; choose a token above to light its path"}. The last encoder layer goes to every decoder layer.${alone}`;
  });
  return text;
}

/** @param {App} app @param {{ readonly value: import("regard/types").Model | null }} facts @param {{ readonly value: Block[] }} blocks */
function detail(app, facts, blocks) {
  const { at } = app;
  const box = h("section", { "aria-label": "the chosen block", "aria-live": "polite" });
  effect(() => {
    const block = blocks.value.find((each) => each.id === at.block.value);
    const now = facts.value;
    if (!block || !now) return fill(box, h("h2", {}, "A block"), h("p", { class: "faint" }, "Click a block, or reach it with Tab and press Enter, to see its matrices and go inside."));
    const attends = block.which === "self" || block.which === "cross";
    const kind = block.which === "cross" ? "cross" : /** @type {"encoder" | "decoder"} */ (block.stack);
    const go = (/** @type {string} */ page) => {
      at.kind.value = kind;
      at.layer.value = block.layer ?? 1;
      at.rows.value = [];
      at.page.value = page;
    };
    const trace = app.trace.value;
    const mean = trace && lengths(trace, block, null);
    fill(box, h("h2", {}, `${blockName(block)}${block.layer ? ` · ${block.stack} layer ${block.layer}` : ""}`),
      h("p", { class: "facts" }, `${shapeOf(block, now)} · ${block.parameters ? `${block.parameters.toLocaleString("en")} parameters` : "no parameters of its own: it shares the embedding’s matrix"}`),
      mean && block.layer ? h("p", { class: "facts" }, `On average ${fixed(mean.enters)} long what enters, ${fixed(mean.adds)} what it adds.`) : null,
      attends ? h("div", { class: "bar" }, h("button", { type: "button", class: "main", onclick: () => go("attention") }, "Its attention"), h("button", { type: "button", onclick: () => go("steps") }, "Its steps")) : null,
      block.shapes.length ? asTable({ rows: block.shapes.map(([name]) => name), columns: ["shape"], values: (r) => block.shapes[r][1].join(" × ") }, "parameters") : null);
  });
  return box;
}

/** What each decoder layer would say if it were the last. @param {App} app */
function guesses(app) {
  const room = h("div", {});
  const note = h("p", { class: "faint" });
  effect(() => {
    const trace = app.trace.value;
    if (!trace || !trace.lens.length) return fill(room);
    const token = app.at.token.value;
    const places = token && !token.startsWith("s") ? [Number(token)] : trace.target.tokens.map((_, i) => i);
    const deep = trace.lens.length;
    const cells = places.map((t) => trace.lens.map((layer) => layer[t]).reverse());
    const then = places.map((t) => before(app, t)?.lens);
    const values = (/** @type {number} */ r, /** @type {number} */ c) => {
      const [now, was] = [cells[r][c], then[r]?.[deep - 1 - c]?.[places[r]]];
      const less = was?.id === now.id ? now.prob - was.prob : 0;
      const sure = was?.id === now.id ? `${less > 0 ? "+" : ""}${fixed(less)}` : fixed(now.prob);
      return `${now.text.trim() || "␣"} ${sure}${was && was.id !== now.id ? `, was ${was.text.trim() || "␣"}` : ""}`;
    };
    const table = asTable({ rows: places.map((t) => shown(trace.target.tokens[t])), columns: Array.from({ length: deep }, (_, i) => `layer ${deep - i}`), corner: "written", values }, then.some(Boolean) ? "would say in B, and how much more surely than in A" : "would say, and how surely");
    table.dataset.lens = "";
    fill(room, table);
    note.textContent = `The output matrix applied to every decoder layer, the last one first. ${places.length === 1 ? "Choose no token to see all." : ""}${then.every(Boolean) ? "" : apart(app)}`;
  });
  return h("section", { class: "gap", "aria-label": "layer by layer" }, h("h2", {}, "Layer by layer"), note, room);
}

/** Where the words of A and B part, if they are to be compared. @param {App} app */
function apart(app) {
  const [a, b] = [app.a.value, app.b.value];
  if (app.at.show.value !== "difference" || !a || !b) return "";
  const first = b.target.tokens.find(({ id }, t) => id !== a.target.tokens[t]?.id);
  return first ? ` A and B have different words from ${quoted(shown(first))} on: after it the guesses are B’s alone.` : "";
}

/** @param {{ readonly value: Block[] }} blocks */
function sizes(blocks) {
  const room = h("div", {});
  effect(() => {
    const sum = (/** @type {(block: Block) => boolean} */ which) => blocks.value.filter(which).reduce((all, block) => all + block.parameters, 0);
    const rows = /** @type {[string, number][]} */ ([
      ["embeddings and output", sum((b) => b.which === "embedding" || b.which === "output")],
      ["encoder attention", sum((b) => b.stack === "encoder" && b.which === "self")],
      ["decoder self-attention", sum((b) => b.stack === "decoder" && b.which === "self")],
      ["attention over the source", sum((b) => b.which === "cross")],
      ["feed-forward", sum((b) => b.which === "ffn")],
      ["final norms", sum((b) => b.which === "norm")],
      ["all", sum(() => true)],
    ]);
    fill(room, asTable({ rows: rows.map(([name]) => name), columns: ["parameters", "share"], values: (r, c) => (c ? `${fixed((100 * rows[r][1]) / rows[6][1], 1)}%` : rows[r][1].toLocaleString("en")) }, "where the parameters are"));
  });
  return h("section", { class: "gap", "data-sizes": "", "aria-label": "sizes" }, h("h2", {}, "Sizes"), room);
}
