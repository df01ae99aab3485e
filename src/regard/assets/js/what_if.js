// What if something were different: what is changed, and the translation B that comes of it.

import { effect, signal, untracked } from "regard/signals.js";
import { traced } from "regard/source.js";
import { shown } from "regard/trace.js";

/** @template T @typedef {import("regard/signals.js").Signal<T>} Signal */
/** @typedef {import("regard/source.js").Source} Source */
/** @typedef {import("regard/types").Trace} Trace */
/** @typedef {import("regard/types").Request} Request */
/** @typedef {import("regard/types").Intervention} Intervention */
/**
 * @typedef {object} Changes
 * @property {string[]} heads such as "cross 5 3": kind, layer, head
 * @property {"zero" | "uniform"} mode what becomes of them
 * @property {string[]} skipped such as "decoder 4 cross": stack, layer, which
 * @property {number[]} hidden source tokens
 * @property {boolean} positions whether they are left out
 * @property {string} prefix what the translation begins with
 * @property {string} target what the whole translation is
 */
/** @typedef {ReturnType<typeof makeWhatIf>} WhatIf */

/** @type {Changes} */
export const NOTHING = { heads: [], mode: "zero", skipped: [], hidden: [], positions: false, prefix: "", target: "" };

/**
 * @param {{ a: Signal<Trace | null>, b: Signal<Trace | null>, request: Signal<Request>, at: import("regard/state.js").At }} app
 * @param {Source} source
 */
export function makeWhatIf(app, source) {
  const whatIf = {
    open: signal(false),
    changes: signal(NOTHING),
    running: signal(false),
    problem: signal(""),
    /** Log p of A's words under the changes, less what it was; null where the model is the same. */
    delta: signal(/** @type {number | null} */ (null)),
    /** @param {Partial<Changes>} some */
    change: (some) => void (whatIf.changes.value = { ...whatIf.changes.peek(), ...some }),
    run,
    clear,
  };
  let under = new AbortController();
  let wanted = false;
  let text = "";

  effect(() => {
    const a = app.a.value;
    if (a) untracked(() => another(a));
  });

  /** @param {Trace} a what belongs to one sentence does not outlive it; B follows A */
  function another(a) {
    if (a.source.text !== text) whatIf.change({ hidden: [], prefix: "", target: "" });
    text = a.source.text;
    if (wanted) run();
  }

  async function run() {
    const a = app.a.peek();
    if (!a) return;
    const asked = changed(a, app.request.peek().step ?? null, whatIf.changes.peek());
    if (!asked) return void (whatIf.problem.value = "Nothing is changed yet: tick a head, hide a word, or begin the translation.");
    under.abort();
    const mine = (under = new AbortController());
    wanted = true;
    whatIf.running.value = true;
    try {
      const b = await traced(source, asked, mine.signal);
      const same = words(a).join() === words(b).join();
      const read = same ? b : await traced(source, { ...asked, prefix: [], target: words(a) }, mine.signal);
      whatIf.delta.value = asked.interventions.length ? read.target.logprob - a.target.logprob : null;
      whatIf.problem.value = "";
      app.b.value = b;
      if (app.at.show.peek() === "a") app.at.show.value = "b";
    } catch (problem) {
      const { name, message } = /** @type {Error} */ (problem);
      if (name !== "AbortError") whatIf.problem.value = message;
    } finally {
      if (mine === under) whatIf.running.value = false;
    }
  }

  function clear() {
    under.abort();
    wanted = false;
    whatIf.running.value = false;
    whatIf.changes.value = NOTHING;
    whatIf.problem.value = "";
    app.b.value = null;
    app.at.show.value = "a";
  }
  return whatIf;
}

/** @param {Trace} trace @returns {number[]} the tokens of the translation, without its marks */
const words = (trace) => trace.target.tokens.filter((token) => token.special !== "eos").map((token) => token.id);

/**
 * The request of A with the changes; null where there are none.
 * @param {Trace} a
 * @param {number | null} step
 * @param {Changes} changes
 * @returns {Request | null}
 */
export function changed(a, step, changes) {
  const { request } = a;
  const mine = interventions(changes);
  const [prefix, target] = [changes.prefix.trim(), changes.target.trim()];
  if (!mine.length && !prefix && !target) return null;
  const whole = target === a.target.text.trim() ? words(a) : target;
  const asked = { ...request, step, interventions: [...request.interventions, ...mine] };
  if (target) return { ...asked, prefix: [], target: whole };
  return prefix ? { ...asked, prefix, target: null } : asked;
}

/** @param {Changes} changes @returns {Intervention[]} */
export function interventions({ heads, mode, skipped, hidden, positions }) {
  const split = (/** @type {string} */ name) => /** @type {any[]} */ (name.split(" "));
  return [
    ...heads.map(split).map(([kind, layer, head]) => /** @type {const} */ ({ type: "head", kind, layer: Number(layer), head: Number(head), mode })),
    ...skipped.map(split).map(([stack, layer, which]) => /** @type {const} */ ({ type: "sublayer", stack, layer: Number(layer), which })),
    ...(hidden.length ? [/** @type {const} */ ({ type: "hide_source", positions: hidden })] : []),
    ...(positions ? [/** @type {const} */ ({ type: "positions" })] : []),
  ];
}

const SUBLAYERS = { self: "self-attention", cross: "cross-attention", ffn: "feed-forward" };
const KINDS = { encoder: "encoder", decoder: "decoder", cross: "cross" };

/** @param {Trace} b @returns {string} in words what is different in it */
export function told(b) {
  const said = b.request.interventions.map((each) => {
    switch (each.type) {
      case "head":
        return `${KINDS[each.kind]} head ${each.layer}.${each.head} ${each.mode === "zero" ? "removed" : "made uniform"}`;
      case "sublayer":
        return `${each.stack} layer ${each.layer} without ${SUBLAYERS[each.which]}`;
      case "hide_source":
        return `${each.positions.map((i) => `“${shown(b.source.tokens[i])}”`).join(", ")} hidden`;
      case "positions":
        return "no positions";
    }
  });
  const begun = b.target.tokens.slice(0, b.request.prefix.length);
  if (begun.length) said.push(`begins with “${begun.map((token) => token.text).join("").trim()}”`);
  if (b.target.forced) said.push("the whole translation is given");
  return said.join("; ");
}
