// Language bar: source, target and the button that swaps them.

import { h, setChildren } from "regard/dom.js";
import { computed, effect } from "regard/signals.js";
import { icon } from "regard/translator/icons.js";
import { storedSignal } from "regard/translator/stored.js";
import { languageName } from "regard/translator/words.js";

/** @typedef {import("regard/translator/api.js").Language} Language */
/** @typedef {import("regard/translator/api.js").Model} Model */
/** @template T @typedef {import("regard/signals.js").Signal<T>} Signal */

const AUTO = "auto";

/** @param {unknown} value */
const isPair = (value) => Array.isArray(value) && value.length === 2 && value.every((each) => typeof each === "string");

/**
 * @param {Language[]} languages
 * @param {Model[]} models
 */
export function chooseLanguages(languages, models) {
  const codes = languages.map((each) => each.code);
  const stored = storedSignal("regard.languages", ["", ""], isPair);
  const sources = codes.length > 1 ? [AUTO, ...codes] : codes;
  const source = computed(() => (sources.includes(stored.value[0]) ? stored.value[0] : codes[0]));
  const targets = computed(() => targetsOf(languages, source.value));
  const target = computed(() => (targets.value.includes(stored.value[1]) ? stored.value[1] : targets.value[0]));

  /** @param {string} from @param {string} to */
  function choose(from, to) {
    if (from === to) to = source.peek() !== AUTO && targetsOf(languages, from).includes(source.peek()) ? source.peek() : "";
    stored.value = [from, to];
  }

  /** @param {string} from @param {string} to */
  const hasPair = (from, to) => from !== to && targetsOf(languages, from).includes(to);
  /** @param {string} from @param {string} to whether one model translates it; with "auto", every source */
  const isDirect = (from, to) =>
    (from === AUTO ? codes.filter((each) => hasPair(each, to)) : [from]).every((each) =>
      models.some((model) => model.source_language === each && model.target_language === to),
    );
  const nameOf = (/** @type {string} */ code) => languages.find((each) => each.code === code)?.name ?? languageName(code);
  return { source, target, sources, targets, choose, hasPair, isDirect, nameOf };
}

/** @typedef {ReturnType<typeof chooseLanguages>} LanguageChoice */

/** @param {Language[]} languages @param {string} source @returns {string[]} other languages that it is translated to */
function targetsOf(languages, source) {
  const from = source === AUTO ? languages : languages.filter((each) => each.code === source);
  const targets = from.flatMap((each) => each.targets.filter((code) => code !== each.code));
  return [...new Set(targets)];
}

/**
 * @param {LanguageChoice} choice
 * @param {() => string | null} readDetected the source language that was detected; reads signals
 * @param {() => void} swap
 */
export function languageBar(choice, readDetected, swap) {
  const source = select("Translate from", (code) => choice.choose(code, choice.target.peek()));
  const target = select("Translate to", (code) => choice.choose(choice.source.peek(), code));
  const button = h("button", { type: "button", class: "round swap", onclick: swap, "aria-label": "Swap the languages" }, icon("swap"));
  effect(() => {
    const detected = readDetected();
    const autoName = detected ? `${choice.nameOf(detected)} – detected` : "Detect language";
    setOptions(source, choice.sources.map((code) => [code, code === AUTO ? autoName : choice.nameOf(code)]), choice.source.value);
  });
  effect(() => setOptions(target, choice.targets.value.map((code) => [code, choice.nameOf(code)]), choice.target.value));
  effect(() => {
    const from = choice.source.value === AUTO ? readDetected() : choice.source.value;
    const works = from !== null && choice.hasPair(choice.target.value, from);
    button.toggleAttribute("disabled", !works);
    button.title = works ? "Swap the languages" : "No model translates the other way";
  });
  return h("div", { class: "languages", role: "group", "aria-label": "Languages" }, source, button, target);
}

/** @param {string} label @param {(code: string) => void} change */
function select(label, change) {
  const list = /** @type {HTMLSelectElement} */ (h("select", { "aria-label": label, onchange: () => change(list.value) }));
  return list;
}

/** @param {HTMLSelectElement} list @param {[string, string][]} options @param {string} value */
function setOptions(list, options, value) {
  const key = JSON.stringify(options);
  if (list.dataset.options !== key) {
    list.dataset.options = key;
    setChildren(list, options.map(([code, name]) => h("option", { value: code }, name)));
  }
  list.value = value;
}
