// Search page: decoding step by step, candidates, logit lens, and the beam search tree.

import { retranslate, shownAttention } from "regard/app.js";
import { radioGroup, setChildren, bindInput, h, dropdown, checkbox } from "regard/dom.js";
import { barChartSize, drawBarChart } from "regard/draw/bar_chart.js";
import { svgSurface } from "regard/draw/surface.js";
import { samePrefix, decidedLayer, formatProbability, formatSigned } from "regard/hypothesis.js";
import { effect } from "regard/signals.js";
import { theme } from "regard/theme.js";
import { maskedCells, axisLabels, tokenLabel, describeMatrix } from "regard/trace.js";
import { quote } from "regard/units.js";
import { beamView } from "regard/parts/beam_view.js";
import { candidates, tokenName } from "regard/parts/candidates.js";
import { matrixView } from "regard/parts/matrix_view.js";
import { downloadBar } from "regard/parts/downloads.js";

/** @typedef {import("regard/app.js").App} App */
/** @typedef {import("regard/types").Trace} Trace */
/** @typedef {import("regard/types").Kind} Kind */

/**
 * @param {App} app
 * @returns {HTMLElement}
 */
export function searchPage(app) {
  const { state } = app;
  const modes = radioGroup(
    "as in",
    [["translating", "Translating: one row at a time"], ["training", "Training: all rows at once"]],
    () => state.mode.value,
    (mode) => (state.mode.value = mode),
  );
  effect(() => {
    state.mode.value;
    modes.refresh();
  });
  return h(
    "div",
    { class: "page" },
    h("h1", {}, "Search"),
    h("div", { class: "bar" }, stepPlayer(app), modes, layerAndHead(app), bindInput(checkbox("stretch the scale", Boolean(state.stretch.peek()), (on) => (state.stretch.value = on ? "1" : "")), () => Boolean(state.stretch.value))),
    tokensSoFar(app),
    h(
      "div",
      { class: "two-columns" },
      h(
        "div",
        { class: "stacked" },
        h("section", { "aria-label": "masked self-attention" }, h("h2", {}, "Masked self-attention"), attentionRows(app, "decoder")),
        h("section", { "aria-label": "layer by layer" }, h("h2", {}, "Layer by layer"), layerGuesses(app)),
      ),
      h(
        "div",
        { class: "stacked" },
        h("section", { "aria-label": "cross-attention" }, h("h2", {}, "Cross-attention"), attentionRows(app, "cross")),
        h("section", { "aria-label": "next word" }, nextTokenSection(app)),
      ),
    ),
    h("section", { class: "searched", "aria-label": "beam" }, beamSection(app)),
  );
}

/** @param {App} app */
const stepCount = (app) => app.trace.value?.target.tokens.length ?? 1;

/** @param {App} app @returns {number} the current step, at most the last one */
const currentStep = (app) => Math.min(app.state.step.value, stepCount(app) - 1);

/**
 * Step controls; nothing advances by itself.
 * @param {App} app
 */
function stepPlayer(app) {
  const { state } = app;
  const go = (/** @type {number} */ step) => (state.step.value = Math.max(0, Math.min(stepCount(app) - 1, step)));
  const button = (/** @type {string} */ sign, /** @type {string} */ label, /** @type {() => number} */ to, key = "") =>
    h("button", { type: "button", "aria-label": label, title: label, "data-key": key || null, onclick: () => go(to()) }, sign);
  const [first, back] = [button("|◀", "first step", () => 0), button("◀", "previous step", () => state.step.value - 1, "back")];
  const [next, last] = [button("▶", "next step", () => state.step.value + 1, "next"), button("▶|", "last step", () => stepCount(app) - 1)];
  const slider = /** @type {HTMLInputElement} */ (
    h("input", { type: "range", min: 1, max: 1, "aria-label": "step", oninput: () => go(Number(slider.value) - 1) })
  );
  const text = h("output", { class: "facts" });
  effect(() => {
    const [step, all] = [currentStep(app), stepCount(app)];
    slider.max = String(all);
    slider.value = String(step + 1);
    text.textContent = `step ${step + 1} of ${all}`;
    for (const each of [first, back]) /** @type {HTMLButtonElement} */ (each).disabled = step === 0;
    for (const each of [next, last]) /** @type {HTMLButtonElement} */ (each).disabled = step === all - 1;
  });
  return h("div", { class: "player", role: "group", "aria-label": "steps" }, first, back, text, next, last, slider);
}

/** @param {App} app selects layer and head */
function layerAndHead(app) {
  const { state } = app;
  const box = h("span", { class: "bar" });
  const upTo = (/** @type {number} */ n) => Array.from({ length: n }, (_, i) => /** @type {[string, string]} */ ([String(i + 1), String(i + 1)]));
  effect(() => {
    const model = app.trace.value?.model;
    if (!model) return;
    setChildren(
      box,
      dropdown("layer", upTo(model.decoder_layers), String(decoderLayer(app)), (v) => (state.layer.value = Number(v))),
      dropdown("head", [["0", "mean"], ...upTo(model.heads)], String(state.head.value), (v) => (state.head.value = Number(v))),
    );
  });
  return box;
}

/** @param {App} app @returns {number} the selected layer, at most the last one */
const decoderLayer = (app) => Math.min(app.state.layer.value || 1, app.trace.value?.model.decoder_layers ?? 1);

/** @param {App} app */
function tokensSoFar(app) {
  const box = h("section", { class: "so-far", "aria-label": "so far" });
  effect(() => {
    const trace = app.trace.value;
    if (!trace) return setChildren(box, h("p", {}, "Translate a sentence first."));
    const [t, training] = [currentStep(app), app.state.mode.value === "training"];
    const tokens = trace.target.tokens;
    const chip = (/** @type {string} */ text, /** @type {boolean} */ now, /** @type {boolean} */ mark) =>
      h("span", { class: `token${mark ? " mark" : ""}${now ? " now" : ""}`, dir: "auto", lang: trace.model.target_lang }, text);
    const read = ["<s>", ...tokens.slice(0, -1).map(tokenLabel)];
    const seen = training ? tokens.length : t + 1;
    const line = (/** @type {string} */ which, /** @type {string[]} */ texts) =>
      h("div", { class: "side" }, h("span", { class: "caption" }, which), h("span", { class: "tokens", tabindex: 0, role: "group", "aria-label": which }, texts.slice(0, seen).map((text, i) => chip(text, i === t, /^<\/?s>$/.test(text)))));
    setChildren(
      box,
      line("in", read),
      line("out", tokens.map(tokenLabel)),
      h("p", { class: "faint" }, training
        ? "In training the whole translation is known: all rows are computed at once, and only the mask keeps a row from attending to later tokens. The numbers are those of this translation."
        : `To predict ${quote(tokenLabel(tokens[t]))} the decoder reads ${t ? `<s> and the ${t === 1 ? "token" : `${t} tokens`} before it` : "<s>, the start token"}, and the output of the encoder.`),
    );
    for (const now of box.querySelectorAll(".now")) scrollToToken(/** @type {HTMLElement} */ (now));
  });
  return box;
}

/** @param {HTMLElement} token scrolls only its line */
function scrollToToken(token) {
  const line = /** @type {HTMLElement} */ (token.parentElement);
  line.scrollTop = token.offsetTop - line.offsetTop - line.clientHeight / 2;
}

/** Columns drawn for tokens that are not decoded yet; all of a long translation would make the cells too small. */
const COLUMNS_AHEAD = 24;

/**
 * Return some rows of a matrix and its first columns.
 * @param {import("regard/trace.js").Matrix} matrix
 * @param {number} from
 * @param {number} to
 * @param {number} columns
 */
function matrixPart(matrix, from, to, columns) {
  const rows = Array.from({ length: to - from }, (_, r) => matrix.values.subarray((from + r) * matrix.columns, (from + r) * matrix.columns + columns));
  return { rows: to - from, columns, values: Float32Array.from(rows.flatMap((row) => [...row])) };
}

/**
 * The attention rows decoded so far; for cross-attention the row of this step.
 * @param {App} app
 * @param {"decoder" | "cross"} kind
 */
function attentionRows(app, kind) {
  const { state } = app;
  const title = () => `${kind === "decoder" ? "masked self-attention" : "cross-attention"}, layer ${decoderLayer(app)}, ${state.head.value ? `head ${state.head.value}` : "mean of the heads"}, step ${currentStep(app) + 1}`;
  const now = () => {
    const trace = app.trace.value;
    const attention = trace && shownAttention(app, kind, decoderLayer(app), state.head.value);
    if (!trace || !attention) return null;
    const names = axisLabels(trace, kind);
    const training = state.mode.value === "training";
    const [from, to] = training ? [0, attention.matrix.rows] : [kind === "cross" ? currentStep(app) : 0, currentStep(app) + 1];
    const ahead = kind === "decoder" && !training ? Math.max(COLUMNS_AHEAD, to + 4) : Infinity;
    const columns = names.columns.slice(0, ahead);
    return {
      matrix: matrixPart(attention.matrix, from, to, columns.length),
      signed: attention.signed,
      from,
      rows: names.rows.slice(from, to),
      columns: columns.map((label, c) => (ahead < Infinity && c >= to ? { ...label, text: "…" } : label)),
      hidden: maskedCells(trace, kind, names.rows.slice(from, to), columns),
    };
  };
  const note = h("p", { class: "faint" }, "A and B have different words here, so their weights cannot be subtracted. Choose A or B above to see those of one.");
  effect(() => (note.hidden = !app.trace.value || Boolean(now())));
  const view = matrixView({
    picture() {
      const shown = now();
      return shown && {
        matrix: shown.matrix,
        rows: shown.rows.map(({ text }) => text),
        columns: shown.columns.map(({ text }) => text),
        hidden: shown.hidden,
        signed: shown.signed,
        top: state.stretch.value ? shown.matrix.values.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-6) : 1,
        axes: /** @type {[string, string]} */ (["attends (query)", "is attended to (key)"]),
        locked: [currentStep(app) - shown.from],
      };
    },
    name: title,
    summary() {
      const shown = now();
      if (!shown || shown.signed) return "";
      const description = describeMatrix(shown.matrix, shown.columns, shown.hidden);
      return shown.matrix.rows > 1 ? description : description.replace(/^(each row attends|rows attend)/, "this row attends").replace("mean entropy", "entropy");
    },
    describeCell(row, column) {
      const shown = /** @type {NonNullable<ReturnType<typeof now>>} */ (now());
      const value = shown.hidden?.(row, column) ? "masked" : shown.matrix.values[row * shown.matrix.columns + column].toFixed(3);
      return `${value}  ${quote(shown.rows[row].text)} attends to ${quote(shown.columns[column].text)}`;
    },
    lock([row]) {
      const shown = now();
      if (row !== undefined && shown) state.step.value = shown.from + row;
    },
  });
  return h("div", {}, note, view);
}

/**
 * Note for numbers that are not subtracted when B − A is shown.
 * @param {App} app
 * @param {number} t
 */
function notSubtractedNote(app, t) {
  const [a, b] = [app.traceA.value, app.traceB.value];
  if (app.state.show.value !== "difference" || !a || !b) return null;
  const token = a.target.tokens[t];
  const same = token && samePrefix(a, b, t);
  return h("p", { class: "faint" }, same ? ["These numbers are B’s. After the same tokens A chose ", tokenName(a, token.id, token.text), ` ${formatProbability(token.logprob ?? 0)}.`] : "These numbers are B’s: A has other tokens before this step.");
}

/** @param {App} app */
function nextTokenSection(app) {
  const box = h("div", {});
  const bars = () => {
    const trace = app.trace.value;
    const taken = trace?.target.tokens[currentStep(app)].id;
    return trace?.steps[currentStep(app)].top.map(({ id, text, logprob }) => ({ name: text, share: Math.exp(logprob), note: id === taken ? "chosen" : "" })) ?? [];
  };
  const title = () => `next word, step ${currentStep(app) + 1}`;
  const downloads = downloadBar({
    name: title,
    table: () => ({
      rows: bars().map((bar) => bar.name),
      columns: ["probability", "chosen"],
      values: (r, c) => (c ? bars()[r].note : bars()[r].share.toFixed(6)),
    }),
    svg() {
      const { width, height } = barChartSize(bars());
      const surface = svgSurface(width, height, theme.value.paper);
      drawBarChart(surface, bars(), title(), theme.value);
      return surface.toString();
    },
  });
  effect(() => {
    const trace = app.trace.value;
    const t = currentStep(app);
    const step = trace?.steps[t];
    if (!trace || !step) return;
    const taken = trace.target.tokens[t];
    setChildren(
      box,
      h("h2", {}, "Next word ", h("span", { class: "faint" }, `softmax over ${trace.model.vocab.target.toLocaleString("en")} tokens`)),
      notSubtractedNote(app, t),
      candidates(app, trace, t),
      h("p", { class: "facts" }, "chosen ▸ ", tokenName(trace, taken.id, taken.text), ` ${formatProbability(taken.logprob ?? 0)} · rank ${step.rank} · entropy ${step.entropy.toFixed(2)} nats`),
    );
    downloads.refresh();
  });
  return h("div", {}, box, downloads);
}

/** @param {App} app */
function layerGuesses(app) {
  const box = h("div", {});
  effect(() => {
    const trace = app.trace.value;
    const t = currentStep(app);
    const taken = trace?.target.tokens[t];
    if (!trace || !taken) return;
    const decided = decidedLayer(trace, t);
    const body = trace.logit_lens.map((guesses, i) => {
      const { id, text, prob, prob_final } = guesses[t];
      return h("tr", { class: i + 1 === decided ? "decided" : "" },
        h("th", { scope: "row" }, `layer ${i + 1}`), h("td", {}, tokenName(trace, id, text)), h("td", {}, prob.toFixed(3)), h("td", {}, prob_final.toFixed(3)));
    });
    const columns = ["prediction", "probability", `of ${quote(tokenLabel(taken))}`].map((text) => h("th", { scope: "col", dir: "auto" }, text));
    setChildren(
      box,
      h("p", { class: "faint" }, "The prediction of each decoder layer if it were the last: the output projection applied to it."),
      notSubtractedNote(app, t),
      h("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "predictions of the layers" }, h("table", {}, h("thead", {}, h("tr", {}, h("td", {}), columns)), h("tbody", {}, body))),
      h("p", { class: "facts" }, decided
        ? `${quote(tokenLabel(taken))} is decided in layer ${decided}.`
        : `The last layer prefers another token; the search chose ${quote(tokenLabel(taken))} because of what follows.`),
    );
  });
  return box;
}

/** @param {App} app */
function beamSection(app) {
  const head = h("div", {});
  const view = beamView(app);
  effect(() => {
    const trace = app.trace.value;
    view.hidden = !trace?.beam;
    if (!trace) return;
    if (!trace.beam) {
      const free = app.source && h("button", { type: "button", onclick: () => retranslate(app, trace) }, "Search for it");
      return setChildren(head, h("h2", {}, "Beam"), h("p", {}, "This translation was forced, so there is no beam. ", free));
    }
    const { size, alpha, greedy } = trace.beam;
    setChildren(
      head,
      h("h2", {}, `Beam ${size}, α ${alpha} `, h("span", { class: "faint" }, "score = Σ log p ÷ ((5 + n) / 6)", h("sup", {}, "α"))),
      h("p", { class: "faint" }, greedy.diverges_at === null
        ? "Greedy search, which always takes the likeliest token, finds the same translation."
        : ["Greedy search leaves the best hypothesis at step ", String(greedy.diverges_at + 1), ` and ends with score ${formatSigned(greedy.score)}: `, h("span", { dir: "auto", lang: trace.model.target_lang }, greedy.text)]),
    );
  });
  return h("div", {}, head, view);
}
