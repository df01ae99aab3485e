// One word, one head, seven steps: the text first, then the reader presses Next; nothing moves by itself.

import { kindName, layers } from "regard/app.js";
import { choices, fill, h, pick, tick } from "regard/dom.js";
import { paint, place, pointAt, sub } from "regard/draw/step_board.js";
import { paint as paintStrips, place as placeStrips } from "regard/draw/vector_strips.js";
import { fixed } from "regard/format.js";
import { computed, effect, signal } from "regard/signals.js";
import { asked as requested } from "regard/source.js";
import { following } from "regard/parts/live_query.js";
import { matrixView } from "regard/parts/matrix_view.js";
import { fromExample, fromFile, fromServer } from "regard/step_numbers.js";
import { painted } from "regard/parts/canvas_view.js";
import { asTable } from "regard/parts/downloads.js";
import { labels, summary } from "regard/trace.js";
import { quoted } from "regard/units.js";
import { cosine, norm, softmax, spread, WORKED } from "regard/attention_math.js";

/** @typedef {import("regard/app.js").App} App */
/** @typedef {import("regard/types").Kind} Kind */
/** @typedef {import("regard/step_numbers.js").Shown} Shown */

const NAMES = ["x", "q, k, v", "q · k", "÷ √dₖ", "mask", "softmax", "Σ weight · v"];
const LAST = NAMES.length;

/**
 * @param {App} app
 * @returns {HTMLElement}
 */
export function steps(app) {
  const { at } = app;
  const asked = following(app.source, () => {
    const trace = app.trace.value;
    if (!trace || at.example.value || !at.layer.value) return null;
    return { route: "steps", body: { request: requested(trace), kind: at.kind.value, layer: at.layer.value, head: headOf(app), position: positionOf(app) } };
  });
  const numbers = computed(() => shownNumbers(app, asked.answer.value));
  const missing = h("p", { class: "problem", role: "alert" });
  const body = h("div", {}, walkthrough(app, numbers), h("div", { class: "grid" }, measures(numbers), soft(app, numbers)), afterwards(app, numbers));
  effect(() => {
    body.hidden = !numbers.value;
    missing.textContent = asked.problem.value || (numbers.value || asked.busy.value ? "" : whyNone(app));
    missing.hidden = !missing.textContent;
  });
  return h("div", { class: "page" }, h("h1", {}, "Steps"), where(app), missing, body);
}

/** @param {App} app @param {any} answer @returns {Shown | null} */
function shownNumbers(app, answer) {
  const { at } = app;
  const trace = app.trace.value;
  if (at.example.value) return fromExample(Math.min(3, Math.max(1, at.input.value)) - 1, Boolean(at.divide.value));
  if (!trace || !at.layer.value) return null;
  if (!app.source) return fromFile(trace, at.kind.value, at.layer.value, headOf(app), positionOf(app));
  const fits = answer && answer.kind === at.kind.value && answer.position < labels(trace, at.kind.value).rows.length;
  return fits && answer.k.length === labels(trace, at.kind.value).columns.length ? fromServer(answer, trace) : null;
}

/** @param {App} app */
function whyNone(app) {
  const trace = app.trace.value;
  if (!trace) return "";
  const has = trace.qkv?.[app.at.kind.value]?.layers ?? [];
  if (!has.length) return "This file carries no queries, keys and values. The worked example does, and so does regard explore with the model.";
  return `This file was made small: of this kind it carries queries, keys and values of layer ${has.join(", ")} only. Choose it, or open the model with regard explore.`;
}

/** @param {App} app one head is walked through; the mean of all is none */
const headOf = (app) => app.at.head.value || 1;

/** @param {App} app the row of the chosen token, where it is one of this attention's */
function positionOf(app) {
  const { kind, token } = app.at;
  const source = token.value.startsWith("s");
  return token.value && source === (kind.value === "encoder") ? Number(token.value.replace("s", "")) : 0;
}

/** @param {App} app */
function where(app) {
  const { at } = app;
  const box = h("div", { class: "bar" });
  const which = choices("what to walk through", [["", "This sentence"], ["1", "The worked example"]], () => at.example.value, (v) => (at.example.value = v));
  const rest = h("span", { class: "bar" });
  fill(box, which, rest);
  effect(() => {
    which.refresh();
    const trace = app.trace.value;
    if (at.example.value) {
      const inputs = /** @type {[string, string][]} */ ([["1", "input 1"], ["2", "input 2"], ["3", "input 3"]]);
      fill(rest, pick("word", inputs, String(at.input.value), (v) => (at.input.value = Number(v))),
        tick("divide by √dₖ", Boolean(at.divide.value), (on) => (at.divide.value = on ? "1" : "")));
    } else if (trace) {
      const kind = at.kind.value;
      const words = labels(trace, kind).rows.map((label, i) => /** @type {[string, string]} */ ([String(i), label.text]));
      const upTo = (/** @type {number} */ n) => Array.from({ length: n }, (_, i) => /** @type {[string, string]} */ ([String(i + 1), String(i + 1)]));
      fill(rest,
        pick("word", words, String(positionOf(app)), (v) => (at.token.value = `${kind === "encoder" ? "s" : ""}${v}`)),
        pick("kind", ["encoder", "decoder", "cross"].map((k) => [k, kindName(/** @type {Kind} */ (k))]), kind, (v) => (at.kind.value = /** @type {Kind} */ (v))),
        pick("layer", upTo(layers(trace, kind)), String(at.layer.value), (v) => (at.layer.value = Number(v))),
        pick("head", upTo(trace.model.heads), String(headOf(app)), (v) => (at.head.value = Number(v))));
    }
  });
  return box;
}

/** @param {App} app @param {{ readonly value: Shown | null }} numbers */
function walkthrough(app, numbers) {
  const { at } = app;
  const step = () => Math.max(1, Math.min(LAST, at.walk.value));
  const go = (/** @type {number} */ to) => (at.walk.value = Math.max(1, Math.min(LAST, to)));
  const hard = signal(false);
  const back = h("button", { type: "button", "data-key": "back", onclick: () => go(step() - 1) }, "‹ Back");
  const next = h("button", { type: "button", class: "main", "data-key": "next", onclick: () => go(step() + 1) }, "Next ›");
  const count = h("span", { class: "facts", role: "status" });
  const list = NAMES.map((name, i) => h("button", { type: "button", class: "quiet", onclick: () => go(i + 1) }, `${i + 1}  ${name}`));
  const said = h("div", { class: "said", "aria-live": "polite" });
  const more = h("div", { class: "bar" });
  const again = h("button", { type: "button", onclick: () => nextWord(app) }, "The same for the next word");
  effect(() => {
    const now = step();
    count.textContent = `${now} of ${LAST}`;
    /** @type {HTMLButtonElement} */ (back).disabled = now === 1;
    /** @type {HTMLButtonElement} */ (next).disabled = now === LAST;
    list.forEach((button, i) => (i + 1 === now ? button.setAttribute("aria-current", "step") : button.removeAttribute("aria-current")));
    fill(more, now === LAST ? [tick("as a look-up: only the best (argmax)", hard.value, (on) => (hard.value = on)), again] : []);
  });
  effect(() => {
    const shown = numbers.value;
    if (!shown) return;
    const { text, formula, code } = told(app, shown, step(), hard.value);
    fill(said, h("p", {}, text), h("p", { class: "rule" }, h("span", {}, formula), h("span", { class: "faint" }, "code: ", h("code", {}, code))));
  });
  const ways = h("div", { class: "bar ways" }, back, count, next, h("span", { class: "faint" }, "Space and Shift+Space do the same"));
  return h("section", { class: "gap", "aria-label": "the seven steps" }, h("div", { class: "seven", role: "group", "aria-label": "steps" }, list), said, ways, xStrip(numbers, step), board(numbers, step, hard), more);
}

/** @param {App} app */
function nextWord(app) {
  const { at } = app;
  const trace = app.trace.value;
  at.walk.value = 1;
  if (at.example.value) at.input.value = (Math.max(1, at.input.value) % 3) + 1;
  else if (trace) at.token.value = `${at.kind.value === "encoder" ? "s" : ""}${(positionOf(app) + 1) % labels(trace, at.kind.value).rows.length}`;
}

/** @param {{ readonly value: Shown | null }} numbers @param {() => number} step */
function xStrip(numbers, step) {
  const note = h("p", { class: "faint" });
  const view = painted({
    name: () => `x of ${quoted(numbers.value?.query ?? "")}`,
    table: () => ({ rows: ["x"], columns: Array.from(numbers.value?.x ?? [], (_, i) => String(i + 1)), values: (_, c) => fixed(numbers.value?.x?.[c] ?? 0, 4) }),
    draw: (room) => {
      const now = numbers.value;
      if (!now?.x || step() > 2) return null;
      const [name, values] = [`x of ${quoted(now.query)}`, now.x];
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

/** @param {{ readonly value: Shown | null }} numbers @param {() => number} step @param {{ value: boolean }} hard */
function board(numbers, step, hard) {
  const cursor = signal(/** @type {{ row: number | null, dimension: number } | null} */ (null));
  const said = h("p", { class: "told", role: "status" });
  const state = () => {
    const now = numbers.value;
    const on = cursor.value && now && cursor.value.dimension < now.q.length && step() > 1 ? cursor.value : null;
    return now && { numbers: now, step: step(), hard: hard.value, cursor: on };
  };
  const view = painted({
    name: () => `the steps of ${quoted(numbers.value?.query ?? "")}`,
    table: () => asRows(/** @type {Shown} */ (numbers.value)),
    draw: (room) => {
      const now = state();
      if (!now) return null;
      const at = place(now, room);
      return { ...at, paint: (surface, theme) => paint(surface, now, at, theme) };
    },
    box: {
      role: "application", "aria-roledescription": "board of the seven steps", "data-board": "",
      "aria-label": "the words that may be looked at, and the numbers of each step. Left and right go through the dimensions of q, up and down through the words.",
      onpointermove: (/** @type {PointerEvent} */ e) => (cursor.value = under(e)),
      onpointerleave: () => (cursor.value = null),
      onblur: () => (cursor.value = null),
      onkeydown: (/** @type {KeyboardEvent} */ e) => key(e),
    },
  });
  effect(() => {
    const now = state();
    said.textContent = !now ? "" : now.cursor ? tell(now.numbers, now.cursor) : place(now, view.room()).columns.k ? "Point at a dimension of q, or go through them with the arrow keys: it lights up in every key, with its product." : "";
  });

  /** @param {PointerEvent} event */
  function under(event) {
    const now = state();
    return now && pointAt(now, place(now, view.room()), ...view.at(event));
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
  return h("div", {}, view, said);
}

/** @param {Shown} now @param {{ row: number | null, dimension: number }} cursor */
function tell(now, { row, dimension }) {
  const i = sub(dimension);
  const products = now.k.map((key) => now.q[dimension] * key[dimension]);
  const which = row ?? products.indexOf(Math.max(...products));
  const product = `${quoted(now.keys[which])}: q${i}·k${i} = ${fixed(now.q[dimension], 3)} × ${fixed(now.k[which][dimension], 3)} = ${fixed(products[which], 3)}`;
  return `dimension ${dimension + 1} of q${row === null ? " gives most with " : ", with "}${product}, of q·k = ${fixed(now.dot[which], 3)}`;
}

/** @param {Shown} now */
function asRows(now) {
  const columns = ["q·k", "÷ √dk", "masked", "softmax"];
  const cells = [now.dot, now.scaled, now.masked, now.weights];
  return { rows: now.keys, columns, corner: now.query, values: (/** @type {number} */ r, /** @type {number} */ c) => (cells[c][r] === null ? "−∞" : fixed(/** @type {number} */ (cells[c][r]), 4)) };
}

/** Raw dot, scaled dot and cosine side by side. @param {{ readonly value: Shown | null }} numbers */
function measures(numbers) {
  const room = h("div", {});
  effect(() => {
    const now = numbers.value;
    if (!now) return;
    const cells = [now.dot, now.scaled, now.weights, now.cosine, now.k.map(norm)];
    const table = { rows: now.keys, columns: ["q · k", `÷ ${fixed(now.divisor)}`, "weight", "cos(q, k)", "‖k‖"], corner: "key", values: (/** @type {number} */ r, /** @type {number} */ c) => (c === 2 && now.masked[r] === null ? "masked" : fixed(cells[c][r], c === 2 || c === 3 ? 3 : 2)) };
    fill(room, asTable(table, `‖q‖ = ${fixed(norm(now.q))}`));
  });
  return h("section", { "aria-label": "three measures" }, h("h2", {}, "Dot product, scaled, and cosine"),
    h("p", { class: "faint" }, "The dot product is ‖q‖ ‖k‖ cos(q, k): a long key may win over one that points more nearly the same way. The cosine leaves the lengths out; attention does not."), room);
}

/** Every word's scores, before the softmax and after. @param {App} app @param {{ readonly value: Shown | null }} numbers */
function soft(app, numbers) {
  const { at } = app;
  const after = signal(false);
  const ways = choices("scores", [[false, "before the softmax"], [true, "after"]], () => after.value, (v) => (after.value = v));
  effect(() => {
    after.value;
    ways.refresh();
  });
  const matrix = () => (after.value ? numbers.value?.weightRows : numbers.value?.scores) ?? null;
  const note = h("p", { class: "faint" });
  effect(() => {
    note.textContent = numbers.value && !numbers.value.scores && !after.value ? "The scores of the other words are not at hand." : "";
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
      return after.value ? summary(shown, now.keys.map((text, i) => ({ text, tokens: [i], special: false }))) : "one colour for scores above 0, the other for those below";
    },
    tell: (row, column) => {
      const now = /** @type {Shown} */ (numbers.value);
      const value = matrix()?.values[row * now.keys.length + column] ?? 0;
      return `${now.hidden(row, column) ? "masked, −∞" : fixed(value, 3)}  ${quoted(now.rows[row])} and ${quoted(now.keys[column])}`;
    },
    lock: (rows) => {
      const row = rows[rows.length - 1];
      if (row === undefined) return;
      if (at.example.value) at.input.value = row + 1;
      else at.token.value = `${at.kind.value === "encoder" ? "s" : ""}${row}`;
    },
  });
  return h("section", { "aria-label": "all scores of this head" }, h("h2", {}, "Every word at once: Q Kᵀ"), h("div", { class: "bar" }, ways), view, note);
}

/** The worked example whole, number by number. @param {App} app */
function example(app) {
  const { x, query, key, value } = WORKED;
  const walks = x.map((_, i) => fromExample(i, Boolean(app.at.divide.value)));
  const table = (/** @type {string} */ name, /** @type {number[][]} */ rows) =>
    asTable({ rows: rows.map((_, i) => String(i + 1)), columns: rows[0].map((_, i) => String(i + 1)), values: (r, c) => fixed(rows[r][c], rows.flat().every(Number.isInteger) ? 0 : 4) }, name);
  return h("div", { class: "bar tables" },
    table("X", x), table("W^Q", query), table("W^K", key), table("W^V", value),
    table("Q = X W^Q", walks.map((each) => each.q)), table("K = X W^K", walks[0].k), table("V = X W^V", walks[0].v),
    table("scores Q Kᵀ", walks.map((each) => each.dot)), table("weights", walks.map((each) => each.weights)), table("outputs", walks.map((each) => each.z)));
}

/** @param {App} app @param {{ readonly value: Shown | null }} numbers */
function afterwards(app, numbers) {
  const view = painted({
    name: () => "what becomes of z",
    table: () => {
      const strips = numbers.value?.after ?? [];
      return { rows: strips.map((strip) => strip.name), columns: ["length", ...Array.from(strips[0]?.values ?? [], (_, i) => String(i + 1))], values: (r, c) => fixed(c ? strips[r].values[c - 1] ?? 0 : norm(strips[r].values), 4) };
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
    const worked = Boolean(app.at.example.value);
    title.textContent = worked ? "The whole example" : "And then";
    fill(whole, worked ? example(app) : null);
    note.textContent = worked ? "Every number is computed in this page, by the functions that walk through a sentence."
      : numbers.value?.after.length
      ? "Each strip is one vector of this word, scaled to its own largest number; ‖·‖ is its length."
      : "After z: the heads are joined, multiplied by Wᴼ, added to what came in, normed, and passed through the feed-forward layer. Those vectors come from the model: regard explore shows them.";
  });
  return h("section", { class: "gap", "aria-label": "what becomes of z" }, title, note, view, whole);
}

/**
 * What is said at a step, with this word's numbers in it.
 * @param {App} app
 * @param {Shown} now
 * @param {number} step
 * @param {boolean} hard
 * @returns {{ text: string, formula: string, code: string }}
 */
function told(app, now, step, hard) {
  const example = Boolean(app.at.example.value);
  const kind = example ? "encoder" : app.at.kind.value;
  const first = !example && app.at.layer.value === 1 && kind !== "cross";
  const [dk, root] = [now.q.length, fixed(now.divisor)];
  const seen = now.masked.filter((score) => score !== null).length;
  const best = now.weights.indexOf(Math.max(...now.weights));
  const plain = softmax(now.masked.map((score, i) => (score === null ? null : now.dot[i])));
  switch (step) {
    case 1:
      return {
        text: example ? `Three inputs of four whole numbers, so that all can be checked by hand. We follow ${now.query}.`
          : `${quoted(now.query)} comes in as a vector x${now.x ? ` of ${now.x.length} numbers` : ""}: ${first ? "its embedding plus its position" : "what the layers below have made of the word"}${app.trace.value?.model.norm === "pre" ? ", normed" : ""}. ${kind === "cross" ? "The words it may look at come from the encoder." : kind === "decoder" ? "It may look at itself and at what was written before it." : "It may look at every word of the sentence, itself among them."}`,
        formula: example ? "x" : app.trace.value?.model.norm === "pre" ? "x = LayerNorm(stream)" : first ? "x = embedding · √d + position" : "x = what left the sublayer below", code: first ? "model/embedding.py" : "model/layers.py",
      };
    case 2:
      return { text: `Three matrices${example ? "" : " of this head, learned in training,"} make three vectors of ${dk} numbers: of x the query q, which asks; of every word that may be looked at a key k, where to look, and a value v, what is found there.`, formula: example ? "q = x W^Q,  k = x W^K,  v = x W^V" : "q = x W^Q + b,  k = y W^K + b,  v = y W^V + b", code: "model/attention.py, MultiHeadAttention" };
    case 3:
      return { text: `The score of a word is the dot product of q with its key: dimension by dimension multiplied, and all products added. Keys that point where q points score high${kind === "cross" ? "" : "; the word is scored against itself, too"}.`, formula: `q · k = q₁k₁ + q₂k₂ + … + q${sub(dk - 1)}k${sub(dk - 1)}`, code: "model/attention.py, attention_weights" };
    case 4:
      return { text: divided(now, dk, example, plain), formula: Math.abs(now.divisor - Math.sqrt(dk)) < 1e-3 ? "q · k / √dₖ" : now.divisor === 1 ? "q · k" : `q · k / ${root}`, code: "model/attention.py, attention_weights" };
    case 5:
      return { text: seen < now.keys.length ? (kind === "decoder" ? `Later words are not written yet when this one is read: their score becomes −∞, so that their weight is exactly 0. ${seen} of ${now.keys.length} may be seen.` : `Hidden source words get −∞, so that their weight is exactly 0. ${seen} of ${now.keys.length} may be seen.`)
        : kind === "decoder" ? "Later words would get −∞ here; this is the last one, and sees all." : "Nothing is hidden here: every word may be seen. In the decoder’s own attention later words get −∞.", formula: "score + M,  M = 0 where seen, −∞ where not", code: "model/visible.py" };
    case 6:
      return { text: `The softmax makes weights of the scores: e to the power of each, over the sum of all. None is negative, together they are 1, and what was high becomes higher still. Most goes to ${quoted(now.keys[best])}: ${fixed(now.weights[best], 3)}.`, formula: "weightⱼ = e^scoreⱼ / Σ e^score", code: "model/attention.py, attention_weights" };
    default:
      return { text: hard ? `A look-up takes one value, that of the best key, ${quoted(now.keys[best])}, and nothing of the others; it could not be learned by gradients. It would give nearly the same here if the two point alike: cosine with the weighted sum ${fixed(cosine(now.v[best], now.z), 3)}.`
        : `Every value times its weight, and all of them added, is z: what ${quoted(now.query)} takes from the words it looked at. Weights say where, values say what. Then the same for the next word, until the sentence ends.`, formula: hard ? "z = v of the best key" : "z = Σ weightⱼ vⱼ", code: "model/attention.py, attention" };
  }
}

/** What is said of the division. @param {Shown} now @param {number} dk @param {boolean} example @param {number[]} plain the weights without it */
function divided(now, dk, example, plain) {
  const usual = `√${dk} = ${fixed(Math.sqrt(dk))}`;
  const seen = now.masked.filter((score) => score !== null).length;
  const why = `sums of ${dk} products grow with √${dk}, and the softmax of large numbers puts all on one word and then hardly learns`;
  const here = `Here: spread of the weights ${fixed(spread(now.weights, seen))} with the division, ${fixed(spread(plain, seen))} without (0 all on one, 1 all alike).`;
  if (Math.abs(now.divisor - Math.sqrt(dk)) < 1e-3) return `Divide by ${usual}: ${why}. ${here}`;
  if (example) return `This example leaves the division out: the scores stay as they are. Tick “divide by √dₖ” to see what it changes: without it the weights are spread ${fixed(spread(now.weights, seen))} (0 all on one word, 1 all alike).`;
  return `This model divides by ${fixed(now.divisor)}; usual is ${usual}, because ${why}. ${here}`;
}
