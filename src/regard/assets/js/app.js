// What every page shares: the choices, the translation that is looked at, and the one it is compared with.

import { computed, effect, signal } from "regard/signals.js";
import { traced } from "regard/source.js";
import { choices } from "regard/state.js";
import { attention, difference } from "regard/trace.js";
import { makeWhatIf } from "regard/what_if.js";

/** @typedef {import("regard/types").Trace} Trace */
/** @typedef {import("regard/types").Request} Request */
/** @typedef {import("regard/types").Kind} Kind */
/** @typedef {import("regard/source.js").Source} Source */
/** @typedef {import("regard/trace.js").Matrix} Matrix */
/** @typedef {ReturnType<typeof makeApp>} App */

/** How a sentence is translated when nobody says otherwise: section 6.1 of the paper. */
export const PLAIN = { beam: 4, alpha: 0.6, top_k: 10, prefix: [], target: null, interventions: [], step: null };

/**
 * @param {Source | null} source null where the page carries its translation
 * @param {import("regard/types").Info | null} info
 * @param {Trace | null} trace
 * @param {string} view the fragment to open with
 */
export function makeApp(source, info, trace, view) {
  const at = choices(view);
  const linked = { text: at.text.peek() || (info?.example ?? ""), prefix: at.text.peek() ? at.prefix.peek() : [] };
  const request = signal(/** @type {Request} */ (trace?.request ?? { ...PLAIN, ...info?.search, ...linked }));
  const answered = signal("");
  const listing = signal(false);
  const a = signal(trace);
  const b = signal(/** @type {Trace | null} */ (null));
  const model = info?.model ?? trace?.model;
  const task = model?.task ?? "translation";
  const app = {
    source,
    info,
    at,
    /** What it is, as far as it is known before anything is asked. */
    model,
    /** What the model is for: pages about words that are written need one that translates. */
    task,
    /** The kinds of attention that it has. */
    kinds: kindsOf(model),
    /** What is translated: a new value asks for a new trace. */
    request,
    /** The translation itself. */
    a,
    /** The same with something changed: what if. */
    b,
    /** How B is made; null where no model can be asked, or none that translates. */
    whatIf: source && task === "translation" ? makeWhatIf({ a, b, at, request }, source) : null,
    /** The one that pages show; of a difference, the one whose words label it. */
    trace: computed(() => (at.show.value !== "a" && b.value ? b.value : a.value)),
    /** How much each head matters, as it is measured: "cross 5 3" to log p. */
    matters: signal(/** @type {Map<string, number>} */ (new Map())),
    /** What stands in the source field: the request's text, or several lines. */
    draft: signal(request.peek().text),
    /** Translations of a draft that is not traced whole: several lines, or one that is too long. */
    lines: signal(/** @type {{ texts: string[], lines: import("regard/types").Line[], ms: number } | null} */ (null)),
    /** That the text is too long to look into, in words; it is translated all the same. */
    tooLong: signal(""),
    /** The request that was answered last, as JSON. */
    answered,
    /** Whether a list is being translated. */
    listing,
    busy: computed(() => listing.value || (source !== null && answered.value !== JSON.stringify(request.value))),
    /** What went wrong, in words. */
    problem: signal(""),
    /** What is said to those who hear the page. */
    said: signal(""),
  };
  at.show.value = "a"; // a link cannot say what B was
  if (source) {
    addressed(app);
    follow(app, source);
  }
  effect(() => settle(app));
  return app;
}

/**
 * A new request is traced, and whatever was under way is given up.
 * @param {App} app
 * @param {Source} source
 */
function follow(app, source) {
  let under = new AbortController();
  effect(() => {
    const request = app.request.value;
    const key = JSON.stringify(request);
    if (key === app.answered.peek()) return;
    under.abort();
    const mine = (under = new AbortController());
    if (!request.text.trim()) return forget(app, key);
    traced(source, request, mine.signal)
      .then((trace) => {
        if (app.a.peek()) app.at.node.value = 0;
        app.a.value = trace;
        app.b.value = null;
        app.matters.value = new Map();
        app.problem.value = "";
        app.tooLong.value = "";
      })
      .catch((problem) => {
        if (problem.name === "AbortError") return;
        app.problem.value = problem.message;
        app.tooLong.value = problem.code === "too_long" ? problem.message : "";
      })
      .finally(() => {
        if (mine === under) app.answered.value = key;
      });
  });
}

/** @param {App} app nothing is translated @param {string} key */
function forget(app, key) {
  app.a.value = null;
  app.b.value = null;
  app.problem.value = "";
  app.tooLong.value = "";
  app.answered.value = key;
}

/**
 * The sentence and how its translation begins are in the address, too, so that a link shows them.
 * @param {App} app
 */
function addressed(app) {
  const { at, request } = app;
  const beginning = () => /** @type {number[]} */ (Array.isArray(request.peek().prefix) ? request.peek().prefix : []);
  const key = (/** @type {string} */ text, /** @type {number[]} */ prefix) => JSON.stringify([text, prefix]);
  /** What the request wrote: it may be another by the time that the address is read, and must not be put back. */
  let wrote = "";
  effect(() => {
    const { text } = request.value;
    wrote = key(text, beginning());
    at.text.value = text;
    if (String(at.prefix.peek()) !== String(beginning())) at.prefix.value = beginning();
  });
  effect(() => {
    const [text, prefix] = [at.text.value, at.prefix.value];
    if (text && key(text, prefix) !== wrote) request.value = { ...request.peek(), text, prefix, target: null };
  });
}

/**
 * Has the text of a translation translated in another way; what is not said becomes free.
 * @param {App} app
 * @param {Trace} trace
 * @param {{ prefix?: number[], target?: number[] }} [how]
 */
export function again(app, trace, { prefix = [], target } = {}) {
  app.request.value = { ...app.request.value, text: trace.request.text, prefix, target: target ?? null };
}

/**
 * Choices that this translation does not have become ones that it has.
 * @param {App} app
 */
function settle(app) {
  const { at } = app;
  const trace = app.trace.value;
  if (!trace) return;
  if (!app.kinds.includes(at.kind.value)) at.kind.value = app.kinds[0];
  const deep = layers(trace, at.kind.value);
  if (!at.layer.value) at.layer.value = at.kind.value === "cross" && deep > 2 ? deep - 1 : deep;
  if (at.layer.value > deep) at.layer.value = deep;
  if (at.head.value > trace.model.heads) at.head.value = trace.model.heads;
  const queries = at.kind.value === "encoder" ? trace.source.tokens : trace.target.tokens;
  if (at.rows.value.some((row) => row >= queries.length)) at.rows.value = [];
  const side = at.token.value.startsWith("s") ? trace.source.tokens : trace.target.tokens;
  if (at.token.value && Number(at.token.value.replace("s", "")) >= side.length) at.token.value = "";
  if (at.step.value >= trace.target.tokens.length) at.step.value = Math.max(0, trace.target.tokens.length - 1);
}

/** @param {Trace} trace @param {Kind} kind */
export function layers(trace, kind) {
  return kind === "encoder" ? trace.model.encoder_layers : trace.model.decoder_layers;
}

/**
 * Where a head looks in what is shown; `signed` where it is a difference.
 * @param {App} app
 * @param {Kind} kind
 * @param {number} layer
 * @param {number} head
 * @returns {{ matrix: Matrix, signed: boolean } | null} null where two translations have different words
 */
export function looks(app, kind, layer, head) {
  const [a, b] = [app.a.value, app.b.value];
  if (app.at.show.value === "difference" && a && b) {
    const matrix = difference(attention(b, kind, layer, head), attention(a, kind, layer, head));
    return matrix && { matrix, signed: true };
  }
  const trace = app.trace.value;
  return trace && { matrix: attention(trace, kind, layer, head), signed: false };
}

/** @param {import("regard/types").Model | undefined} model @returns {Kind[]} */
function kindsOf(model) {
  const encoder = /** @type {Kind[]} */ (model?.encoder_layers === 0 ? [] : ["encoder"]);
  return model?.decoder_layers === 0 ? encoder : [...encoder, "decoder", "cross"];
}

/** @param {Kind} kind @param {{ causal?: boolean }} [model] whose decoder may see everything */
export const kindName = (kind, model) =>
  ({ encoder: "Encoder", decoder: model?.causal === false ? "Decoder" : "Decoder, masked", cross: "Cross" })[kind];

/** What heads matter was measured with A, and says nothing of B. @param {App} app @returns {Map<string, number>} */
export const measuredHere = (app) => (app.trace.value === app.a.value ? app.matters.value : new Map());

/** What B does to a head, in words, where B is what is shown. @param {App} app @param {Kind} kind @param {number} layer @param {number} head */
export function switchedOff(app, kind, layer, head) {
  const shown = app.trace.value === app.b.value ? app.b.value?.request.interventions ?? [] : [];
  const found = shown.find((each) => each.type === "head" && each.kind === kind && each.layer === layer && each.head === head);
  return found?.type === "head" ? (found.mode === "zero" ? " (off)" : " (uniform)") : "";
}
