// View state, shared by all pages and stored in the address, so that a link shows the same view.

import { effect, signal } from "regard/signals.js";

/** @typedef {import("regard/types").Kind} Kind */

/**
 * @template T
 * @typedef {{ initial: T, parse: (text: string) => T | undefined, format?: (value: T) => string }} Field
 */

/** @param {string[]} names @returns {(text: string) => any} */
const oneOf = (names) => (text) => (names.includes(text) ? text : undefined);
/** @param {string} text */
const count = (text) => (/^\d{1,6}$/.test(text) ? Number(text) : undefined);
/** @param {string} text numbers separated by full stops */
const list = (text) => (/^\d+(\.\d+)*$/.test(text) ? text.split(".").map(Number) : undefined);
const flag = oneOf(["1"]);

export const PAGES = /** @type {const} */ ([
  "translate",
  "attention",
  "steps",
  "search",
  "model",
  "positions",
  "training",
]);

/** Each field with its initial value and its format in the address. */
const FIELDS = {
  /** Kind of attention: encoder, decoder (masked) or cross. */
  kind: { first: /** @type {Kind} */ ("cross"), read: oneOf(["encoder", "decoder", "cross"]) },
  /** From 1; 0 before the first trace. */
  layer: { first: 0, read: count },
  /** From 1; 0 is the mean over heads. */
  head: { first: 0, read: count },
  /** Locked rows, from 0. */
  rows: { first: /** @type {number[]} */ ([]), read: list, write: (/** @type {number[]} */ rows) => rows.join(".") },
  /** The sentence. */
  text: { first: "", read: (/** @type {string} */ text) => text },
  /** Forced token ids at the beginning of the translation. */
  prefix: { first: /** @type {number[]} */ ([]), read: list, write: (/** @type {number[]} */ ids) => ids.join(".") },
  /** Selected token: its index, with s before it on the source side. */
  token: {
    first: "",
    read: (/** @type {string} */ text) => (/^s?\d{1,6}$/.test(text) ? text : undefined),
  },
  view: { first: "matrix", read: oneOf(["matrix", "lines"]) },
  sort: { first: "layer", read: oneOf(["layer", "peaked", "importance"]) },
  words: { first: "", read: flag },
  /** Hides special tokens and punctuation. */
  plain: { first: "", read: flag },
  /** Multiplies weights by the norms of the values. */
  norms: { first: "", read: flag },
  /** Labels decoder rows by the input token. */
  read: { first: "", read: flag },
  stretch: { first: "", read: flag },
  /** Share of each row's mass that is shown, in per cent. */
  mass: { first: 100, read: count },
  /** Which of the seven attention steps. */
  walk: { first: 1, read: count },
  /** Whether the steps show the worked example, not the sentence. */
  example: { first: "", read: flag },
  /** Input of the worked example, from 1, and whether its scores are scaled. */
  input: { first: 1, read: count },
  divide: { first: "", read: flag },
  /** Search step, from 0. */
  step: { first: 0, read: count },
  mode: { first: "translating", read: oneOf(["translating", "training"]) },
  /** Length of the n-best list. */
  best: { first: 4, read: count },
  /** Selected hypothesis, from 1; 0 is the best. */
  node: { first: 0, read: count },
  /** Whether pruned hypotheses are drawn. */
  pruned: { first: "", read: flag },
  /** A, B, or their difference. */
  show: { first: "a", read: oneOf(["a", "b", "difference"]) },
  layout: { first: "", read: oneOf(["interleaved", "halves", "t2t", "learned"]) },
  /** Number of positions and of dimensions; 0 is the model's width. */
  long: { first: 20, read: count },
  wide: { first: 512, read: count },
  /** Selected block of the model, such as decoder.2.cross. */
  block: { first: "", read: (/** @type {string} */ text) => (/^[a-z]+(\.\w{1,9}){0,2}$/.test(text) ? text : undefined) },
  axis: { first: "step", read: oneOf(["step", "tokens", "hours"]) },
};

/** @typedef {typeof FIELDS} Fields */
/** @typedef {{ [K in keyof Fields]: import("regard/signals.js").Signal<Fields[K]["first"]> } & { page: import("regard/signals.js").Signal<string> }} ViewState */

/**
 * Create the view state as signals, synchronized with the address.
 * @param {string} [opening] initial fragment if the address has none
 * @returns {ViewState}
 */
export function makeState(opening = "") {
  const state = /** @type {any} */ ({ page: signal("translate") });
  for (const [name, field] of Object.entries(FIELDS)) state[name] = signal(field.first);
  readFragment(state, location.hash || opening);
  addEventListener("hashchange", () => readFragment(state, location.hash));
  let page = state.page.peek();
  effect(() => {
    const fragment = writeFragment(state);
    const turned = page !== state.page.peek();
    page = state.page.peek();
    if (fragment === location.hash) return;
    try {
      history[turned ? "pushState" : "replaceState"](null, "", fragment);
    } catch {
      // a frame without its own address
    }
  });
  return state;
}

/**
 * @param {any} at
 * @param {string} fragment such as #/attention?layer=5
 */
export function readFragment(at, fragment) {
  const [path, search = ""] = fragment.replace(/^#?\/?/, "").split("?");
  at.page.value = PAGES.includes(/** @type {any} */ (path)) ? path : "translate";
  const parameters = new URLSearchParams(search);
  for (const [name, field] of Object.entries(FIELDS)) {
    const value = parameters.has(name) ? field.read(parameters.get(name) ?? "") : undefined;
    at[name].value = value ?? field.first;
  }
}

/**
 * @param {any} at
 * @returns {string}
 */
export function writeFragment(at) {
  const query = new URLSearchParams();
  for (const [name, field] of Object.entries(FIELDS)) {
    const [value, first] = [at[name].value, field.first];
    if (String(value) === String(first)) continue;
    query.set(name, "write" in field ? field.write(value) : String(value));
  }
  const text = query.toString();
  return `#/${at.page.value}${text ? `?${text}` : ""}`;
}
