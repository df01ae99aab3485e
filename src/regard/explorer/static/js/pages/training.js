// The training of a run, as it goes on: its curves, and sentences that it learns to translate.

import { changes } from "regard/changes.js";
import { choices, fill, h } from "regard/dom.js";
import { short } from "regard/draw/chart.js";
import { effect, signal } from "regard/signals.js";
import { added, begun, charts, watched } from "regard/training.js";
import { chartView } from "regard/parts/chart.js";

/** @typedef {import("regard/app.js").App} App */
/** @typedef {import("regard/training.js").History} History */
/** @typedef {import("regard/training.js").Axis} Axis */

const EVERY = 2000;
const SHOWN = 40;

/**
 * @param {App} app
 * @returns {HTMLElement}
 */
export function training(app) {
  const { at } = app;
  const run = /** @type {NonNullable<NonNullable<App["info"]>["run"]>} */ (app.info?.run);
  const history = signal(begun(run.name));
  const axis = choices("over", [["step", "step"], ["tokens", "tokens"], ["hours", "hours"]], () => at.axis.value, (value) => (at.axis.value = value));
  const grid = h("div", { class: "grid charts" });
  const now = h("p", { class: "facts" });
  const sentences = h("section", { class: "watched", hidden: true });
  const facts = h("p", { class: "faint" });
  const all = () => charts([history.value], /** @type {Axis} */ (at.axis.value));

  let names = "";
  effect(() => {
    axis.refresh();
    const there = all().map((chart) => chart.name);
    if (there.join() === names) return;
    names = there.join();
    fill(grid, there.map((name) => chartView(() => /** @type {import("regard/draw/chart.js").Chart} */ (all().find((chart) => chart.name === name)))));
  });
  effect(() => {
    now.textContent = standing(history.value);
    facts.textContent = learntFrom(history.value);
    watch(sentences, history.value, app);
  });
  const page = h(
    "div",
    { class: "page" },
    h("h1", {}, `Training of ${run.name}`),
    now,
    h("div", { class: "bar" }, h("span", { class: "faint" }, "over"), axis),
    grid,
    facts,
    sentences,
  );
  requestAnimationFrame(() => follow(app, page, run.id, history));
  return page;
}

/**
 * Asks for what is new, as long as the page is there and is seen.
 * @param {App} app
 * @param {HTMLElement} page
 * @param {string} id
 * @param {import("regard/signals.js").Signal<History>} history
 */
async function follow(app, page, id, history) {
  for (let next = 0; page.isConnected; await new Promise((go) => setTimeout(go, EVERY))) {
    if (document.hidden) continue;
    try {
      const answer = await /** @type {NonNullable<App["source"]>} */ (app.source).get(`runs/${encodeURIComponent(id)}/metrics?since=${next}`);
      const before = answer.from < next ? begun(history.peek().name) : history.peek();
      if (answer.rows.length || answer.data) history.value = { ...added(before, answer.rows), data: answer.data ?? before.data };
      next = answer.next;
      app.problem.value = "";
    } catch (problem) {
      app.problem.value = /** @type {Error} */ (problem).message;
    }
  }
}

/** @param {History} history how far it is */
function standing({ facts, train, valid }) {
  const last = train.at(-1);
  if (!last) return "No step yet.";
  const rows = valid.findLast((row) => Number.isFinite(row.bleu));
  const left = facts.steps > last.step && train.length > 1 ? ((facts.steps - last.step) * (last.time_s - train[0].time_s)) / (last.step - train[0].step) : 0;
  return [
    `step ${last.step.toLocaleString("en")}${facts.steps ? ` of ${facts.steps.toLocaleString("en")}` : ""}`,
    Number.isFinite(last.loss) && `training loss ${last.loss.toFixed(3)}`,
    valid.length && `validation loss ${valid[valid.length - 1].loss?.toFixed(3)}`,
    rows && `BLEU ${rows.bleu.toFixed(1)}`,
    last.tokens_per_s && `${short(Math.round(last.tokens_per_s))} tokens/s`,
    left > 0 && `about ${left < 5400 ? `${Math.ceil(left / 60)} min` : `${(left / 3600).toFixed(1)} h`} to go`,
    facts.device && `${facts.device}, ${facts.precision}`,
  ].filter(Boolean).join(" · ");
}

/** @param {History} history what was learnt from, and what was left out */
function learntFrom({ data }) {
  if (!data?.train) return "";
  const { pairs, left_out: left = {} } = data.train;
  const dropped = Object.entries(left).map(([why, count]) => `${Number(count).toLocaleString("en")} ${why}`);
  const means = ["source", "target"].map((side) => mean(data.lengths?.[side]));
  return [
    `Learnt from ${pairs.toLocaleString("en")} pairs; left out: ${dropped.join(", ") || "none"}.`,
    means.every(Number.isFinite) && `A source sentence has ${means[0].toFixed(1)} pieces on average, a target sentence ${means[1].toFixed(1)}: a ratio of ${(means[1] / means[0]).toFixed(2)}.`,
  ].filter(Boolean).join(" ");
}

/** @param {{ bins: number[], counts: number[] } | undefined} histogram @returns {number} only where each bar is one length */
function mean(histogram) {
  const { bins = [], counts = [] } = histogram ?? {};
  if (bins.some((bin, i) => i > 0 && bin !== bins[i - 1] + 1)) return NaN;
  return counts.reduce((sum, count, i) => sum + count * bins[i], 0) / counts.reduce((sum, count) => sum + count, 0);
}

/** @param {HTMLElement} room @param {History} history @param {App} app */
function watch(room, history, app) {
  const found = watched(history);
  room.hidden = !found.length;
  const langs = app.info?.languages;
  fill(
    room,
    h("h2", {}, "Watch it learn"),
    h("p", { class: "faint" }, "The same sentences at each validation where their translation became another; what is new is underlined."),
    found.map(({ source, reference, rows }) =>
      h(
        "table",
        {},
        h("caption", { dir: "auto", lang: langs?.source }, source),
        h("tbody", {}, h("tr", {}, h("th", { scope: "row" }, "reference"), h("td", { dir: "auto", lang: langs?.target }, reference)),
          rows.slice(-SHOWN).map(({ step, before, now }) =>
            h("tr", {}, h("th", { scope: "row" }, step.toLocaleString("en")),
              h("td", { dir: "auto", lang: langs?.target }, changes(before, now).flatMap(({ word, fresh }) => [fresh ? h("ins", {}, word) : word, " "]))))),
      ),
    ),
  );
}
