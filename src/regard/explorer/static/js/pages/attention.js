// Where every head looks: all of them small, one of them large.

import { kindName, layers, looks } from "regard/app.js";
import { choices, fill, h, pick, tick } from "regard/dom.js";
import { computed, effect } from "regard/signals.js";
import { gathered, labels, normal, summary, together, topMass, unpack, weighed } from "regard/trace.js";
import { linesView } from "regard/parts/lines.js";
import { matrixView } from "regard/parts/matrix.js";
import { overview } from "regard/parts/overview.js";
import { measure } from "regard/parts/measure.js";
import { switchOff } from "regard/parts/switch_off.js";

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
    /** @type {[Kind, string][]} */ (["encoder", "decoder", "cross"].map((k) => [k, kindName(/** @type {Kind} */ (k))])),
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
    name: () => `${kindName(at.kind.value)} attention, layer ${at.layer.value}, ${headName(at.head.value)}`,
    summary: () => {
      const it = now.value;
      const locked = drawn.value?.locked ?? [];
      if (it && locked.length) return together(it.matrix, locked, it.rows, it.columns);
      if (it?.signed && it.matrix.values.every((value) => Math.abs(value) < 5e-4)) return "no weight of this head became another";
      return it && !it.signed ? summary(it.matrix, it.columns) : "what became more is one colour, what became less the other";
    },
    tell: (row, column) => {
      const it = /** @type {NonNullable<ReturnType<typeof shown>>} */ (now.value);
      const value = it.matrix.values[row * it.matrix.columns + column];
      const masked = it.hidden?.(row, column);
      return `${masked ? "masked" : value.toFixed(3)}  “${it.rows[row].text}” looks at “${it.columns[column].text}”`;
    },
    lock: (rows) => (at.rows.value = rows),
  });
  const lines = linesView({ app, shown: () => now.value });
  effect(() => fill(large, at.view.value === "lines" ? lines : matrix));
  effect(() => {
    kinds.refresh();
    views.refresh();
    title.textContent = `${kindName(at.kind.value)} · layer ${at.layer.value} · ${headName(at.head.value)}`;
  });
  effect(() => {
    const trace = app.trace.value;
    if (!trace) return;
    const heads = Array.from({ length: trace.model.heads }, (_, i) => /** @type {[string, string]} */ ([String(i + 1), String(i + 1)]));
    const deep = Array.from({ length: layers(trace, at.kind.value) }, (_, i) => /** @type {[string, string]} */ ([String(i + 1), String(i + 1)]));
    fill(
      head,
      pick("layer", deep, String(at.layer.value), (v) => (at.layer.value = Number(v))),
      pick("head", [["0", "mean"], ...heads], String(at.head.value), (v) => (at.head.value = Number(v))),
    );
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
        h("p", { class: "faint" }, `A weight says where a head looked, not why the word was chosen; ${app.source ? "switch it off to see." : "regard explore can switch it off, to see."}`)),
    ),
  );
  effect(() => (one.dataset.kind = at.kind.value));
  return page;
}

/** @param {App} app */
function options(app) {
  const { at } = app;
  const box = h("span", { class: "bar" });
  const flag = (/** @type {string} */ label, /** @type {"words"|"plain"|"norms"|"read"|"stretch"} */ name) =>
    tick(label, at[name].value === "1", (on) => (at[name].value = on ? "1" : ""));
  effect(() => {
    const share = h("input", {
      type: "range", min: 30, max: 100, step: 5, value: at.mass.value,
      oninput: () => (at.mass.value = Number(/** @type {HTMLInputElement} */ (share).value)),
    });
    const text = h("output", {}, `${at.mass.value}%`);
    fill(
      box,
      flag("whole words", "words"),
      flag("hide marks and punctuation", "plain"),
      flag("× ‖value‖", "norms"),
      flag("stretch the scale", "stretch"),
      at.kind.value === "encoder" ? null : flag("label rows by the word read", "read"),
      h("label", { class: "tick" }, "show top ", share, text),
    );
  });
  return box;
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
  if (at.norms.value && !now.signed) matrix = weighed(matrix, valueNorms(app, matrix.columns));
  const how = { words: Boolean(at.words.value), plain: Boolean(at.plain.value), read: Boolean(at.read.value) };
  const { rows, columns } = labels(trace, kind, how);
  if (how.words || how.plain) matrix = gathered(matrix, rows, columns);
  if (how.plain && !now.signed) matrix = normal(matrix);
  if (at.mass.value < 100 && !now.signed) matrix = topMass(matrix, at.mass.value / 100);
  const hidden = kind === "decoder"
    ? (/** @type {number} */ r, /** @type {number} */ c) => columns[c].tokens[0] > Math.max(...rows[r].tokens)
    : undefined;
  return { matrix, rows, columns, hidden, signed: now.signed };
}

/** @param {App} app @param {number} columns */
function valueNorms(app, columns) {
  const { at } = app;
  const { data, shape } = unpack(/** @type {NonNullable<typeof app.trace.value>} */ (app.trace.value).value_norm[at.kind.value]);
  const heads = shape[1];
  const of = (/** @type {number} */ head) => data.subarray(((at.layer.value - 1) * heads + head) * columns, ((at.layer.value - 1) * heads + head + 1) * columns);
  if (at.head.value) return of(at.head.value - 1);
  const sum = new Float32Array(columns);
  for (let head = 0; head < heads; head++) of(head).forEach((value, i) => (sum[i] += value / heads));
  return sum;
}

/** @param {number} head */
const headName = (head) => (head ? `head ${head}` : "mean of the heads");

/** @param {App} app */
function headFacts(app) {
  const { at } = app;
  const trace = app.trace.value;
  const facts = at.head.value ? trace?.heads[at.kind.value]?.[at.layer.value - 1]?.[at.head.value - 1] : null;
  if (!facts) return "";
  const matters = app.matters.value.get(`${at.kind.value} ${at.layer.value} ${at.head.value}`) ?? facts.matters;
  return [
    `head ${at.layer.value}.${at.head.value}`,
    `peaked ${facts.peak.toFixed(2)}`,
    `entropy ${facts.entropy.toFixed(2)}`,
    facts.label && `label “${facts.label}”`,
    matters !== null && matters !== undefined && `matters: log p ${matters >= 0 ? "+" : "−"}${Math.abs(matters).toFixed(2)} when removed`,
  ].filter(Boolean).join(" · ");
}
