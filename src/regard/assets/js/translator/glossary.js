// Glossary: terms for each pair of languages, kept in this browser and sent with every request.

import { h } from "regard/dom.js";
import { computed, effect } from "regard/signals.js";
import { icon } from "regard/translator/icons.js";
import { storedSignal } from "regard/translator/stored.js";
import { languageName } from "regard/translator/words.js";

/** @template T @typedef {import("regard/signals.js").Signal<T>} Signal */
/** @typedef {{ source: string, target: string, phrase: string, term: string }} Entry */

const MAX_LENGTH = 200;

/** @param {unknown} value */
const isEntryList = (value) =>
  Array.isArray(value) &&
  value.every((each) => each && ["source", "target", "phrase", "term"].every((name) => typeof each[name] === "string"));

/**
 * @param {() => { source: string, target: string }} languages the pair; reads signals
 * @param {Signal<boolean>} isOpen
 */
export function makeGlossary(languages, isOpen) {
  const entries = storedSignal("regard.glossary", /** @type {Entry[]} */ ([]), isEntryList);
  const pairs = computed(() => {
    const { source, target } = languages();
    const usable = entries.value.filter((entry) => isOfPair(entry, source, target) && entry.phrase.trim() && entry.term.trim());
    return [...new Map(usable.map((entry) => [entry.phrase.trim(), entry.term.trim()]))];
  });
  return { pairs, panel: glossaryPanel(entries, languages, isOpen) };
}

/** @param {Entry} entry @param {string} source @param {string} target */
function isOfPair(entry, source, target) {
  return entry.target === target && (entry.source === source || source === "auto" || entry.source === "auto");
}

/**
 * @param {Signal<Entry[]>} entries
 * @param {() => { source: string, target: string }} languages
 * @param {Signal<boolean>} isOpen
 */
function glossaryPanel(entries, languages, isOpen) {
  const rows = h("ul", { class: "terms" });
  const heading = h("h2", { id: "glossary-heading" });
  const add = h("button", { type: "button", class: "quiet", onclick: () => addRow() }, icon("plus"), "Add a term");
  const panel = h(
    "section",
    { class: "panel", id: "glossary", "aria-labelledby": "glossary-heading", onkeydown: (/** @type {KeyboardEvent} */ event) => event.key === "Escape" && close() },
    h("div", { class: "panel-head" }, heading, h("button", { type: "button", class: "round", "aria-label": "Close the glossary", onclick: close }, icon("close"))),
    h("p", { class: "faint" }, "Where the left term stands in your text, the translation uses the right one. Terms stay in this browser."),
    rows,
    add,
  );
  let shownPair = "";
  /** @type {Entry[]} of the rows */
  let shown = [];

  effect(() => {
    const { source, target } = languages();
    heading.textContent = source === "auto" ? `Glossary to ${languageName(target)}` : `Glossary, ${languageName(source)} to ${languageName(target)}`;
    const pair = `${source}>${target}`;
    if (pair === shownPair) return;
    shownPair = pair;
    shown = entries.peek().filter((entry) => isOfPair(entry, source, target));
    if (!shown.length) shown = [{ source, target, phrase: "", term: "" }];
    rows.replaceChildren(...shown.map(makeRow));
  });
  effect(() => {
    panel.hidden = !isOpen.value;
    if (isOpen.value) rows.querySelector("input")?.focus();
  });

  function close() {
    isOpen.value = false;
    /** @type {HTMLElement | null} */ (document.querySelector("[aria-controls='glossary']"))?.focus();
  }

  function save() {
    const others = entries.peek().filter((entry) => !shown.includes(entry));
    entries.value = [...others, ...shown.filter((entry) => entry.phrase.trim() || entry.term.trim())];
  }

  function addRow() {
    const entry = { ...languages(), phrase: "", term: "" };
    shown.push(entry);
    const row = makeRow(entry);
    rows.append(row);
    row.querySelector("input")?.focus();
  }

  /** @param {Entry} entry */
  function makeRow(entry) {
    const field = (/** @type {"phrase" | "term"} */ name, /** @type {string} */ label, /** @type {string} */ lang) =>
      h("input", {
        value: entry[name],
        maxlength: MAX_LENGTH,
        "aria-label": label,
        placeholder: label,
        lang: lang === "auto" ? false : lang,
        dir: "auto",
        oninput: (/** @type {Event} */ event) => {
          entry[name] = /** @type {HTMLInputElement} */ (event.target).value;
          save();
        },
        onkeydown: (/** @type {KeyboardEvent} */ event) => event.key === "Enter" && addRow(),
      });
    const row = h(
      "li",
      {},
      field("phrase", "Term", entry.source),
      h("span", { class: "arrow", "aria-hidden": "true" }, "→"),
      field("term", "Translation", entry.target),
      h("button", { type: "button", class: "round", "aria-label": "Remove this term", onclick: () => remove(entry, row) }, icon("close")),
    );
    return row;
  }

  /** @param {Entry} entry @param {HTMLElement} row */
  function remove(entry, row) {
    const neighbour = row.nextElementSibling ?? row.previousElementSibling;
    shown = shown.filter((each) => each !== entry);
    entries.value = entries.peek().filter((each) => each !== entry);
    row.remove();
    (neighbour?.querySelector("button") ?? add).focus();
  }

  return panel;
}
