// What the page says about the request, and remarks on sentences.

import { h, setChildren } from "regard/dom.js";
import { effect } from "regard/signals.js";
import { icon } from "regard/translator/icons.js";
import { remarksOn } from "regard/translator/sentences.js";
import { shorten } from "regard/translator/words.js";

/** @typedef {import("regard/translator/live_translation.js").Status} Status */
/** @typedef {import("regard/translator/live_translation.js").StatusKind} StatusKind */
/** @typedef {import("regard/translator/sentences.js").Shown} Shown */

/** @type {Partial<Record<StatusKind, string>>} */
const MESSAGES = {
  busy: "The server is busy.",
  starting: "The server is starting.",
  offline: "The server cannot be reached.",
  too_long: "This text is too long for this server.",
  unsure: "The language is not clear yet. Write more, or choose it above.",
};
const QUOTES = 3;
const QUOTE_LENGTH = 60;

/**
 * @param {() => Status} readStatus reads signals
 * @param {() => void} retry
 */
export function statusLine(readStatus, retry) {
  const message = h("span", { role: "status" });
  const countdown = h("span", { class: "faint countdown", "aria-hidden": "true" });
  const button = h("button", { type: "button", class: "quiet", onclick: retry }, "Try again now");
  const line = h("div", { class: "status-line" }, message, countdown, button);
  effect(() => {
    const { kind, message: detail, seconds } = readStatus();
    const text = kind === "problem" ? sentenceCase(detail ?? "") : (MESSAGES[kind] ?? "");
    if (message.textContent !== text) message.textContent = text;
    countdown.textContent = seconds ? `Trying again in ${seconds} s.` : "";
    button.hidden = !seconds && kind !== "problem";
    line.hidden = !text;
    line.dataset.kind = kind;
  });
  return line;
}

/** @param {() => Shown | null} readShown reads signals */
export function remarkList(readShown) {
  const list = h("ul", { class: "remarks", "aria-label": "Remarks" });
  effect(() => {
    const remarks = remarksOn(readShown()?.segments ?? []);
    list.hidden = !remarks.size;
    setChildren(list, [...remarks].map(([remark, sentences]) => h("li", {}, icon("note"), h("span", {}, `${remark}: `, quotes(sentences)))));
  });
  return list;
}

/** @param {string[]} sentences */
function quotes(sentences) {
  const shown = sentences.slice(0, QUOTES).flatMap((each, i) => [i ? " " : "", h("q", {}, h("bdi", {}, shorten(each, QUOTE_LENGTH)))]);
  const more = sentences.length - QUOTES;
  return more > 0 ? [...shown, ` and ${more} more`] : shown;
}

/** @param {string} text */
const sentenceCase = (text) => (text ? `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}` : "");
