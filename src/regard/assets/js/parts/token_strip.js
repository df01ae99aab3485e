// The sentence, source above and target below, on every page; a token chosen here is chosen everywhere.
// Where a model can be asked, both sides can be written anew.

import { fill, h } from "regard/dom.js";
import { effect } from "regard/signals.js";
import { shown } from "regard/trace.js";
import { editing } from "regard/parts/text_editor.js";

/** @typedef {import("regard/app.js").App} App */
/** @typedef {import("regard/types").Token} Token */

/** What the two sides are called. */
const SIDES = { translation: ["source", "target"], classification: ["text", "label"], forecasting: ["past", "future"] };

/**
 * @param {App} app
 * @returns {HTMLElement}
 */
export function strip(app) {
  const source = h("div", { class: "tokens", role: "group", "aria-label": "source tokens", "aria-description": "arrow keys move", onkeydown: move });
  const target = h("div", { class: "tokens", role: "group", "aria-label": "target tokens", "aria-description": "arrow keys move", onkeydown: move });
  effect(() => {
    const trace = app.trace.value;
    fill(source, row(trace?.source.tokens ?? [], "s", trace?.model.source_lang ?? null));
    fill(target, row(trace?.target.tokens ?? [], "", trace?.model.target_lang ?? null));
  });
  effect(() => {
    app.trace.value;
    for (const side of [source, target]) {
      const chips = /** @type {HTMLElement[]} */ ([...side.children]);
      for (const chip of chips) chip.setAttribute("aria-pressed", String(chip.dataset.token === app.at.token.value));
      stop(chips, chips.find((chip) => chip.dataset.token === app.at.token.value) ?? chips[0]);
    }
  });

  /** @param {KeyboardEvent} event one tab stop a side, however long the sentence */
  function move(event) {
    const chips = /** @type {HTMLElement[]} */ ([.../** @type {HTMLElement} */ (event.currentTarget).children]);
    const here = chips.indexOf(/** @type {HTMLElement} */ (event.target));
    const next = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: chips.length - 1 }[event.key];
    if (next === undefined || here < 0) return;
    event.preventDefault();
    event.stopPropagation();
    if (!chips[next]) return;
    stop(chips, chips[next]);
    chips[next].focus();
  }

  /**
   * @param {Token[]} tokens
   * @param {string} side
   * @param {string | null} lang
   */
  function row(tokens, side, lang) {
    return tokens.map((token, i) => {
      const name = `${side}${i}`;
      const sure = token.logprob === undefined ? null : Math.exp(token.logprob);
      return h(
        "button",
        {
          type: "button",
          class: `token${token.special ? " mark" : ""}`,
          "data-token": name,
          "aria-pressed": String(name === app.at.token.peek()),
          title: sure === null ? `token ${token.id}` : `token ${token.id}, probability ${sure.toFixed(3)}`,
          lang,
          dir: "auto",
          style: sure === null ? {} : { "--sure": sure },
          onclick: () => (app.at.token.value = app.at.token.value === name ? "" : name),
        },
        begins(token) ? h("span", { class: "space", "aria-hidden": "true" }, "·") : null,
        shown(token),
        sure !== null && app.task === "classification" ? h("span", { class: "faint" }, ` ${(100 * sure).toFixed(sure < 0.1 ? 1 : 0)}%`) : null,
      );
    });
  }
  const [above, below] = SIDES[app.task];
  return h(
    "section",
    { class: "strip", "aria-label": "the sentence" },
    h("div", { class: "side" }, h("span", { class: "which" }, above), source, editing(app, "source", source)),
    h("div", { class: "side" }, h("span", { class: "which" }, below), target, app.task === "translation" ? editing(app, "target", target) : []),
  );
}

/** @param {HTMLElement[]} chips @param {HTMLElement | undefined} chosen the one that Tab reaches */
function stop(chips, chosen) {
  for (const chip of chips) chip.tabIndex = chip === chosen ? 0 : -1;
}

/** @param {Token} token whether a space stands before it */
const begins = (token) => /^[\s▁]/.test(token.piece) && !token.special;
