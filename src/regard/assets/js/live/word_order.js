// Word order: the effect of positions, and how much of them remains after each sublayer.

import { setChildren, h, checkbox } from "regard/dom.js";
import { drawGraph, layoutGraph } from "regard/draw/line_graph.js";
import { formatNumber } from "regard/format.js";
import { effect } from "regard/signals.js";
import { requestOf } from "regard/source.js";
import { liveQuery } from "regard/parts/live_query.js";
import { canvasView } from "regard/parts/canvas_view.js";
import { questionForm } from "regard/live/question_form.js";
import { dataTable } from "regard/parts/downloads.js";
import { quote } from "regard/units.js";
import { interventions } from "regard/what_if.js";

/** @typedef {import("regard/app.js").App} App */

/** Compare the words in two orders, with positions and without. @param {App} app */
export function wordOrderQuestion(app) {
  return questionForm(app, {
    title: "Does the order matter?",
    why: "Without positions the encoder sees a bag of words: in reverse order each word gets the same vector, and whatever reads all of them alike (a class token, or the decoder’s first step) gives the same result.",
    inputs: [["words", "Qian kill you"]],
    button: "Read both ways",
    ask: ([text]) => ({ route: "word_order", body: { text } }),
    show: (answer) => [
      h("p", {}, h("bdi", {}, answer.texts[0]), " ⇄ ", h("bdi", {}, answer.texts[1])),
      dataTable({
        rows: [...answer.orders[0], "mean of all words", "first word’s probability"],
        columns: ["with positions", "without"],
        corner: "largest difference of",
        values: (r, c) => formatDifference([...answer[WAYS[c]].words, answer[WAYS[c]].mean, answer[WAYS[c]].probability][r]),
      }, "between the two orders"),
      h("p", { class: "facts" }, "First target word: with positions ", ...firstTokens(answer.with.first), "; without ", ...firstTokens(answer.without.first), "."),
    ],
    also: [positionsSwitch(app)],
  });
}

const WAYS = /** @type {const} */ (["with", "without"]);

/** @param {number} value */
const formatDifference = (value) => (value < 1e-4 ? (value ? value.toExponential(0).replace("-", "−") : "0") : formatNumber(value, 3));

/** @param {{ text: string, prob: number }[]} first */
const firstTokens = (first) => first.flatMap(({ text, prob }, i) => [i ? " and " : "", h("bdi", {}, `${quote(text.trim())}`), ` ${formatNumber(prob, 3)}`]);

/** Remove the positions for the current sentence; the result is B. @param {App} app */
function positionsSwitch(app) {
  const box = h("div", {});
  const off = () => app.traceB.value?.request.interventions.some((each) => each.type === "positions") ?? false;
  function change(/** @type {boolean} */ on) {
    app.whatIf?.change({ positions: on });
    if (on || interventions(/** @type {NonNullable<App["whatIf"]>} */ (app.whatIf).changes.peek()).length) app.whatIf?.run();
    else app.whatIf?.clear();
  }
  effect(() => {
    const b = app.traceB.value;
    setChildren(box, checkbox("remove positions for this sentence, on every page", off(), change),
      off() && b ? h("p", { dir: "auto" }, `Without positions: ${b.target.text}`) : null);
  });
  return box;
}

/** Cosine of the hidden states with the position vectors after each sublayer. @param {App} app */
export function positionSurvival(app) {
  const { answer, problem } = liveQuery(app.source, () => (app.trace.value ? { route: "position_survival", body: { request: requestOf(app.trace.value) } } : null));
  const why = h("p", {});
  const view = canvasView({
    name: () => "how much of the positions is left",
    table: () => {
      const stacks = stackLines(answer.value);
      const all = stacks.flatMap(({ name, points, values }) => points.map((point, i) => ({ row: `${name} ${point}`, value: values[i] })));
      return { rows: all.map(({ row }) => row), columns: ["cosine"], values: (r) => formatNumber(all[r].value, 4) };
    },
    draw: (room) => {
      const stacks = stackLines(answer.value);
      if (!stacks.length) return null;
      const longest = Math.max(...stacks.map(({ points }) => points.length));
      const low = Math.min(0, ...stacks.flatMap(({ values }) => values));
      const graph = { x: /** @type {[number, number]} */ ([0, longest - 1]), y: /** @type {[number, number]} */ ([low, 1]), xLabel: "sublayers passed", yLabel: "cosine with the position’s vector", height: 240, lines: [] };
      const size = layoutGraph(graph, room);
      return { ...size, paint: (surface, theme) => drawGraph(surface, { ...graph, lines: stacks.map(({ name, values }) => ({ name, points: values.map((value, i) => [i, value]), colour: theme[name], dots: true, dash: name === "decoder" ? [5, 3] : [] })) }, size, theme) };
    },
  });
  effect(() => {
    why.textContent = problem.value || "The residual connection carries positions past every sublayer, and every sublayer blurs them. Shown: the cosine of each word’s vector with the vector of its position (1 same direction, 0 none), mean over the sentence, after subtracting the mean vector of each.";
  });
  return h("section", { "aria-label": "how long positions last" }, h("h2", {}, "How much of the position is left?"), why, view);
}

/** @param {any} answer @returns {{ name: "encoder" | "decoder", points: string[], values: number[] }[]} */
function stackLines(answer) {
  if (!answer) return [];
  return /** @type {const} */ (["encoder", "decoder"]).map((name) => ({ name, points: answer[name].points, values: answer[name].mean }));
}
