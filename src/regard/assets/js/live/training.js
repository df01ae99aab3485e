// Training page: live curves of a run, and the translations of watched sentences.

import { diffWords } from "regard/live/word_diff.js";
import { radioGroup, setChildren, h } from "regard/dom.js";
import { formatValue } from "regard/live/line_chart.js";
import { computed, effect, signal } from "regard/signals.js";
import { CHART_NAMES, appendRows, emptyHistory, trainingCharts, watchedSentences } from "regard/live/training_history.js";
import { lineChartView } from "regard/live/line_chart_view.js";

/** @typedef {import("regard/app.js").App} App */
/** @typedef {import("regard/live/training_history.js").History} History */
/** @typedef {import("regard/live/training_history.js").Axis} Axis */

const POLL_MS = 2000;
const MAX_ROWS = 40;

/**
 * @param {App} app
 * @returns {HTMLElement}
 */
export function trainingPage(app) {
  const { state } = app;
  const info = /** @type {NonNullable<App["info"]>} */ (app.info);
  const runs = [...(info.run ? [info.run] : []), ...(info.others ?? [])];
  const histories = runs.map((run) => signal(emptyHistory(run.name)));
  const axis = radioGroup("over", [["step", "step"], ["tokens", "tokens"], ["hours", "hours"]], () => state.axis.value, (value) => (state.axis.value = value));
  const progress = h("div", {});
  const sentences = h("div", {});
  const charts = computed(() => trainingCharts(histories.map((history) => history.value), /** @type {Axis} */ (state.axis.value)));

  const problem = signal("");
  const alert = h("p", { class: "problem", role: "alert" });

  effect(() => axis.refresh());
  effect(() => {
    alert.textContent = problem.value;
    alert.hidden = !problem.value;
  });
  effect(() => {
    const known = histories.map((history) => history.value);
    setChildren(progress, known.map((history) => h("p", { class: "facts" }, known.length > 1 ? `${history.name}: ` : "", progressText(history))));
    setChildren(sentences, known.map((history) => watchedTables(history, app)));
  });
  const page = h(
    "div",
    { class: "page" },
    h("h1", {}, `Training of ${runs.map((run) => run.name).join(", ")}`),
    alert,
    progress,
    h("div", { class: "bar" }, h("span", { class: "faint" }, "over"), axis),
    h("div", { class: "grid charts" }, CHART_NAMES.map((name) => lineChartView(() => charts.value.find((chart) => chart.name === name)))),
    sentences,
  );
  requestAnimationFrame(() => runs.forEach((run, i) => pollMetrics(app, page, run.id, histories[i], problem)));
  return page;
}

/**
 * Poll for new metrics while the page is open and visible.
 * @param {App} app
 * @param {HTMLElement} page
 * @param {string} id
 * @param {import("regard/signals.js").Signal<History>} history
 * @param {import("regard/signals.js").Signal<string>} problem
 */
async function pollMetrics(app, page, id, history, problem) {
  for (let next = 0; page.isConnected; await new Promise((go) => setTimeout(go, POLL_MS))) {
    if (document.hidden) continue;
    try {
      const answer = await /** @type {NonNullable<App["source"]>} */ (app.source).get(`runs/${encodeURIComponent(id)}/metrics?since=${next}`);
      const before = answer.from < next ? emptyHistory(history.peek().name) : history.peek();
      if (answer.rows.length || answer.data) history.value = { ...appendRows(before, answer.rows), data: answer.data ?? before.data };
      next = answer.next;
      problem.value = "";
    } catch (error) {
      problem.value = /** @type {Error} */ (error).message;
    }
  }
}

/** @param {History} history @returns {string} progress of the training */
function progressText({ facts, train, valid }) {
  const last = train.at(-1);
  if (!last) return "No step yet.";
  const rows = valid.findLast((row) => Number.isFinite(row.bleu));
  const left = facts.steps > last.step && train.length > 1 ? ((facts.steps - last.step) * (last.time_s - train[0].time_s)) / (last.step - train[0].step) : 0;
  return [
    `step ${last.step.toLocaleString("en")}${facts.steps ? ` of ${facts.steps.toLocaleString("en")}` : ""}`,
    Number.isFinite(last.loss) && `training loss ${last.loss.toFixed(3)}`,
    valid.length && `validation loss ${valid[valid.length - 1].loss?.toFixed(3)}`,
    rows && `BLEU ${rows.bleu.toFixed(1)}`,
    last.tokens_per_s && `${formatValue(Math.round(last.tokens_per_s))} tokens/s`,
    left > 0 && `about ${left < 5400 ? `${Math.ceil(left / 60)} min` : `${(left / 3600).toFixed(1)} h`} to go`,
    facts.device && `${facts.device}, ${facts.precision}`,
  ].filter(Boolean).join(" · ");
}

/** @param {History} history @param {App} app */
function watchedTables(history, app) {
  const sentences = watchedSentences(history);
  if (!sentences.length) return null;
  const { source: from, target: to } = app.info?.languages ?? { source: null, target: null };
  const marked = (/** @type {string | null} */ before, /** @type {string} */ now) =>
    diffWords(before, now).flatMap(({ word, isNew }) => [isNew ? h("ins", {}, word) : word, " "]);
  const row = (/** @type {string} */ name, /** @type {(Node | string)[]} */ text) =>
    h("tr", {}, h("th", { scope: "row" }, name), h("td", { dir: "auto", lang: to }, text));
  return h(
    "section",
    { class: "watched" },
    h("h2", {}, `Watch it learn: ${history.name}`),
    h("p", { class: "faint" }, "The same sentences at each validation that changed their translation; new words are underlined."),
    sentences.map(({ source, reference, rows }) =>
      h(
        "table",
        {},
        h("caption", { dir: "auto", lang: from }, source),
        h("tbody", {}, row("reference", [reference]), rows.slice(-MAX_ROWS).map(({ step, before, now }) => row(`step ${step.toLocaleString("en")}`, marked(before, now)))),
      ),
    ),
  );
}
