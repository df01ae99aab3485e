// Steps page: attention of one word and one head in seven steps; nothing advances by itself.

import { kindName, layerCount } from "regard/app.js";
import { radioGroup, setChildren, h, dropdown, checkbox } from "regard/dom.js";
import { drawBoard, layoutBoard, boardCellAt, subscript } from "regard/draw/step_board.js";
import { drawStrips as paintStrips, layoutStrips as placeStrips } from "regard/draw/vector_strips.js";
import { formatNumber } from "regard/format.js";
import { computed, effect, signal } from "regard/signals.js";
import { requestOf as requested } from "regard/source.js";
import { liveQuery } from "regard/parts/live_query.js";
import { matrixView } from "regard/parts/matrix_view.js";
import { fromExample, fromFile, fromServer } from "regard/step_numbers.js";
import { canvasView } from "regard/parts/canvas_view.js";
import { dataTable } from "regard/parts/downloads.js";
import { axisLabels, describeMatrix } from "regard/trace.js";
import { quote } from "regard/units.js";
import { cosine, norm, softmax, normalizedEntropy, WORKED_EXAMPLE } from "regard/attention_math.js";

/** @typedef {import("regard/app.js").App} App */
/** @typedef {import("regard/types").Kind} Kind */
/** @typedef {import("regard/step_numbers.js").StepNumbers} StepNumbers */

const NAMES = ["x", "q, k, v", "q · k", "÷ √dₖ", "mask", "softmax", "Σ weight · v"];
const LAST = NAMES.length;

/**
 * @param {App} app
 * @returns {HTMLElement}
 */
export function stepsPage(app) {
  const { state } = app;
  const query = liveQuery(app.source, () => {
    const trace = app.trace.value;
    if (!trace || state.example.value || !state.layer.value) return null;
    return { route: "steps", body: { request: requested(trace), kind: state.kind.value, layer: state.layer.value, head: currentHead(app), position: currentPosition(app) } };
  });
  const numbers = computed(() => currentNumbers(app, query.answer.value));
  const missing = h("p", { class: "problem", role: "alert" });
  const body = h("div", {}, walkthrough(app, numbers), h("div", { class: "grid" }, similarityTable(numbers), scoreMatrix(app, numbers)), afterAttention(app, numbers));
  effect(() => {
    body.hidden = !numbers.value;
    missing.textContent = query.problem.value || (numbers.value || query.busy.value ? "" : missingReason(app));
    missing.hidden = !missing.textContent;
  });
  return h("div", { class: "page" }, h("h1", {}, "Steps"), wordSelector(app), missing, body);
}

/** @param {App} app @param {any} answer @returns {StepNumbers | null} */
function currentNumbers(app, answer) {
  const { state } = app;
  const trace = app.trace.value;
  if (state.example.value) return fromExample(Math.min(3, Math.max(1, state.input.value)) - 1, Boolean(state.divide.value));
  if (!trace || !state.layer.value) return null;
  if (!app.source) return fromFile(trace, state.kind.value, state.layer.value, currentHead(app), currentPosition(app));
  const fits = answer && answer.kind === state.kind.value && answer.position < axisLabels(trace, state.kind.value).rows.length;
  return fits && answer.k.length === axisLabels(trace, state.kind.value).columns.length ? fromServer(answer, trace) : null;
}

/** @param {App} app */
function missingReason(app) {
  const trace = app.trace.value;
  if (!trace) return "";
  const has = trace.qkv?.[app.state.kind.value]?.layers ?? [];
  if (!has.length) return "This file carries no queries, keys and values. The worked example does, and so does regard explore with the model.";
  return `This file was made small: of this kind it carries queries, keys and values of layer ${has.join(", ")} only. Choose it, or open the model with regard explore.`;
}

/** @param {App} app @returns {number} a single head; the mean over heads has no steps */
const currentHead = (app) => app.state.head.value || 1;

/** @param {App} app @returns {number} the row of the selected token, if this attention has it */
function currentPosition(app) {
  const { kind, token } = app.state;
  const source = token.value.startsWith("s");
  return token.value && source === (kind.value === "encoder") ? Number(token.value.replace("s", "")) : 0;
}

/** @param {App} app */
function wordSelector(app) {
  const { state } = app;
  const box = h("div", { class: "bar" });
  const which = radioGroup("what to walk through", [["", "This sentence"], ["1", "The worked example"]], () => state.example.value, (v) => (state.example.value = v));
  const rest = h("span", { class: "bar" });
  setChildren(box, which, rest);
  effect(() => {
    which.refresh();
    const trace = app.trace.value;
    if (state.example.value) {
      const inputs = /** @type {[string, string][]} */ ([["1", "input 1"], ["2", "input 2"], ["3", "input 3"]]);
      setChildren(rest, dropdown("word", inputs, String(state.input.value), (v) => (state.input.value = Number(v))),
        checkbox("divide by √dₖ", Boolean(state.divide.value), (on) => (state.divide.value = on ? "1" : "")));
    } else if (trace) {
      const kind = state.kind.value;
      const words = axisLabels(trace, kind).rows.map((label, i) => /** @type {[string, string]} */ ([String(i), label.text]));
      const upTo = (/** @type {number} */ n) => Array.from({ length: n }, (_, i) => /** @type {[string, string]} */ ([String(i + 1), String(i + 1)]));
      setChildren(rest,
        dropdown("word", words, String(currentPosition(app)), (v) => (state.token.value = `${kind === "encoder" ? "s" : ""}${v}`)),
        dropdown("kind", ["encoder", "decoder", "cross"].map((k) => [k, kindName(/** @type {Kind} */ (k))]), kind, (v) => (state.kind.value = /** @type {Kind} */ (v))),
        dropdown("layer", upTo(layerCount(trace, kind)), String(state.layer.value), (v) => (state.layer.value = Number(v))),
        dropdown("head", upTo(trace.model.heads), String(currentHead(app)), (v) => (state.head.value = Number(v))));
    }
  });
  return box;
}

/** @param {App} app @param {{ readonly value: StepNumbers | null }} numbers */
function walkthrough(app, numbers) {
  const { state } = app;
  const step = () => Math.max(1, Math.min(LAST, state.walk.value));
  const go = (/** @type {number} */ to) => (state.walk.value = Math.max(1, Math.min(LAST, to)));
  const hard = signal(false);
  const back = h("button", { type: "button", "data-key": "back", onclick: () => go(step() - 1) }, "‹ Back");
  const next = h("button", { type: "button", class: "main", "data-key": "next", onclick: () => go(step() + 1) }, "Next ›");
  const count = h("span", { class: "facts", role: "status" });
  const list = NAMES.map((name, i) => h("button", { type: "button", class: "quiet", onclick: () => go(i + 1) }, `${i + 1}  ${name}`));
  const explanation = h("div", { class: "explanation", "aria-live": "polite" });
  const more = h("div", { class: "bar" });
  const nextWordButton = h("button", { type: "button", onclick: () => goToNextWord(app) }, "The same for the next word");
  effect(() => {
    const now = step();
    count.textContent = `${now} of ${LAST}`;
    /** @type {HTMLButtonElement} */ (back).disabled = now === 1;
    /** @type {HTMLButtonElement} */ (next).disabled = now === LAST;
    list.forEach((button, i) => (i + 1 === now ? button.setAttribute("aria-current", "step") : button.removeAttribute("aria-current")));
    setChildren(more, now === LAST ? [checkbox("as a look-up: only the best (argmax)", hard.value, (on) => (hard.value = on)), nextWordButton] : []);
  });
  effect(() => {
    const current = numbers.value;
    if (!current) return;
    const { text, formula, code } = explainStep(app, current, step(), hard.value);
    setChildren(explanation, h("p", {}, text), h("p", { class: "rule" }, h("span", {}, formula), h("span", { class: "faint" }, "code: ", h("code", {}, code))));
  });
  const navigation = h("div", { class: "bar step-buttons" }, back, count, next, h("span", { class: "faint" }, "Space and Shift+Space do the same"));
  return h("section", { class: "gap", "aria-label": "the seven steps" }, h("div", { class: "step-tabs", role: "group", "aria-label": "steps" }, list), explanation, navigation, inputStrip(numbers, step), boardView(numbers, step, hard), more);
}

/** @param {App} app */
function goToNextWord(app) {
  const { state } = app;
  const trace = app.trace.value;
  state.walk.value = 1;
  if (state.example.value) state.input.value = (Math.max(1, state.input.value) % 3) + 1;
  else if (trace) state.token.value = `${state.kind.value === "encoder" ? "s" : ""}${(currentPosition(app) + 1) % axisLabels(trace, state.kind.value).rows.length}`;
}

/** @param {{ readonly value: StepNumbers | null }} numbers @param {() => number} step */
function inputStrip(numbers, step) {
  const note = h("p", { class: "faint" });
  const view = canvasView({
    name: () => `x of ${quote(numbers.value?.query ?? "")}`,
    table: () => ({ rows: ["x"], columns: Array.from(numbers.value?.x ?? [], (_, i) => String(i + 1)), values: (_, c) => formatNumber(numbers.value?.x?.[c] ?? 0, 4) }),
    draw: (room) => {
      const now = numbers.value;
      if (!now?.x || step() > 2) return null;
      const [name, values] = [`x of ${quote(now.query)}`, now.x];
      const at = placeStrips(1, Math.min(room, 40 * values.length));
      return { ...at, paint: (surface, theme) => paintStrips(surface, [{ name, values, colour: theme.ink }], at, theme) };
    },
  });
  effect(() => {
    note.textContent = "The numbers of x are not in this file; q, k and v, which are made of it, are.";
    note.hidden = !numbers.value || Boolean(numbers.value.x) || step() > 1;
  });
  return h("div", {}, view, note);
}

/** @param {{ readonly value: StepNumbers | null }} numbers @param {() => number} step @param {{ value: boolean }} hard */
function boardView(numbers, step, hard) {
  const cursor = signal(/** @type {{ row: number | null, dimension: number } | null} */ (null));
  const status = h("p", { class: "status", role: "status" });
  const state = () => {
    const now = numbers.value;
    const on = cursor.value && now && cursor.value.dimension < now.q.length && step() > 1 ? cursor.value : null;
    return now && { numbers: now, step: step(), hard: hard.value, cursor: on };
  };
  const view = canvasView({
    name: () => `the steps of ${quote(numbers.value?.query ?? "")}`,
    table: () => boardTable(/** @type {StepNumbers} */ (numbers.value)),
    draw: (room) => {
      const now = state();
      if (!now) return null;
      const layout = layoutBoard(now, room);
      return { ...layout, paint: (surface, theme) => drawBoard(surface, now, layout, theme) };
    },
    box: {
      role: "application", "aria-roledescription": "board of the seven steps", "data-board": "",
      "aria-label": "the words that may be attended to, and the numbers of each step. Left and right move through the dimensions of q, up and down through the words.",
      onpointermove: (/** @type {PointerEvent} */ e) => (cursor.value = under(e)),
      onpointerleave: () => (cursor.value = null),
      onblur: () => (cursor.value = null),
      onkeydown: (/** @type {KeyboardEvent} */ e) => key(e),
    },
  });
  effect(() => {
    const now = state();
    status.textContent = !now ? "" : now.cursor ? describeDimension(now.numbers, now.cursor) : layoutBoard(now, view.room()).columns.k ? "Point at a dimension of q, or go through them with the arrow keys: it lights up in every key, with its product." : "";
  });

  /** @param {PointerEvent} event */
  function under(event) {
    const now = state();
    return now && boardCellAt(now, layoutBoard(now, view.room()), ...view.at(event));
  }

  /** @param {KeyboardEvent} event */
  function key(event) {
    const now = numbers.value;
    const by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!now || (!by && event.key !== "Escape")) return;
    event.preventDefault();
    event.stopPropagation();
    if (!by) return void (cursor.value = null);
    const had = cursor.value ?? { row: null, dimension: -by[1] };
    const row = by[0] ? Math.max(0, Math.min(now.keys.length - 1, (had.row ?? -1) + by[0])) : had.row;
    cursor.value = { row, dimension: (had.dimension + by[1] + now.q.length) % now.q.length };
  }
  return h("div", {}, view, status);
}

/** @param {StepNumbers} now @param {{ row: number | null, dimension: number }} cursor */
function describeDimension(now, { row, dimension }) {
  const i = subscript(dimension);
  const products = now.k.map((key) => now.q[dimension] * key[dimension]);
  const which = row ?? products.indexOf(Math.max(...products));
  const product = `${quote(now.keys[which])}: q${i}·k${i} = ${formatNumber(now.q[dimension], 3)} × ${formatNumber(now.k[which][dimension], 3)} = ${formatNumber(products[which], 3)}`;
  return `dimension ${dimension + 1} of q${row === null ? " gives most with " : ", with "}${product}, of q·k = ${formatNumber(now.dot[which], 3)}`;
}

/** @param {StepNumbers} now */
function boardTable(now) {
  const columns = ["q·k", "÷ √dk", "masked", "softmax"];
  const cells = [now.dot, now.scaled, now.masked, now.weights];
  return { rows: now.keys, columns, corner: now.query, values: (/** @type {number} */ r, /** @type {number} */ c) => (cells[c][r] === null ? "−∞" : formatNumber(/** @type {number} */ (cells[c][r]), 4)) };
}

/** Table of dot product, scaled dot product and cosine. @param {{ readonly value: StepNumbers | null }} numbers */
function similarityTable(numbers) {
  const room = h("div", {});
  effect(() => {
    const now = numbers.value;
    if (!now) return;
    const cells = [now.dot, now.scaled, now.weights, now.cosine, now.k.map(norm)];
    const table = { rows: now.keys, columns: ["q · k", `÷ ${formatNumber(now.divisor)}`, "weight", "cos(q, k)", "‖k‖"], corner: "key", values: (/** @type {number} */ r, /** @type {number} */ c) => (c === 2 && now.masked[r] === null ? "masked" : formatNumber(cells[c][r], c === 2 || c === 3 ? 3 : 2)) };
    setChildren(room, dataTable(table, `‖q‖ = ${formatNumber(norm(now.q))}`));
  });
  return h("section", { "aria-label": "three measures" }, h("h2", {}, "Dot product, scaled, and cosine"),
    h("p", { class: "faint" }, "The dot product is ‖q‖ ‖k‖ cos(q, k): a long key may score higher than one with a more similar direction. The cosine ignores the lengths; attention does not."), room);
}

/** Matrix of all scores, before or after the softmax. @param {App} app @param {{ readonly value: StepNumbers | null }} numbers */
function scoreMatrix(app, numbers) {
  const { state } = app;
  const after = signal(false);
  const scoreChoice = radioGroup("scores", [[false, "before the softmax"], [true, "after"]], () => after.value, (v) => (after.value = v));
  effect(() => {
    after.value;
    scoreChoice.refresh();
  });
  const matrix = () => (after.value ? numbers.value?.weightRows : numbers.value?.scores) ?? null;
  const note = h("p", { class: "faint" });
  effect(() => {
    note.textContent = numbers.value && !numbers.value.scores && !after.value ? "The scores of the other words are not available." : "";
  });
  const view = matrixView({
    picture: () => {
      const [now, shown] = [numbers.value, matrix()];
      if (!now || !shown) return null;
      const top = after.value ? 1 : shown.values.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-6);
      return { matrix: shown, rows: now.rows, columns: now.keys, hidden: now.hidden, signed: !after.value, top, axes: ["attends (query)", "is attended to (key)"], locked: [now.position] };
    },
    name: () => (after.value ? "weights after the softmax" : "scores before the softmax"),
    summary: () => {
      const now = numbers.value;
      const shown = matrix();
      if (!now || !shown) return "";
      return after.value ? describeMatrix(shown, now.keys.map((text, i) => ({ text, tokens: [i], special: false }))) : "one colour for scores above 0, the other for those below";
    },
    describeCell: (row, column) => {
      const now = /** @type {StepNumbers} */ (numbers.value);
      const value = matrix()?.values[row * now.keys.length + column] ?? 0;
      return `${now.hidden(row, column) ? "masked, −∞" : formatNumber(value, 3)}  ${quote(now.rows[row])} and ${quote(now.keys[column])}`;
    },
    lock: (rows) => {
      const row = rows[rows.length - 1];
      if (row === undefined) return;
      if (state.example.value) state.input.value = row + 1;
      else state.token.value = `${state.kind.value === "encoder" ? "s" : ""}${row}`;
    },
  });
  return h("section", { "aria-label": "all scores of this head" }, h("h2", {}, "Every word at once: Q Kᵀ"), h("div", { class: "bar" }, scoreChoice), view, note);
}

/** All numbers of the worked example. @param {App} app */
function exampleTables(app) {
  const { x, query, key, value } = WORKED_EXAMPLE;
  const walks = x.map((_, i) => fromExample(i, Boolean(app.state.divide.value)));
  const table = (/** @type {string} */ name, /** @type {number[][]} */ rows) =>
    dataTable({ rows: rows.map((_, i) => String(i + 1)), columns: rows[0].map((_, i) => String(i + 1)), values: (r, c) => formatNumber(rows[r][c], rows.flat().every(Number.isInteger) ? 0 : 4) }, name);
  return h("div", { class: "bar tables" },
    table("X", x), table("W^Q", query), table("W^K", key), table("W^V", value),
    table("Q = X W^Q", walks.map((each) => each.q)), table("K = X W^K", walks[0].k), table("V = X W^V", walks[0].v),
    table("scores Q Kᵀ", walks.map((each) => each.dot)), table("weights", walks.map((each) => each.weights)), table("outputs", walks.map((each) => each.z)));
}

/** @param {App} app @param {{ readonly value: StepNumbers | null }} numbers */
function afterAttention(app, numbers) {
  const view = canvasView({
    name: () => "vectors after the attention",
    table: () => {
      const strips = numbers.value?.after ?? [];
      return { rows: strips.map((strip) => strip.name), columns: ["length", ...Array.from(strips[0]?.values ?? [], (_, i) => String(i + 1))], values: (r, c) => formatNumber(c ? strips[r].values[c - 1] ?? 0 : norm(strips[r].values), 4) };
    },
    draw: (room) => {
      const strips = numbers.value?.after ?? [];
      if (!strips.length) return null;
      const at = placeStrips(strips.length, room);
      return { ...at, paint: (surface, theme) => paintStrips(surface, strips.map((strip) => ({ ...strip, colour: theme[strip.tone] })), at, theme) };
    },
  });
  const note = h("p", { class: "faint" });
  const title = h("h2", {});
  const whole = h("div", {});
  effect(() => {
    const worked = Boolean(app.state.example.value);
    title.textContent = worked ? "The whole example" : "After the attention";
    setChildren(whole, worked ? exampleTables(app) : null);
    note.textContent = worked ? "Every number is computed in this page, by the functions that walk through a sentence."
      : numbers.value?.after.length
      ? "Each strip is one vector of this word, scaled to its own largest number; ‖·‖ is its length."
      : "After z: the heads are concatenated, multiplied by Wᴼ, added to the residual, normed, and passed through the feed-forward layer. These vectors come from the model: regard explore shows them.";
  });
  return h("section", { class: "gap", "aria-label": "vectors after the attention" }, title, note, view, whole);
}

/**
 * Explain a step with the numbers of this word.
 * @param {App} app
 * @param {StepNumbers} now
 * @param {number} step
 * @param {boolean} hard
 * @returns {{ text: string, formula: string, code: string }}
 */
function explainStep(app, now, step, hard) {
  const example = Boolean(app.state.example.value);
  const kind = example ? "encoder" : app.state.kind.value;
  const first = !example && app.state.layer.value === 1 && kind !== "cross";
  const [dk, root] = [now.q.length, formatNumber(now.divisor)];
  const seen = now.masked.filter((score) => score !== null).length;
  const best = now.weights.indexOf(Math.max(...now.weights));
  const plain = softmax(now.masked.map((score, i) => (score === null ? null : now.dot[i])));
  switch (step) {
    case 1:
      return {
        text: example ? `Three inputs of four whole numbers, so that all can be checked by hand. We follow ${now.query}.`
          : `${quote(now.query)} comes in as a vector x${now.x ? ` of ${now.x.length} numbers` : ""}: ${first ? "its embedding plus its position" : "the output of the layer below"}${app.trace.value?.model.norm === "pre" ? ", normed" : ""}. ${kind === "cross" ? "The words it may attend to come from the encoder." : kind === "decoder" ? "It may attend to itself and to the tokens before it." : "It may attend to every word of the sentence, including itself."}`,
        formula: example ? "x" : app.trace.value?.model.norm === "pre" ? "x = LayerNorm(stream)" : first ? "x = embedding · √d + position" : "x = what left the sublayer below", code: first ? "model/embedding.py" : "model/layers.py",
      };
    case 2:
      return { text: `Three matrices${example ? "" : " of this head, learned in training,"} make three vectors of ${dk} numbers: from x the query q; from every word that may be attended to a key k, which is compared with q, and a value v, which is passed on.`, formula: example ? "q = x W^Q,  k = x W^K,  v = x W^V" : "q = x W^Q + b,  k = y W^K + b,  v = y W^V + b", code: "model/attention.py, MultiHeadAttention" };
    case 3:
      return { text: `The score of a word is the dot product of q with its key: the products of all dimensions, added. Keys that point in the direction of q score high${kind === "cross" ? "" : "; the word is scored against itself, too"}.`, formula: `q · k = q₁k₁ + q₂k₂ + … + q${subscript(dk - 1)}k${subscript(dk - 1)}`, code: "model/attention.py, attention_weights" };
    case 4:
      return { text: explainScaling(now, dk, example, plain), formula: Math.abs(now.divisor - Math.sqrt(dk)) < 1e-3 ? "q · k / √dₖ" : now.divisor === 1 ? "q · k" : `q · k / ${root}`, code: "model/attention.py, attention_weights" };
    case 5:
      return { text: seen < now.keys.length ? (kind === "decoder" ? `Later words are not decoded yet at this position: their score becomes −∞, so that their weight is exactly 0. ${seen} of ${now.keys.length} may be seen.` : `Hidden source words get −∞, so that their weight is exactly 0. ${seen} of ${now.keys.length} may be seen.`)
        : kind === "decoder" ? "Later words would get −∞ here; this is the last one and attends to all." : "Nothing is hidden here: every word may be seen. In the decoder’s own attention later words get −∞.", formula: "score + M,  M = 0 where seen, −∞ where not", code: "model/masks.py" };
    case 6:
      return { text: `The softmax turns the scores into weights: e to the power of each, divided by the sum of all. None is negative, their sum is 1, and large scores gain the most. The largest weight is on ${quote(now.keys[best])}: ${formatNumber(now.weights[best], 3)}.`, formula: "weightⱼ = e^scoreⱼ / Σ e^score", code: "model/attention.py, attention_weights" };
    default:
      return { text: hard ? `A look-up takes one value, that of the best key, ${quote(now.keys[best])}, and nothing of the others; it could not be learned by gradients. Here the result would be similar if both vectors point in the same direction: cosine with the weighted sum ${formatNumber(cosine(now.v[best], now.z), 3)}.`
        : `Every value times its weight, and all of them added, is z: what ${quote(now.query)} takes from the words it attends to. The weights select, the values are passed on. The same is computed for every word of the sentence.`, formula: hard ? "z = v of the best key" : "z = Σ weightⱼ vⱼ", code: "model/attention.py, attention" };
  }
}

/** Explain the scaling. @param {StepNumbers} now @param {number} dk @param {boolean} example @param {number[]} plain weights without scaling */
function explainScaling(now, dk, example, plain) {
  const usual = `√${dk} = ${formatNumber(Math.sqrt(dk))}`;
  const seen = now.masked.filter((score) => score !== null).length;
  const why = `sums of ${dk} products grow with √${dk}, and the softmax of large numbers puts all on one word and then hardly learns`;
  const here = `Here: spread of the weights ${formatNumber(normalizedEntropy(now.weights, seen))} with the division, ${formatNumber(normalizedEntropy(plain, seen))} without (0 all on one, 1 all alike).`;
  if (Math.abs(now.divisor - Math.sqrt(dk)) < 1e-3) return `Divide by ${usual}: ${why}. ${here}`;
  if (example) return `This example leaves the division out: the scores stay as they are. Tick “divide by √dₖ” to see what it changes: without it the weights are spread ${formatNumber(normalizedEntropy(now.weights, seen))} (0 all on one word, 1 all alike).`;
  return `This model divides by ${formatNumber(now.divisor)}; usual is ${usual}, because ${why}. ${here}`;
}
