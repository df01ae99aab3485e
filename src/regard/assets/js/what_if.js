// What-if experiments: the changes, and the request for trace B.

import { effect, signal, untracked } from "regard/signals.js";
import { fetchTrace } from "regard/source.js";
import { tokenLabel } from "regard/trace.js";

/** @template T @typedef {import("regard/signals.js").Signal<T>} Signal */
/** @typedef {import("regard/source.js").Source} Source */
/** @typedef {import("regard/types").Trace} Trace */
/** @typedef {import("regard/types").Request} Request */
/** @typedef {import("regard/types").Intervention} Intervention */
/**
 * @typedef {object} Changes
 * @property {string[]} heads such as "cross 5 3" (kind, layer, head)
 * @property {"zero" | "uniform"} mode of ablation of the heads
 * @property {string[]} skipped such as "decoder 4 cross" (stack, layer, sublayer)
 * @property {number[]} hidden source tokens
 * @property {boolean} positions whether positions are removed
 * @property {string} prefix forced beginning of the translation
 * @property {string} target forced translation
 */
/** @typedef {ReturnType<typeof makeWhatIf>} WhatIf */

/** @type {Changes} */
export const NO_CHANGES = { heads: [], mode: "zero", skipped: [], hidden: [], positions: false, prefix: "", target: "" };

/**
 * @param {{ traceA: Signal<Trace | null>, traceB: Signal<Trace | null>, request: Signal<Request>, state: import("regard/state.js").ViewState }} app
 * @param {Source} source
 */
export function makeWhatIf(app, source) {
  const whatIf = {
    open: signal(false),
    changes: signal(NO_CHANGES),
    running: signal(false),
    problem: signal(""),
    /** Change of log p of A's tokens under the changes; null if the model is unchanged. */
    delta: signal(/** @type {number | null} */ (null)),
    /** @param {Partial<Changes>} some */
    change: (some) => void (whatIf.changes.value = { ...whatIf.changes.peek(), ...some }),
    run,
    clear,
  };
  let pending = new AbortController();
  let active = false;
  let text = "";

  effect(() => {
    const a = app.traceA.value;
    if (a) untracked(() => onNewTrace(a));
  });

  /** @param {Trace} a changes of one sentence are cleared for another; B is updated with A */
  function onNewTrace(a) {
    if (a.source.text !== text) whatIf.change({ hidden: [], prefix: "", target: "" });
    text = a.source.text;
    if (active) run();
  }

  async function run() {
    const a = app.traceA.peek();
    if (!a) return;
    const request = changedRequest(a, app.request.peek().step ?? null, whatIf.changes.peek());
    if (!request) return void (whatIf.problem.value = "Nothing is changed yet: tick a head, hide a word, or begin the translation.");
    pending.abort();
    const controller = (pending = new AbortController());
    active = true;
    whatIf.running.value = true;
    try {
      const b = await fetchTrace(source, request, controller.signal);
      const same = targetIds(a).join() === targetIds(b).join();
      const reread = same ? b : await fetchTrace(source, { ...request, prefix: [], target: targetIds(a) }, controller.signal);
      whatIf.delta.value = request.interventions.length ? reread.target.logprob - a.target.logprob : null;
      whatIf.problem.value = "";
      app.traceB.value = b;
      if (app.state.show.peek() === "a") app.state.show.value = "b";
    } catch (problem) {
      const { name, message } = /** @type {Error} */ (problem);
      if (name !== "AbortError") whatIf.problem.value = message;
    } finally {
      if (controller === pending) whatIf.running.value = false;
    }
  }

  function clear() {
    pending.abort();
    active = false;
    whatIf.running.value = false;
    whatIf.changes.value = NO_CHANGES;
    whatIf.problem.value = "";
    app.traceB.value = null;
    app.state.show.value = "a";
  }
  return whatIf;
}

/** @param {Trace} trace @returns {number[]} ids of the target tokens, without the end of sequence */
const targetIds = (trace) => trace.target.tokens.filter((token) => token.special !== "eos").map((token) => token.id);

/**
 * Return the request of A with the changes; null without changes.
 * @param {Trace} a
 * @param {number | null} step
 * @param {Changes} changes
 * @returns {Request | null}
 */
export function changedRequest(a, step, changes) {
  const { request } = a;
  const added = interventions(changes);
  const [prefix, target] = [changes.prefix.trim(), changes.target.trim()];
  if (!added.length && !prefix && !target) return null;
  const targetOrIds = target === a.target.text.trim() ? targetIds(a) : target;
  const changed = { ...request, step, interventions: [...request.interventions, ...added] };
  if (target) return { ...changed, prefix: [], target: targetOrIds };
  return prefix ? { ...changed, prefix, target: null } : changed;
}

/** @param {Changes} changes @returns {Intervention[]} */
export function interventions({ heads, mode, skipped, hidden, positions }) {
  const split = (/** @type {string} */ name) => /** @type {any[]} */ (name.split(" "));
  return [
    ...heads.map(split).map(([kind, layer, head]) => /** @type {const} */ ({ type: "head", kind, layer: Number(layer), head: Number(head), mode })),
    ...skipped.map(split).map(([stack, layer, sublayer]) => /** @type {const} */ ({ type: "sublayer", stack, layer: Number(layer), sublayer })),
    ...(hidden.length ? [/** @type {const} */ ({ type: "mask_source", positions: hidden })] : []),
    ...(positions ? [/** @type {const} */ ({ type: "positions" })] : []),
  ];
}

const SUBLAYERS = { self: "self-attention", cross: "cross-attention", ffn: "feed-forward" };
const KINDS = { encoder: "encoder", decoder: "decoder", cross: "cross" };

/** @param {Trace} b @returns {string} a description of the changes */
export function describeChanges(b) {
  const descriptions = b.request.interventions.map((each) => {
    switch (each.type) {
      case "head":
        return `${KINDS[each.kind]} head ${each.layer}.${each.head} ${each.mode === "zero" ? "removed" : "made uniform"}`;
      case "sublayer":
        return `${each.stack} layer ${each.layer} without ${SUBLAYERS[each.sublayer]}`;
      case "mask_source":
        return `${each.positions.map((i) => `“${tokenLabel(b.source.tokens[i])}”`).join(", ")} hidden`;
      case "positions":
        return "no positions";
    }
  });
  const prefix = b.target.tokens.slice(0, b.request.prefix.length);
  if (prefix.length) descriptions.push(`begins with “${prefix.map((token) => token.text).join("").trim()}”`);
  if (b.target.forced) descriptions.push("the whole translation is forced");
  return descriptions.join("; ");
}
