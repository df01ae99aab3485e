// The application state that all pages share: view state, current request, trace A, and trace B to compare it with.

import { computed, effect, signal } from "regard/signals.js";
import { fetchTrace } from "regard/source.js";
import { makeState } from "regard/state.js";
import { attentionWeights, subtractMatrices } from "regard/trace.js";
import { makeWhatIf } from "regard/what_if.js";

/** @typedef {import("regard/types").Trace} Trace */
/** @typedef {import("regard/types").Request} Request */
/** @typedef {import("regard/types").Kind} Kind */
/** @typedef {import("regard/source.js").Source} Source */
/** @typedef {import("regard/trace.js").Matrix} Matrix */
/** @typedef {ReturnType<typeof makeApp>} App */

/** Default search settings: section 6.1 of the paper. */
export const DEFAULT_REQUEST = { beam: 4, alpha: 0.6, top_k: 10, prefix: [], target: null, interventions: [], step: null };

/**
 * @param {Source | null} source null on the offline page
 * @param {import("regard/types").Info | null} info
 * @param {Trace | null} trace
 * @param {string} view the fragment of the initial view
 */
export function makeApp(source, info, trace, view) {
  const state = makeState(view);
  const fromLink = { text: state.text.peek() || (info?.example ?? ""), prefix: state.text.peek() ? state.prefix.peek() : [] };
  const request = signal(/** @type {Request} */ (trace?.request ?? { ...DEFAULT_REQUEST, ...info?.search, ...fromLink }));
  const answeredRequest = signal("");
  const translatingLines = signal(false);
  const traceA = signal(trace);
  const traceB = signal(/** @type {Trace | null} */ (null));
  const model = info?.model ?? trace?.model;
  const task = model?.task ?? "translation";
  const app = {
    source,
    info,
    state,
    /** The model, as far as it is known before the first request. */
    model,
    /** The model's task: pages about target tokens need a translation model. */
    task,
    /** The kinds of attention that the model has. */
    kinds: attentionKinds(model),
    /** The current request: a new value fetches a new trace. */
    request,
    /** Trace A: the answer to the current request. */
    traceA,
    /** Trace B: the same request with what-if changes. */
    traceB,
    /** Makes B; null without a server or a translation model. */
    whatIf: source && task === "translation" ? makeWhatIf({ traceA, traceB, state, request }, source) : null,
    /** The trace that pages show; for B − A, the one whose tokens are the labels. */
    trace: computed(() => (state.show.value !== "a" && traceB.value ? traceB.value : traceA.value)),
    /** Measured importance of each head: "cross 5 3" to the change of log p without it. */
    headImportance: signal(/** @type {Map<string, number>} */ (new Map())),
    /** Content of the source field: the request's text, or several lines. */
    draft: signal(request.peek().text),
    /** Translations of a draft that is not traced: several lines, or one that is too long. */
    lineTranslations: signal(/** @type {{ texts: string[], lines: import("regard/types").Line[], ms: number } | null} */ (null)),
    /** Message that the text is too long for a trace; it is translated all the same. */
    tooLongMessage: signal(""),
    /** The last answered request, as JSON. */
    answeredRequest,
    /** Whether several lines are being translated. */
    translatingLines,
    busy: computed(() => translatingLines.value || (source !== null && answeredRequest.value !== JSON.stringify(request.value))),
    /** The error message. */
    errorMessage: signal(""),
  };
  state.show.value = "a"; // a link does not contain B
  if (source) {
    syncWithAddress(app);
    traceRequests(app, source);
  }
  effect(() => clampState(app));
  return app;
}

/**
 * Fetch a trace for each new request; a request in progress is aborted.
 * @param {App} app
 * @param {Source} source
 */
function traceRequests(app, source) {
  let pending = new AbortController();
  effect(() => {
    const request = app.request.value;
    const key = JSON.stringify(request);
    if (key === app.answeredRequest.peek()) return;
    pending.abort();
    const controller = (pending = new AbortController());
    if (!request.text.trim()) return clearTranslation(app, key);
    fetchTrace(source, request, controller.signal)
      .then((trace) => {
        if (app.traceA.peek()) app.state.node.value = 0;
        app.traceA.value = trace;
        app.traceB.value = null;
        app.headImportance.value = new Map();
        app.errorMessage.value = "";
        app.tooLongMessage.value = "";
      })
      .catch((problem) => {
        if (problem.name === "AbortError") return;
        app.errorMessage.value = problem.message;
        app.tooLongMessage.value = problem.code === "too_long" ? problem.message : "";
      })
      .finally(() => {
        if (controller === pending) app.answeredRequest.value = key;
      });
  });
}

/** @param {App} app @param {string} key of the empty request */
function clearTranslation(app, key) {
  app.traceA.value = null;
  app.traceB.value = null;
  app.errorMessage.value = "";
  app.tooLongMessage.value = "";
  app.answeredRequest.value = key;
}

/**
 * Keep the sentence and the target prefix in the address, so that a link shows them.
 * @param {App} app
 */
function syncWithAddress(app) {
  const { state, request } = app;
  const requestPrefix = () => /** @type {number[]} */ (Array.isArray(request.peek().prefix) ? request.peek().prefix : []);
  const key = (/** @type {string} */ text, /** @type {number[]} */ prefix) => JSON.stringify([text, prefix]);
  /** What the request wrote into the address: a newer request must not be undone when the address is read. */
  let lastWritten = "";
  effect(() => {
    const { text } = request.value;
    lastWritten = key(text, requestPrefix());
    state.text.value = text;
    if (String(state.prefix.peek()) !== String(requestPrefix())) state.prefix.value = requestPrefix();
  });
  effect(() => {
    const [text, prefix] = [state.text.value, state.prefix.value];
    if (text && key(text, prefix) !== lastWritten) request.value = { ...request.peek(), text, prefix, target: null };
  });
}

/**
 * Translate the text of a trace again, with another prefix or target, or freely.
 * @param {App} app
 * @param {Trace} trace
 * @param {{ prefix?: number[], target?: number[] }} [how]
 */
export function retranslate(app, trace, { prefix = [], target } = {}) {
  app.request.value = { ...app.request.value, text: trace.request.text, prefix, target: target ?? null };
}

/**
 * Clamp the view state to the layers, heads and tokens of the trace.
 * @param {App} app
 */
function clampState(app) {
  const { state } = app;
  const trace = app.trace.value;
  if (!trace) return;
  if (!app.kinds.includes(state.kind.value)) state.kind.value = app.kinds[0];
  const depth = layerCount(trace, state.kind.value);
  if (!state.layer.value) state.layer.value = state.kind.value === "cross" && depth > 2 ? depth - 1 : depth;
  if (state.layer.value > depth) state.layer.value = depth;
  if (state.head.value > trace.model.heads) state.head.value = trace.model.heads;
  const queries = state.kind.value === "encoder" ? trace.source.tokens : trace.target.tokens;
  if (state.rows.value.some((row) => row >= queries.length)) state.rows.value = [];
  const side = state.token.value.startsWith("s") ? trace.source.tokens : trace.target.tokens;
  if (state.token.value && Number(state.token.value.replace("s", "")) >= side.length) state.token.value = "";
  if (state.step.value >= trace.target.tokens.length) state.step.value = Math.max(0, trace.target.tokens.length - 1);
}

/** @param {Trace} trace @param {Kind} kind */
export function layerCount(trace, kind) {
  return kind === "encoder" ? trace.model.encoder_layers : trace.model.decoder_layers;
}

/**
 * Return the attention of a head in the shown trace; `signed` for a difference.
 * @param {App} app
 * @param {Kind} kind
 * @param {number} layer
 * @param {number} head
 * @returns {{ matrix: Matrix, signed: boolean } | null} null where A and B have different numbers of tokens
 */
export function shownAttention(app, kind, layer, head) {
  const [a, b] = [app.traceA.value, app.traceB.value];
  if (app.state.show.value === "difference" && a && b) {
    const matrix = subtractMatrices(attentionWeights(b, kind, layer, head), attentionWeights(a, kind, layer, head));
    return matrix && { matrix, signed: true };
  }
  const trace = app.trace.value;
  return trace && { matrix: attentionWeights(trace, kind, layer, head), signed: false };
}

/** @param {import("regard/types").Model | undefined} model @returns {Kind[]} */
function attentionKinds(model) {
  const encoder = /** @type {Kind[]} */ (model?.encoder_layers === 0 ? [] : ["encoder"]);
  return model?.decoder_layers === 0 ? encoder : [...encoder, "decoder", "cross"];
}

/** @param {Kind} kind @param {{ causal?: boolean }} [model] */
export const kindName = (kind, model) =>
  ({ encoder: "Encoder", decoder: model?.causal === false ? "Decoder" : "Decoder, masked", cross: "Cross" })[kind];

/** Head importance was measured for A and is not shown for B. @param {App} app @returns {Map<string, number>} */
export const shownHeadImportance = (app) => (app.trace.value === app.traceA.value ? app.headImportance.value : new Map());

/** Label of an ablated head, where B is shown. @param {App} app @param {Kind} kind @param {number} layer @param {number} head */
export function ablationMark(app, kind, layer, head) {
  const interventions = app.trace.value === app.traceB.value ? app.traceB.value?.request.interventions ?? [] : [];
  const ablation = interventions.find((each) => each.type === "head" && each.kind === kind && each.layer === layer && each.head === head);
  return ablation?.type === "head" ? (ablation.mode === "zero" ? " (off)" : " (uniform)") : "";
}
