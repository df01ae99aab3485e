// How the translation was written: first word, next words, and the beam of those that it was chosen from.

import { again, looks } from "regard/app.js";
import { choices, fill, follow, h, pick, tick } from "regard/dom.js";
import { barsSize, paintBars } from "regard/draw/bar_chart.js";
import { svgSurface } from "regard/draw/surface.js";
import { agreeBefore, decidedIn, probability, signed } from "regard/hypothesis.js";
import { effect } from "regard/signals.js";
import { theme } from "regard/theme.js";
import { hiddenCells, labels, shown, summary } from "regard/trace.js";
import { quoted } from "regard/units.js";
import { beamView } from "regard/parts/beam_view.js";
import { candidates, name } from "regard/parts/candidates.js";
import { matrixView } from "regard/parts/matrix_view.js";
import { takeAway } from "regard/parts/downloads.js";

/** @typedef {import("regard/app.js").App} App */
/** @typedef {import("regard/types").Trace} Trace */
/** @typedef {import("regard/types").Kind} Kind */

/**
 * @param {App} app
 * @returns {HTMLElement}
 */
export function search(app) {
  const { at } = app;
  const modes = choices(
    "as in",
    [["translating", "Translating: one row at a time"], ["training", "Training: all rows at once"]],
    () => at.mode.value,
    (mode) => (at.mode.value = mode),
  );
  effect(() => {
    at.mode.value;
    modes.refresh();
  });
  return h(
    "div",
    { class: "page" },
    h("h1", {}, "Search"),
    h("div", { class: "bar" }, player(app), modes, place(app), follow(tick("stretch the scale", Boolean(at.stretch.peek()), (on) => (at.stretch.value = on ? "1" : "")), () => Boolean(at.stretch.value))),
    soFar(app),
    h(
      "div",
      { class: "halves" },
      h(
        "div",
        { class: "pile" },
        h("section", { "aria-label": "masked self-attention" }, h("h2", {}, "Masked self-attention"), rows(app, "decoder")),
        h("section", { "aria-label": "layer by layer" }, h("h2", {}, "Layer by layer"), layerByLayer(app)),
      ),
      h(
        "div",
        { class: "pile" },
        h("section", { "aria-label": "cross-attention" }, h("h2", {}, "Over the source"), rows(app, "cross")),
        h("section", { "aria-label": "next word" }, nextWord(app)),
      ),
    ),
    h("section", { class: "searched", "aria-label": "beam" }, beam(app)),
  );
}

/** @param {App} app */
const steps = (app) => app.trace.value?.target.tokens.length ?? 1;

/** @param {App} app @returns {number} the step that is looked at, of those that this translation has */
const stepOf = (app) => Math.min(app.at.step.value, steps(app) - 1);

/**
 * Goes from step to step; nothing moves by itself.
 * @param {App} app
 */
function player(app) {
  const { at } = app;
  const go = (/** @type {number} */ step) => (at.step.value = Math.max(0, Math.min(steps(app) - 1, step)));
  const button = (/** @type {string} */ sign, /** @type {string} */ label, /** @type {() => number} */ to, key = "") =>
    h("button", { type: "button", "aria-label": label, title: label, "data-key": key || null, onclick: () => go(to()) }, sign);
  const [first, back] = [button("|◀", "first step", () => 0), button("◀", "step before", () => at.step.value - 1, "back")];
  const [next, last] = [button("▶", "next step", () => at.step.value + 1, "next"), button("▶|", "last step", () => steps(app) - 1)];
  const slider = /** @type {HTMLInputElement} */ (
    h("input", { type: "range", min: 1, max: 1, "aria-label": "step", oninput: () => go(Number(slider.value) - 1) })
  );
  const text = h("output", { class: "facts" });
  effect(() => {
    const [step, all] = [stepOf(app), steps(app)];
    slider.max = String(all);
    slider.value = String(step + 1);
    text.textContent = `step ${step + 1} of ${all}`;
    for (const each of [first, back]) /** @type {HTMLButtonElement} */ (each).disabled = step === 0;
    for (const each of [next, last]) /** @type {HTMLButtonElement} */ (each).disabled = step === all - 1;
  });
  return h("div", { class: "player", role: "group", "aria-label": "steps" }, first, back, text, next, last, slider);
}

/** @param {App} app which layer and head the rows are of */
function place(app) {
  const { at } = app;
  const box = h("span", { class: "bar" });
  const upTo = (/** @type {number} */ n) => Array.from({ length: n }, (_, i) => /** @type {[string, string]} */ ([String(i + 1), String(i + 1)]));
  effect(() => {
    const model = app.trace.value?.model;
    if (!model) return;
    fill(
      box,
      pick("layer", upTo(model.decoder_layers), String(layer(app)), (v) => (at.layer.value = Number(v))),
      pick("head", [["0", "mean"], ...upTo(model.heads)], String(at.head.value), (v) => (at.head.value = Number(v))),
    );
  });
  return box;
}

/** @param {App} app @returns {number} the chosen layer, of those that the decoder has */
const layer = (app) => Math.min(app.at.layer.value || 1, app.trace.value?.model.decoder_layers ?? 1);

/** @param {App} app */
function soFar(app) {
  const box = h("section", { class: "so-far", "aria-label": "so far" });
  effect(() => {
    const trace = app.trace.value;
    if (!trace) return fill(box, h("p", {}, "Translate a sentence first."));
    const [t, training] = [stepOf(app), app.at.mode.value === "training"];
    const tokens = trace.target.tokens;
    const chip = (/** @type {string} */ text, /** @type {boolean} */ now, /** @type {boolean} */ mark) =>
      h("span", { class: `token${mark ? " mark" : ""}${now ? " now" : ""}`, dir: "auto", lang: trace.model.target_lang }, text);
    const read = ["<s>", ...tokens.slice(0, -1).map(shown)];
    const seen = training ? tokens.length : t + 1;
    const line = (/** @type {string} */ which, /** @type {string[]} */ texts) =>
      h("div", { class: "side" }, h("span", { class: "which" }, which), h("span", { class: "tokens", tabindex: 0, role: "group", "aria-label": which }, texts.slice(0, seen).map((text, i) => chip(text, i === t, /^<\/?s>$/.test(text)))));
    fill(
      box,
      line("in", read),
      line("out", tokens.map(shown)),
      h("p", { class: "faint" }, training
        ? "In training the whole translation is known: every row is computed at once, and only the mask keeps a row from looking ahead. The numbers are those of translating."
        : `To write ${quoted(shown(tokens[t]))} the decoder reads ${t ? `<s> and the ${t === 1 ? "token" : `${t} tokens`} written before` : "<s>, the mark that begins"}, and what the encoder made of the source.`),
    );
    for (const now of box.querySelectorAll(".now")) showInside(/** @type {HTMLElement} */ (now));
  });
  return box;
}

/** @param {HTMLElement} token scrolls its line, and nothing else */
function showInside(token) {
  const line = /** @type {HTMLElement} */ (token.parentElement);
  line.scrollTop = token.offsetTop - line.offsetTop - line.clientHeight / 2;
}

/** Columns of a long translation that are drawn before they are written: all of them would leave no room for the others. */
const AHEAD = 24;

/**
 * Some rows of a matrix, and of its columns the first.
 * @param {import("regard/trace.js").Matrix} matrix
 * @param {number} from
 * @param {number} to
 * @param {number} columns
 */
function part(matrix, from, to, columns) {
  const rows = Array.from({ length: to - from }, (_, r) => matrix.values.subarray((from + r) * matrix.columns, (from + r) * matrix.columns + columns));
  return { rows: to - from, columns, values: Float32Array.from(rows.flatMap((row) => [...row])) };
}

/**
 * The rows of a decoder's attention so far; of cross-attention, the one of this step.
 * @param {App} app
 * @param {"decoder" | "cross"} kind
 */
function rows(app, kind) {
  const { at } = app;
  const title = () => `${kind === "decoder" ? "masked self-attention" : "attention over the source"}, layer ${layer(app)}, ${at.head.value ? `head ${at.head.value}` : "mean of the heads"}, step ${stepOf(app) + 1}`;
  const now = () => {
    const trace = app.trace.value;
    const found = trace && looks(app, kind, layer(app), at.head.value);
    if (!trace || !found) return null;
    const names = labels(trace, kind);
    const training = at.mode.value === "training";
    const [from, to] = training ? [0, found.matrix.rows] : [kind === "cross" ? stepOf(app) : 0, stepOf(app) + 1];
    const ahead = kind === "decoder" && !training ? Math.max(AHEAD, to + 4) : Infinity;
    const columns = names.columns.slice(0, ahead);
    return {
      matrix: part(found.matrix, from, to, columns.length),
      signed: found.signed,
      from,
      rows: names.rows.slice(from, to),
      columns: columns.map((label, c) => (ahead < Infinity && c >= to ? { ...label, text: "…" } : label)),
      hidden: hiddenCells(trace, kind, names.rows.slice(from, to), columns),
    };
  };
  const apart = h("p", { class: "faint" }, "A and B have different words here, so their weights cannot be subtracted. Choose A or B above to see those of one.");
  effect(() => (apart.hidden = !app.trace.value || Boolean(now())));
  const view = matrixView({
    picture() {
      const found = now();
      return found && {
        matrix: found.matrix,
        rows: found.rows.map(({ text }) => text),
        columns: found.columns.map(({ text }) => text),
        hidden: found.hidden,
        signed: found.signed,
        top: at.stretch.value ? found.matrix.values.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-6) : 1,
        axes: /** @type {[string, string]} */ (["attends (query)", "is attended to (key)"]),
        locked: [stepOf(app) - found.from],
      };
    },
    name: title,
    summary() {
      const found = now();
      if (!found || found.signed) return "";
      const said = summary(found.matrix, found.columns, found.hidden);
      return found.matrix.rows > 1 ? said : said.replace(/^(each row looks|rows look)/, "this row looks").replace("mean entropy", "entropy");
    },
    tell(row, column) {
      const found = /** @type {NonNullable<ReturnType<typeof now>>} */ (now());
      const value = found.hidden?.(row, column) ? "masked" : found.matrix.values[row * found.matrix.columns + column].toFixed(3);
      return `${value}  ${quoted(found.rows[row].text)} looks at ${quoted(found.columns[column].text)}`;
    },
    lock([row]) {
      const found = now();
      if (row !== undefined && found) at.step.value = found.from + row;
    },
  });
  return h("div", {}, apart, view);
}

/**
 * Said where B − A is chosen, of what is not subtracted.
 * @param {App} app
 * @param {number} t
 */
function ofB(app, t) {
  const [a, b] = [app.a.value, app.b.value];
  if (app.at.show.value !== "difference" || !a || !b) return null;
  const token = a.target.tokens[t];
  const same = token && agreeBefore(a, b, t);
  return h("p", { class: "faint" }, same ? ["These are B’s. After the same words A took ", name(a, token.id, token.text), ` ${probability(token.logprob ?? 0)}.`] : "These are B’s: A has written other words before this step.");
}

/** @param {App} app */
function nextWord(app) {
  const box = h("div", {});
  const bars = () => {
    const trace = app.trace.value;
    const taken = trace?.target.tokens[stepOf(app)].id;
    return trace?.steps[stepOf(app)].top.map(({ id, text, logprob }) => ({ name: text, share: Math.exp(logprob), note: id === taken ? "taken" : "" })) ?? [];
  };
  const title = () => `next word, step ${stepOf(app) + 1}`;
  const take = takeAway({
    name: title,
    table: () => ({
      rows: bars().map((bar) => bar.name),
      columns: ["probability", "taken"],
      values: (r, c) => (c ? bars()[r].note : bars()[r].share.toFixed(6)),
    }),
    svg() {
      const { width, height } = barsSize(bars());
      const surface = svgSurface(width, height, theme.value.paper);
      paintBars(surface, bars(), title(), theme.value);
      return surface.toString();
    },
  });
  effect(() => {
    const trace = app.trace.value;
    const t = stepOf(app);
    const step = trace?.steps[t];
    if (!trace || !step) return;
    const taken = trace.target.tokens[t];
    fill(
      box,
      h("h2", {}, "Next word ", h("span", { class: "faint" }, `softmax over ${trace.model.vocab.target.toLocaleString("en")} tokens`)),
      ofB(app, t),
      candidates(app, trace, t),
      h("p", { class: "facts" }, "chosen ▸ ", name(trace, taken.id, taken.text), ` ${probability(taken.logprob ?? 0)} · rank ${step.rank} · entropy ${step.entropy.toFixed(2)} nats`),
    );
    take.refresh();
  });
  return h("div", {}, box, take);
}

/** @param {App} app */
function layerByLayer(app) {
  const box = h("div", {});
  effect(() => {
    const trace = app.trace.value;
    const t = stepOf(app);
    const taken = trace?.target.tokens[t];
    if (!trace || !taken) return;
    const decided = decidedIn(trace, t);
    const body = trace.lens.map((guesses, i) => {
      const { id, text, prob, prob_final } = guesses[t];
      return h("tr", { class: i + 1 === decided ? "decided" : "" },
        h("th", { scope: "row" }, `layer ${i + 1}`), h("td", {}, name(trace, id, text)), h("td", {}, prob.toFixed(3)), h("td", {}, prob_final.toFixed(3)));
    });
    const columns = ["would say", "probability", `of ${quoted(shown(taken))}`].map((text) => h("th", { scope: "col", dir: "auto" }, text));
    fill(
      box,
      h("p", { class: "faint" }, "What each decoder layer would write if it were the last: the output projection applied to it."),
      ofB(app, t),
      h("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "guesses of the layers" }, h("table", {}, h("thead", {}, h("tr", {}, h("td", {}), columns)), h("tbody", {}, body))),
      h("p", { class: "facts" }, decided
        ? `${quoted(shown(taken))} is decided in layer ${decided}.`
        : `The last layer's likeliest token is another; the search took ${quoted(shown(taken))} for what follows it.`),
    );
  });
  return box;
}

/** @param {App} app */
function beam(app) {
  const head = h("div", {});
  const view = beamView(app);
  effect(() => {
    const trace = app.trace.value;
    view.hidden = !trace?.beam;
    if (!trace) return;
    if (!trace.beam) {
      const free = app.source && h("button", { type: "button", onclick: () => again(app, trace) }, "Search for it");
      return fill(head, h("h2", {}, "Beam"), h("p", {}, "This translation was given to the model, so there is no beam. ", free));
    }
    const { size, alpha, greedy } = trace.beam;
    fill(
      head,
      h("h2", {}, `Beam ${size}, α ${alpha} `, h("span", { class: "faint" }, "score = Σ log p ÷ ((5 + n) / 6)", h("sup", {}, "α"))),
      h("p", { class: "faint" }, greedy.leaves_at === null
        ? "Greedy search, which always takes the likeliest token, finds the same translation."
        : ["Greedy search leaves the winner at step ", String(greedy.leaves_at + 1), ` and ends with score ${signed(greedy.score)}: `, h("span", { dir: "auto", lang: trace.model.target_lang }, greedy.text)]),
    );
  });
  return h("div", {}, head, view);
}
