// Attention page: all heads as thumbnails, one head in detail.

import { kindName, layerCount, shownAttention, shownHeadImportance, ablationMark } from "regard/app.js";
import { radioGroup, setChildren, bindInput, h, dropdown, checkbox } from "regard/dom.js";
import { computed, effect } from "regard/signals.js";
import { attentionWeights as weights, groupTokens, maskedCells, axisLabels, meanMatrix, normalizeRows, describeMatrix, describeRows, keepTopMass, unpack, weighByNorms } from "regard/trace.js";
import { attentionLines } from "regard/parts/attention_lines.js";
import { matrixView } from "regard/parts/matrix_view.js";
import { headGrid } from "regard/parts/head_grid.js";
import { headImportanceControl, headSwitch } from "regard/parts/head_actions.js";

/** @typedef {import("regard/app.js").App} App */
/** @typedef {import("regard/types").Kind} Kind */

/** Names of the axes. */
const AXES = /** @type {[string, string]} */ (["attends (query)", "is attended to (key)"]);

/**
 * @param {App} app
 * @returns {HTMLElement}
 */
export function attentionPage(app) {
  const { state } = app;
  const kinds = radioGroup(
    "which attention",
    /** @type {[Kind, string][]} */ (app.kinds.map((kind) => [kind, kindName(kind, app.model)])),
    () => state.kind.value,
    (kind) => {
      state.kind.value = kind;
      state.rows.value = [];
    },
  );
  const views = radioGroup("as", [["matrix", "Matrix"], ["lines", "Lines"]], () => state.view.value, (v) => (state.view.value = v));
  const head = h("span", {});
  const title = h("h2", {});
  const facts = h("p", { class: "facts" });
  const hint = h("p", { class: "faint" });
  const large = h("div", {});
  const current = computed(() => shownMatrix(app));
  const image = computed(picture);

  const matrix = matrixView({
    picture: () => image.value,
    name: () => `${kindName(state.kind.value, app.model)} attention, layer ${state.layer.value}, ${headName(state.head.value)}`,
    summary: () => {
      const shown = current.value;
      const locked = image.value?.locked ?? [];
      if (shown && locked.length) return describeRows(shown.matrix, locked, shown.rows, shown.columns);
      if (shown?.signed && shown.matrix.values.every((value) => Math.abs(value) < 5e-4)) return "no weight of this head changed";
      return shown && !shown.signed ? describeMatrix(shown.matrix, shown.columns, shown.hidden) : "increases in one colour, decreases in the other";
    },
    describeCell: (row, column) => {
      const shown = /** @type {NonNullable<ReturnType<typeof shownMatrix>>} */ (current.value);
      const value = shown.matrix.values[row * shown.matrix.columns + column];
      const masked = shown.hidden?.(row, column);
      return `${masked ? "masked" : value.toFixed(3)}  “${shown.rows[row].text}” attends to “${shown.columns[column].text}”`;
    },
    lock: (rows) => (state.rows.value = rows.map((row) => current.value?.rows[row].tokens[0] ?? row)),
  });
  const lines = attentionLines({ app, shown: () => current.value });
  effect(() => setChildren(large, state.view.value === "lines" ? lines : matrix));
  effect(() => {
    kinds.refresh();
    views.refresh();
    title.textContent = `${kindName(state.kind.value, app.model)} · layer ${state.layer.value} · ${headName(state.head.value)}`;
  });
  const depth = computed(() => (app.trace.value ? layerCount(app.trace.value, state.kind.value) : 0));
  const width = computed(() => app.trace.value?.model.heads ?? 0);
  const numbers = (/** @type {number} */ last) => Array.from({ length: last }, (_, i) => /** @type {[string, string]} */ ([String(i + 1), String(i + 1)]));
  effect(() => {
    setChildren(
      head,
      bindInput(dropdown("layer", numbers(depth.value), "", (v) => (state.layer.value = Number(v))), () => state.layer.value),
      " ",
      bindInput(dropdown("head", [["0", "mean"], ...numbers(width.value)], "", (v) => (state.head.value = Number(v))), () => state.head.value),
    );
  });
  effect(() => {
    facts.textContent = headFacts(app);
    hint.textContent = state.show.value === "difference" && !shownAttention(app, state.kind.value, state.layer.value, state.head.value)
      ? "A and B have different words here, so their weights cannot be subtracted; show A or B."
      : "";
  });

  function picture() {
    const shown = current.value;
    if (!shown) return null;
    return {
      matrix: shown.matrix,
      rows: shown.rows.map((label) => label.text),
      columns: shown.columns.map((label) => label.text),
      hidden: shown.hidden,
      signed: shown.signed,
      top: state.stretch.value ? shown.matrix.values.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-6) : 1,
      axes: AXES,
      mark: markedCell(app, shown.rows, shown.columns),
      locked: shown.rows.flatMap((label, i) => (label.tokens.some((token) => state.rows.value.includes(token)) ? [i] : [])),
    };
  }

  /** @type {HTMLElement} */
  let headSection;
  const page = h(
    "div",
    { class: "page" },
    h("h1", {}, "Attention"),
    h("div", { class: "bar" }, kinds, views, displayOptions(app)),
    h(
      "div",
      { class: "two" },
      h("section", { "aria-label": "all heads" }, h("h2", {}, "All heads"), headGrid(app), headImportanceControl(app)),
      headSection = h("section", { "aria-label": "one head" }, h("div", { class: "bar" }, title, head), large, hint, facts, headSwitch(app),
        h("p", { class: "faint" }, attentionCaveat(app))),
    ),
  );
  effect(() => (headSection.dataset.kind = state.kind.value));
  return page;
}

/** @param {App} app @returns {string} what an attention weight does not mean */
function attentionCaveat(app) {
  if (app.task === "classification") return "A weight shows what a head attended to, not why the label was chosen. The label is predicted from the first row, the class token, after the last layer.";
  if (app.task === "forecasting") return "A weight shows what a head attended to, not why the value was predicted.";
  return `A weight shows what a head attended to, not why the word was chosen; ${app.source ? "switch the head off to test that." : "regard explore can switch the head off to test that."}`;
}

/** @param {App} app */
function displayOptions(app) {
  const { state } = app;
  const flag = (/** @type {string} */ label, /** @type {"words"|"plain"|"norms"|"read"|"stretch"} */ name) =>
    bindInput(checkbox(label, false, (on) => (state[name].value = on ? "1" : "")), () => state[name].value === "1");
  const share = /** @type {HTMLInputElement} */ (h("input", { type: "range", min: 30, max: 100, step: 5, oninput: () => (state.mass.value = Number(share.value)) }));
  const text = h("output", {});
  const read = flag("label rows by the input token", "read");
  effect(() => {
    text.textContent = `${state.mass.value}%`;
    read.hidden = state.kind.value === "encoder" || app.task !== "translation";
  });
  return h(
    "span",
    { class: "bar" },
    app.task === "forecasting" ? null : [flag("whole words", "words"), flag("hide special tokens and punctuation", "plain")],
    flag("× ‖value‖", "norms"),
    flag("stretch the scale", "stretch"),
    read,
    bindInput(h("label", { class: "tick" }, "show top ", share, text), () => state.mass.value),
  );
}

/**
 * Return the attention matrix with the display options applied, and its labels.
 * @param {App} app
 */
export function shownMatrix(app) {
  const { state } = app;
  const trace = app.trace.value;
  const now = trace && state.layer.value ? shownAttention(app, state.kind.value, state.layer.value, state.head.value) : null;
  if (!trace || !now) return null;
  const kind = state.kind.value;
  let { matrix } = now;
  if (state.norms.value && !now.signed) matrix = weightsByNorms(trace, kind, state.layer.value, state.head.value);
  const how = { words: Boolean(state.words.value), plain: Boolean(state.plain.value), read: Boolean(state.read.value) };
  const { rows, columns } = axisLabels(trace, kind, how);
  if (how.words || how.plain) matrix = groupTokens(matrix, rows, columns);
  if (how.plain && !now.signed) matrix = normalizeRows(matrix);
  if (state.mass.value < 100 && !now.signed) matrix = keepTopMass(matrix, state.mass.value / 100);
  return { matrix, rows, columns, hidden: maskedCells(trace, kind, rows, columns), signed: now.signed };
}

/**
 * Weights times the norms of the head's value vectors; for head 0 the mean over the heads.
 * @param {import("regard/types").Trace} trace
 * @param {Kind} kind
 * @param {number} layer
 * @param {number} head
 */
function weightsByNorms(trace, kind, layer, head) {
  const { data, shape } = unpack(trace.value_norm[kind]);
  const [, heads, columns] = shape;
  const one = (/** @type {number} */ each) => {
    const first = ((layer - 1) * heads + each - 1) * columns;
    return weighByNorms(weights(trace, kind, layer, each), data.subarray(first, first + columns));
  };
  return head ? one(head) : meanMatrix(Array.from({ length: heads }, (_, i) => one(i + 1)));
}

/**
 * Return the row and column of the selected token.
 * @param {App} app
 * @param {import("regard/trace.js").Label[]} rows
 * @param {import("regard/trace.js").Label[]} columns
 */
function markedCell({ state }, rows, columns) {
  if (!state.token.value) return {};
  const source = state.token.value.startsWith("s");
  const token = Number(state.token.value.replace("s", ""));
  const of = (/** @type {import("regard/trace.js").Label[]} */ labels, /** @type {number} */ place) => {
    const index = labels.findIndex((label) => label.tokens.includes(place));
    return index < 0 ? undefined : index;
  };
  const kind = state.kind.value;
  const isQuery = source === (kind === "encoder");
  const isKey = kind === "decoder" ? !source : source;
  return { row: isQuery ? of(rows, token) : undefined, column: isKey ? of(columns, kind === "decoder" ? token + 1 : token) : undefined };
}

/** @param {number} head */
const headName = (head) => (head ? `head ${head}` : "mean of the heads");

/** @param {App} app */
function headFacts(app) {
  const { state } = app;
  const trace = app.trace.value;
  const facts = state.head.value ? trace?.heads[state.kind.value]?.[state.layer.value - 1]?.[state.head.value - 1] : null;
  if (!facts) return "";
  const importance = shownHeadImportance(app).get(`${state.kind.value} ${state.layer.value} ${state.head.value}`) ?? facts.importance;
  return [
    `head ${state.layer.value}.${state.head.value}${ablationMark(app, state.kind.value, state.layer.value, state.head.value)}`,
    `peaked ${facts.peak.toFixed(2)}`,
    `entropy ${facts.entropy.toFixed(2)}`,
    facts.label && `label “${facts.label}”`,
    importance !== null && importance !== undefined && `importance: log p ${importance >= 0 ? "+" : "−"}${Math.abs(importance).toFixed(2)} when removed`,
  ].filter(Boolean).join(" · ");
}
