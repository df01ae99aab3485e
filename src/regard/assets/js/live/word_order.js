// The order of words: what positions tell, and how long it is remembered.

import { fill, h, tick } from "regard/dom.js";
import { paint, place } from "regard/draw/line_graph.js";
import { fixed } from "regard/format.js";
import { effect } from "regard/signals.js";
import { asked } from "regard/source.js";
import { following } from "regard/parts/live_query.js";
import { painted } from "regard/parts/canvas_view.js";
import { question } from "regard/live/question_form.js";
import { asTable } from "regard/parts/downloads.js";
import { quoted } from "regard/units.js";
import { interventions } from "regard/what_if.js";

/** @typedef {import("regard/app.js").App} App */

/** The words in two orders, with positions and without. @param {App} app */
export function order(app) {
  return question(app, {
    title: "Does the order matter?",
    why: "Without positions the encoder sees a bag of words: read backwards, each word gets the same vector, and whoever reads them all alike (a class token, or the decoder’s first step) says the same.",
    inputs: [["words", "Qian kill you"]],
    button: "Read both ways",
    ask: ([text]) => ({ route: "permuted", body: { text } }),
    show: (answer) => [
      h("p", {}, h("bdi", {}, answer.texts[0]), " ⇄ ", h("bdi", {}, answer.texts[1])),
      asTable({
        rows: [...answer.orders[0], "mean of all words", "first word’s probability"],
        columns: ["with positions", "without"],
        corner: "largest difference of",
        values: (r, c) => small([...answer[WAYS[c]].words, answer[WAYS[c]].mean, answer[WAYS[c]].probability][r]),
      }, "between the two orders"),
      h("p", { class: "facts" }, "First target word: with positions ", ...said(answer.with.first), "; without ", ...said(answer.without.first), "."),
    ],
    also: [without(app)],
  });
}

const WAYS = /** @type {const} */ (["with", "without"]);

/** @param {number} value */
const small = (value) => (value < 1e-4 ? (value ? value.toExponential(0).replace("-", "−") : "0") : fixed(value, 3));

/** @param {{ text: string, prob: number }[]} first */
const said = (first) => first.flatMap(({ text, prob }, i) => [i ? " and " : "", h("bdi", {}, `${quoted(text.trim())}`), ` ${fixed(prob, 3)}`]);

/** Switches positions off for the sentence itself: it becomes B. @param {App} app */
function without(app) {
  const box = h("div", {});
  const off = () => app.b.value?.request.interventions.some((each) => each.type === "positions") ?? false;
  function change(/** @type {boolean} */ on) {
    app.whatIf?.change({ positions: on });
    if (on || interventions(/** @type {NonNullable<App["whatIf"]>} */ (app.whatIf).changes.peek()).length) app.whatIf?.run();
    else app.whatIf?.clear();
  }
  effect(() => {
    const b = app.b.value;
    fill(box, tick("switch positions off for this sentence, on every page", off(), change),
      off() && b ? h("p", { dir: "auto" }, `Without positions: ${b.target.text}`) : null);
  });
  return box;
}

/** How much of the positions is left after each sublayer. @param {App} app */
export function survives(app) {
  const { answer, problem } = following(app.source, () => (app.trace.value ? { route: "survives", body: { request: asked(app.trace.value) } } : null));
  const why = h("p", {});
  const view = painted({
    name: () => "how much of the positions survives",
    table: () => {
      const stacks = lines(answer.value);
      const all = stacks.flatMap(({ name, points, values }) => points.map((point, i) => ({ row: `${name} ${point}`, value: values[i] })));
      return { rows: all.map(({ row }) => row), columns: ["cosine"], values: (r) => fixed(all[r].value, 4) };
    },
    draw: (room) => {
      const stacks = lines(answer.value);
      if (!stacks.length) return null;
      const longest = Math.max(...stacks.map(({ points }) => points.length));
      const low = Math.min(0, ...stacks.flatMap(({ values }) => values));
      const graph = { x: /** @type {[number, number]} */ ([0, longest - 1]), y: /** @type {[number, number]} */ ([low, 1]), across: "sublayers passed", up: "cosine with the position’s vector", height: 240, lines: [] };
      const size = place(graph, room);
      return { ...size, paint: (surface, theme) => paint(surface, { ...graph, lines: stacks.map(({ name, values }) => ({ name, points: values.map((value, i) => [i, value]), colour: theme[name], dots: true, dash: name === "decoder" ? [5, 3] : [] })) }, size, theme) };
    },
  });
  effect(() => {
    why.textContent = problem.value || "The residual carries positions past every sublayer, and every sublayer blurs them. Drawn: how nearly a word’s vector still points where its position’s does (1 wholly, 0 not at all), on average over the sentence, both less their mean.";
  });
  return h("section", { "aria-label": "how long positions last" }, h("h2", {}, "How much of the position is left?"), why, view);
}

/** @param {any} answer @returns {{ name: "encoder" | "decoder", points: string[], values: number[] }[]} */
function lines(answer) {
  if (!answer) return [];
  return /** @type {const} */ (["encoder", "decoder"]).map((name) => ({ name, points: answer[name].points, values: answer[name].mean }));
}
