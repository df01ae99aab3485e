// Where every head looks: all of them small, one of them large.

import { kindName, layers, looks, measuredHere, switchedOff } from "regard/app.js";
import { choices, fill, follow, h, pick, tick } from "regard/dom.js";
import { computed, effect } from "regard/signals.js";
import { attention as weights, gathered, hiddenCells, labels, mean, normal, summary, together, topMass, unpack, weighed } from "regard/trace.js";
import { linesView } from "regard/parts/attention_lines.js";
import { matrixView } from "regard/parts/matrix_view.js";
import { overview } from "regard/parts/head_grid.js";
import { measure } from "regard/parts/head_importance.js";
import { switchOff } from "regard/parts/head_switch.js";

/** @typedef {import("regard/app.js").App} App */
/** @typedef {import("regard/types").Kind} Kind */

/** Rows that look at what lies behind a mask cannot: they have weight exactly 0. */
const AXES = /** @type {[string, string]} */ (["attends (query)", "is attended to (key)"]);

/**
 * @param {App} app
 * @returns {HTMLElement}
 */
export function attention(app) {
  const { at } = app;
  const kinds = choices(
    "which attention",
    /** @type {[Kind, string][]} */ (app.kinds.map((kind) => [kind, kindName(kind, app.model)])),
    () => at.kind.value,
    (kind) => {
      at.kind.value = kind;
      at.rows.value = [];
    },
  );
  const views = choices("as", [["matrix", "Matrix"], ["lines", "Lines"]], () => at.view.value, (v) => (at.view.value = v));
  const head = h("span", {});
  const title = h("h2", {});
  const facts = h("p", { class: "facts" });
  const hint = h("p", { class: "faint" });
  const large = h("div", {});
  const now = computed(() => shown(app));
  const drawn = computed(picture);

  const matrix = matrixView({
    picture: () => drawn.value,
    name: () => `${kindName(at.kind.value, app.model)} attention, layer ${at.layer.value}, ${headName(at.head.value)}`,
    summary: () => {
      const it = now.value;
      const locked = drawn.value?.locked ?? [];
      if (it && locked.length) return together(it.matrix, locked, it.rows, it.columns);
      if (it?.signed && it.matrix.values.every((value) => Math.abs(value) < 5e-4)) return "no weight of this head became another";
      return it && !it.signed ? summary(it.matrix, it.columns, it.hidden) : "what became more is one colour, what became less the other";
    },
    tell: (row, column) => {
      const it = /** @type {NonNullable<ReturnType<typeof shown>>} */ (now.value);
      const value = it.matrix.values[row * it.matrix.columns + column];
      const masked = it.hidden?.(row, column);
      return `${masked ? "masked" : value.toFixed(3)}  “${it.rows[row].text}” looks at “${it.columns[column].text}”`;
    },
    lock: (rows) => (at.rows.value = rows.map((row) => now.value?.rows[row].tokens[0] ?? row)),
  });
  const lines = linesView({ app, shown: () => now.value });
  effect(() => fill(large, at.view.value === "lines" ? lines : matrix));
  effect(() => {
    kinds.refresh();
    views.refresh();
    title.textContent = `${kindName(at.kind.value, app.model)} · layer ${at.layer.value} · ${headName(at.head.value)}`;
  });
  const depth = computed(() => (app.trace.value ? layers(app.trace.value, at.kind.value) : 0));
  const width = computed(() => app.trace.value?.model.heads ?? 0);
  const numbers = (/** @type {number} */ last) => Array.from({ length: last }, (_, i) => /** @type {[string, string]} */ ([String(i + 1), String(i + 1)]));
  effect(() => {
    fill(
      head,
      follow(pick("layer", numbers(depth.value), "", (v) => (at.layer.value = Number(v))), () => at.layer.value),
      " ",
      follow(pick("head", [["0", "mean"], ...numbers(width.value)], "", (v) => (at.head.value = Number(v))), () => at.head.value),
    );
  });
  effect(() => {
    facts.textContent = headFacts(app);
    hint.textContent = at.show.value === "difference" && !looks(app, at.kind.value, at.layer.value, at.head.value)
      ? "A and B have different words here, so their weights cannot be subtracted; show A or B."
      : "";
  });

  function picture() {
    const it = now.value;
    if (!it) return null;
    return {
      matrix: it.matrix,
      rows: it.rows.map((label) => label.text),
      columns: it.columns.map((label) => label.text),
      hidden: it.hidden,
      signed: it.signed,
      top: at.stretch.value ? it.matrix.values.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-6) : 1,
      axes: AXES,
      mark: marked(app, it.rows, it.columns),
      locked: it.rows.flatMap((label, i) => (label.tokens.some((token) => at.rows.value.includes(token)) ? [i] : [])),
    };
  }

  /** @type {HTMLElement} */
  let one;
  const page = h(
    "div",
    { class: "page" },
    h("h1", {}, "Attention"),
    h("div", { class: "bar" }, kinds, views, options(app)),
    h(
      "div",
      { class: "two" },
      h("section", { "aria-label": "all heads" }, h("h2", {}, "All heads"), overview(app), measure(app)),
      one = h("section", { "aria-label": "one head" }, h("div", { class: "bar" }, title, head), large, hint, facts, switchOff(app),
        h("p", { class: "faint" }, caution(app))),
    ),
  );
  effect(() => (one.dataset.kind = at.kind.value));
  return page;
}

/** @param {App} app what a weight does not say */
function caution(app) {
  if (app.task === "classification") return "A weight says where a head looked, not why the label was chosen. The label is read from the first row, the class token, after the last layer.";
  if (app.task === "forecasting") return "A weight says where a head looked, not why the value was foretold.";
  return `A weight says where a head looked, not why the word was chosen; ${app.source ? "switch it off to see." : "regard explore can switch it off, to see."}`;
}

/** @param {App} app */
function options(app) {
  const { at } = app;
  const flag = (/** @type {string} */ label, /** @type {"words"|"plain"|"norms"|"read"|"stretch"} */ name) =>
    follow(tick(label, false, (on) => (at[name].value = on ? "1" : "")), () => at[name].value === "1");
  const share = /** @type {HTMLInputElement} */ (h("input", { type: "range", min: 30, max: 100, step: 5, oninput: () => (at.mass.value = Number(share.value)) }));
  const text = h("output", {});
  const read = flag("label rows by the word read", "read");
  effect(() => {
    text.textContent = `${at.mass.value}%`;
    read.hidden = at.kind.value === "encoder" || app.task !== "translation";
  });
  return h(
    "span",
    { class: "bar" },
    app.task === "forecasting" ? null : [flag("whole words", "words"), flag("hide marks and punctuation", "plain")],
    flag("× ‖value‖", "norms"),
    flag("stretch the scale", "stretch"),
    read,
    follow(h("label", { class: "tick" }, "show top ", share, text), () => at.mass.value),
  );
}

/**
 * The matrix as it is shown, with its labels.
 * @param {App} app
 */
export function shown(app) {
  const { at } = app;
  const trace = app.trace.value;
  const now = trace && at.layer.value ? looks(app, at.kind.value, at.layer.value, at.head.value) : null;
  if (!trace || !now) return null;
  const kind = at.kind.value;
  let { matrix } = now;
  if (at.norms.value && !now.signed) matrix = byNorms(trace, kind, at.layer.value, at.head.value);
  const how = { words: Boolean(at.words.value), plain: Boolean(at.plain.value), read: Boolean(at.read.value) };
  const { rows, columns } = labels(trace, kind, how);
  if (how.words || how.plain) matrix = gathered(matrix, rows, columns);
  if (how.plain && !now.signed) matrix = normal(matrix);
  if (at.mass.value < 100 && !now.signed) matrix = topMass(matrix, at.mass.value / 100);
  return { matrix, rows, columns, hidden: hiddenCells(trace, kind, rows, columns), signed: now.signed };
}

/**
 * Each head's weights times the norms of its own values; of all heads (0) the mean of that.
 * @param {import("regard/types").Trace} trace
 * @param {Kind} kind
 * @param {number} layer
 * @param {number} head
 */
function byNorms(trace, kind, layer, head) {
  const { data, shape } = unpack(trace.value_norm[kind]);
  const [, heads, columns] = shape;
  const one = (/** @type {number} */ each) => {
    const first = ((layer - 1) * heads + each - 1) * columns;
    return weighed(weights(trace, kind, layer, each), data.subarray(first, first + columns));
  };
  return head ? one(head) : mean(Array.from({ length: heads }, (_, i) => one(i + 1)));
}

/**
 * The row and the column of the token that is chosen in the sentence.
 * @param {App} app
 * @param {import("regard/trace.js").Label[]} rows
 * @param {import("regard/trace.js").Label[]} columns
 */
function marked({ at }, rows, columns) {
  if (!at.token.value) return {};
  const source = at.token.value.startsWith("s");
  const token = Number(at.token.value.replace("s", ""));
  const of = (/** @type {import("regard/trace.js").Label[]} */ labels, /** @type {number} */ place) => {
    const found = labels.findIndex((label) => label.tokens.includes(place));
    return found < 0 ? undefined : found;
  };
  const kind = at.kind.value;
  const asks = source === (kind === "encoder");
  const asked = kind === "decoder" ? !source : source;
  return { row: asks ? of(rows, token) : undefined, column: asked ? of(columns, kind === "decoder" ? token + 1 : token) : undefined };
}

/** @param {number} head */
const headName = (head) => (head ? `head ${head}` : "mean of the heads");

/** @param {App} app */
function headFacts(app) {
  const { at } = app;
  const trace = app.trace.value;
  const facts = at.head.value ? trace?.heads[at.kind.value]?.[at.layer.value - 1]?.[at.head.value - 1] : null;
  if (!facts) return "";
  const matters = measuredHere(app).get(`${at.kind.value} ${at.layer.value} ${at.head.value}`) ?? facts.matters;
  return [
    `head ${at.layer.value}.${at.head.value}${switchedOff(app, at.kind.value, at.layer.value, at.head.value)}`,
    `peaked ${facts.peak.toFixed(2)}`,
    `entropy ${facts.entropy.toFixed(2)}`,
    facts.label && `label “${facts.label}”`,
    matters !== null && matters !== undefined && `matters: log p ${matters >= 0 ? "+" : "−"}${Math.abs(matters).toFixed(2)} when removed`,
  ].filter(Boolean).join(" · ");
}
