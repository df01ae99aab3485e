// The training of a run, as it goes on: its curves, and sentences that it learns to translate.

import { changes } from "regard/live/word_diff.js";
import { choices, fill, h } from "regard/dom.js";
import { short } from "regard/live/line_chart.js";
import { computed, effect, signal } from "regard/signals.js";
import { NAMES, added, begun, charts, watched } from "regard/live/training_history.js";
import { chartView } from "regard/live/line_chart_view.js";

/** @typedef {import("regard/app.js").App} App */
/** @typedef {import("regard/live/training_history.js").History} History */
/** @typedef {import("regard/live/training_history.js").Axis} Axis */

const EVERY = 2000;
const SHOWN = 40;

/**
 * @param {App} app
 * @returns {HTMLElement}
 */
export function training(app) {
  const { at } = app;
  const info = /** @type {NonNullable<App["info"]>} */ (app.info);
  const runs = [...(info.run ? [info.run] : []), ...(info.others ?? [])];
  const histories = runs.map((run) => signal(begun(run.name)));
  const axis = choices("over", [["step", "step"], ["tokens", "tokens"], ["hours", "hours"]], () => at.axis.value, (value) => (at.axis.value = value));
  const now = h("div", {});
  const sentences = h("div", {});
  const drawn = computed(() => charts(histories.map((history) => history.value), /** @type {Axis} */ (at.axis.value)));

  const problem = signal("");
  const alert = h("p", { class: "problem", role: "alert" });

  effect(() => axis.refresh());
  effect(() => {
    alert.textContent = problem.value;
    alert.hidden = !problem.value;
  });
  effect(() => {
    const known = histories.map((history) => history.value);
    fill(now, known.map((history) => h("p", { class: "facts" }, known.length > 1 ? `${history.name}: ` : "", standing(history))));
    fill(sentences, known.map((history) => watch(history, app)));
  });
  const page = h(
    "div",
    { class: "page" },
    h("h1", {}, `Training of ${runs.map((run) => run.name).join(", ")}`),
    alert,
    now,
    h("div", { class: "bar" }, h("span", { class: "faint" }, "over"), axis),
    h("div", { class: "grid charts" }, NAMES.map((name) => chartView(() => drawn.value.find((chart) => chart.name === name)))),
    sentences,
  );
  requestAnimationFrame(() => runs.forEach((run, i) => follow(app, page, run.id, histories[i], problem)));
  return page;
}

/**
 * Asks for what is new, as long as the page is there and is seen.
 * @param {App} app
 * @param {HTMLElement} page
 * @param {string} id
 * @param {import("regard/signals.js").Signal<History>} history
 * @param {import("regard/signals.js").Signal<string>} problem
 */
async function follow(app, page, id, history, problem) {
  for (let next = 0; page.isConnected; await new Promise((go) => setTimeout(go, EVERY))) {
    if (document.hidden) continue;
    try {
      const answer = await /** @type {NonNullable<App["source"]>} */ (app.source).get(`runs/${encodeURIComponent(id)}/metrics?since=${next}`);
      const before = answer.from < next ? begun(history.peek().name) : history.peek();
      if (answer.rows.length || answer.data) history.value = { ...added(before, answer.rows), data: answer.data ?? before.data };
      next = answer.next;
      problem.value = "";
    } catch (error) {
      problem.value = /** @type {Error} */ (error).message;
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

/** @param {History} history @param {App} app */
function watch(history, app) {
  const found = watched(history);
  if (!found.length) return null;
  const { source: from, target: to } = app.info?.languages ?? { source: null, target: null };
  const marked = (/** @type {string | null} */ before, /** @type {string} */ now) =>
    changes(before, now).flatMap(({ word, fresh }) => [fresh ? h("ins", {}, word) : word, " "]);
  const row = (/** @type {string} */ name, /** @type {(Node | string)[]} */ text) =>
    h("tr", {}, h("th", { scope: "row" }, name), h("td", { dir: "auto", lang: to }, text));
  return h(
    "section",
    { class: "watched" },
    h("h2", {}, `Watch it learn: ${history.name}`),
    h("p", { class: "faint" }, "The same sentences at each validation where their translation became another; what is new is underlined."),
    found.map(({ source, reference, rows }) =>
      h(
        "table",
        {},
        h("caption", { dir: "auto", lang: from }, source),
        h("tbody", {}, row("reference", [reference]), rows.slice(-SHOWN).map(({ step, before, now }) => row(`step ${step.toLocaleString("en")}`, marked(before, now)))),
      ),
    ),
  );
}
