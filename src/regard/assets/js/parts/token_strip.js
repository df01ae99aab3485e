// The token strip on every page: source and target tokens; a token selected here is selected everywhere.
// With a server, both texts can be edited in place.

import { h, setChildren } from "regard/dom.js";
import { effect } from "regard/signals.js";
import { tokenLabel } from "regard/trace.js";

/** @typedef {import("regard/app.js").App} App */
/** @typedef {import("regard/types").Token} Token */

/** Names of the two sides by task. */
const SIDES = { translation: ["source", "target"], classification: ["text", "label"], forecasting: ["past", "future"] };

/**
 * @param {App} app
 * @returns {HTMLElement}
 */
export function tokenStrip(app) {
  const source = h("div", { class: "tokens", role: "group", "aria-label": "source tokens", "aria-description": "arrow keys move", onkeydown: move });
  const target = h("div", { class: "tokens", role: "group", "aria-label": "target tokens", "aria-description": "arrow keys move", onkeydown: move });
  effect(() => {
    const trace = app.trace.value;
    setChildren(source, tokenRow(trace?.source.tokens ?? [], "s", trace?.model.source_lang ?? null));
    setChildren(target, tokenRow(trace?.target.tokens ?? [], "", trace?.model.target_lang ?? null));
  });
  effect(() => {
    app.trace.value;
    for (const side of [source, target]) {
      const chips = /** @type {HTMLElement[]} */ ([...side.children]);
      for (const chip of chips) chip.setAttribute("aria-pressed", String(chip.dataset.token === app.state.token.value));
      setTabStop(chips, chips.find((chip) => chip.dataset.token === app.state.token.value) ?? chips[0]);
    }
  });

  /** @param {KeyboardEvent} event moves inside the single tab stop of a side */
  function move(event) {
    const chips = /** @type {HTMLElement[]} */ ([.../** @type {HTMLElement} */ (event.currentTarget).children]);
    const here = chips.indexOf(/** @type {HTMLElement} */ (event.target));
    const next = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: chips.length - 1 }[event.key];
    if (next === undefined || here < 0) return;
    event.preventDefault();
    event.stopPropagation();
    if (!chips[next]) return;
    setTabStop(chips, chips[next]);
    chips[next].focus();
  }

  /**
   * @param {Token[]} tokens
   * @param {string} side
   * @param {string | null} lang
   */
  function tokenRow(tokens, side, lang) {
    return tokens.map((token, i) => {
      const name = `${side}${i}`;
      const probability = token.logprob === undefined ? null : Math.exp(token.logprob);
      return h(
        "button",
        {
          type: "button",
          class: `token${token.special ? " mark" : ""}`,
          "data-token": name,
          "aria-pressed": String(name === app.state.token.peek()),
          title: probability === null ? `token ${token.id}` : `token ${token.id}, probability ${probability.toFixed(3)}`,
          lang,
          dir: "auto",
          style: probability === null ? {} : { "--sure": probability },
          onclick: () => (app.state.token.value = app.state.token.value === name ? "" : name),
        },
        followsSpace(token) ? h("span", { class: "space", "aria-hidden": "true" }, "·") : null,
        tokenLabel(token),
        probability !== null && app.task === "classification" ? h("span", { class: "faint" }, ` ${(100 * probability).toFixed(probability < 0.1 ? 1 : 0)}%`) : null,
      );
    });
  }
  const [above, below] = SIDES[app.task];
  return h(
    "section",
    { class: "strip", "aria-label": "the sentence" },
    h("div", { class: "side" }, h("span", { class: "caption" }, above), source, textEditor(app, "source", source)),
    h("div", { class: "side" }, h("span", { class: "caption" }, below), target, app.task === "translation" ? textEditor(app, "target", target) : []),
  );
}

/** @param {HTMLElement[]} chips @param {HTMLElement | undefined} chosen becomes the tab stop */
function setTabStop(chips, chosen) {
  for (const chip of chips) chip.tabIndex = chip === chosen ? 0 : -1;
}

/** @param {Token} token whether a space stands before it */
const followsSpace = (token) => /^[\s▁]/.test(token.piece) && !token.special;

/**
 * @param {App} app
 * @param {"source" | "target"} side
 * @param {HTMLElement} tokens the element that the field replaces
 * @returns {HTMLElement[]}
 */
export function textEditor(app, side, tokens) {
  if (!app.source) return [];
  const field = /** @type {HTMLInputElement} */ (h("input", { type: "text", class: "editing", dir: "auto", "aria-label": `${side} text`, hidden: true, onkeydown: key, onblur: close }));
  const edit = h("button", { type: "button", class: "quiet", "data-key": side === "source" ? "/" : null, "aria-label": `edit the ${side}`, onclick: open }, "Edit");
  const free = h("button", { type: "button", class: "quiet", onclick: () => submit("") }, "search again");
  tokens.addEventListener("dblclick", open);
  effect(() => {
    free.hidden = side === "source" || !app.traceA.value?.request.target;
  });

  function open() {
    field.value = app.trace.value?.[side].text ?? app.request.peek().text;
    setEditing(true);
    field.select();
  }
  /** @param {boolean} on */
  function setEditing(on) {
    [field.hidden, tokens.hidden, edit.hidden] = [!on, on, on];
    if (on) field.focus();
  }
  function close() {
    if (!field.hidden) setEditing(false);
  }
  /** @param {KeyboardEvent} event */
  function key(event) {
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "Enter") submit(field.value.trim());
    close();
    edit.focus();
  }
  /** @param {string} text an empty target starts a free search */
  function submit(text) {
    const request = app.request.peek();
    if (side === "target") app.request.value = { ...request, prefix: [], target: text || null };
    else if (text) app.request.value = { ...request, text, prefix: [], target: null };
  }
  return [field, edit, free];
}
