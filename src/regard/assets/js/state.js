// What is chosen, on every page alike, and in the address, so that a link shows the same.

import { effect, signal } from "regard/signals.js";

/** @typedef {import("regard/types").Kind} Kind */

/**
 * @template T
 * @typedef {{ first: T, read: (text: string) => T | undefined, write?: (value: T) => string }} Field
 */

/** @param {string[]} names @returns {(text: string) => any} */
const oneOf = (names) => (text) => (names.includes(text) ? text : undefined);
/** @param {string} text */
const count = (text) => (/^\d{1,6}$/.test(text) ? Number(text) : undefined);
/** @param {string} text numbers with points between them */
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

/** Each choice, what it is at first, and how it reads in the address. */
const FIELDS = {
  /** Which attention: encoder, decoder (masked) or cross. */
  kind: { first: /** @type {Kind} */ ("cross"), read: oneOf(["encoder", "decoder", "cross"]) },
  /** From 1; 0 means that nobody has chosen yet. */
  layer: { first: 0, read: count },
  /** From 1; 0 is the mean of all. */
  head: { first: 0, read: count },
  /** The rows that are locked, from 0. */
  rows: { first: /** @type {number[]} */ ([]), read: list, write: (/** @type {number[]} */ rows) => rows.join(".") },
  /** The sentence. */
  text: { first: "", read: (/** @type {string} */ text) => text },
  /** The tokens that its translation begins with. */
  prefix: { first: /** @type {number[]} */ ([]), read: list, write: (/** @type {number[]} */ ids) => ids.join(".") },
  /** Target tokens are chosen by their number, source tokens by it with an s before it. */
  token: {
    first: "",
    read: (/** @type {string} */ text) => (/^s?\d{1,6}$/.test(text) ? text : undefined),
  },
  view: { first: "matrix", read: oneOf(["matrix", "lines"]) },
  sort: { first: "layer", read: oneOf(["layer", "peaked", "matters"]) },
  words: { first: "", read: flag },
  /** Leaves the marks and the punctuation out. */
  plain: { first: "", read: flag },
  /** Times the norm of each value. */
  norms: { first: "", read: flag },
  /** Labels decoder rows by the word that is read. */
  read: { first: "", read: flag },
  stretch: { first: "", read: flag },
  /** The share of each row's mass that is shown, in hundredths. */
  mass: { first: 100, read: count },
  /** Of the seven steps. */
  walk: { first: 1, read: count },
  /** What the steps walk through: the user's sentence, or the worked example. */
  example: { first: "", read: flag },
  /** Of the worked example, from 1, and whether its scores are divided. */
  input: { first: 1, read: count },
  divide: { first: "", read: flag },
  /** Of the search, from 0. */
  step: { first: 0, read: count },
  mode: { first: "translating", read: oneOf(["translating", "training"]) },
  /** Translations to list. */
  best: { first: 4, read: count },
  /** The hypothesis that is looked at, from 1; 0 is the winner. */
  node: { first: 0, read: count },
  /** Whether hypotheses that were given up are drawn, too. */
  pruned: { first: "", read: flag },
  /** A, B, or their difference. */
  show: { first: "a", read: oneOf(["a", "b", "difference"]) },
  layout: { first: "", read: oneOf(["interleaved", "halves", "t2t", "learned"]) },
  /** How many positions, of how many dimensions; 0 is the model's own width. */
  long: { first: 20, read: count },
  wide: { first: 512, read: count },
  /** Of the model: decoder.2.cross. */
  block: { first: "", read: (/** @type {string} */ text) => (/^[a-z]+(\.\w{1,9}){0,2}$/.test(text) ? text : undefined) },
  axis: { first: "step", read: oneOf(["step", "tokens", "hours"]) },
};

/** @typedef {typeof FIELDS} Fields */
/** @typedef {{ [K in keyof Fields]: import("regard/signals.js").Signal<Fields[K]["first"]> } & { page: import("regard/signals.js").Signal<string> }} At */

/**
 * The choices as signals, kept in step with the address.
 * @param {string} [opening] a fragment to begin with where the address has none
 * @returns {At}
 */
export function choices(opening = "") {
  const at = /** @type {any} */ ({ page: signal("translate") });
  for (const [name, field] of Object.entries(FIELDS)) at[name] = signal(field.first);
  read(at, location.hash || opening);
  addEventListener("hashchange", () => read(at, location.hash));
  let page = at.page.peek();
  effect(() => {
    const fragment = write(at);
    const turned = page !== at.page.peek();
    page = at.page.peek();
    if (fragment === location.hash) return;
    try {
      history[turned ? "pushState" : "replaceState"](null, "", fragment);
    } catch {
      // a frame without an address of its own: the choices live without one
    }
  });
  return at;
}

/**
 * @param {any} at
 * @param {string} fragment such as #/attention?layer=5
 */
export function read(at, fragment) {
  const [path, query = ""] = fragment.replace(/^#?\/?/, "").split("?");
  at.page.value = PAGES.includes(/** @type {any} */ (path)) ? path : "translate";
  const given = new URLSearchParams(query);
  for (const [name, field] of Object.entries(FIELDS)) {
    const value = given.has(name) ? field.read(given.get(name) ?? "") : undefined;
    at[name].value = value ?? field.first;
  }
}

/**
 * @param {any} at
 * @returns {string}
 */
export function write(at) {
  const query = new URLSearchParams();
  for (const [name, field] of Object.entries(FIELDS)) {
    const [value, first] = [at[name].value, field.first];
    if (String(value) === String(first)) continue;
    query.set(name, "write" in field ? field.write(value) : String(value));
  }
  const text = query.toString();
  return `#/${at.page.value}${text ? `?${text}` : ""}`;
}
