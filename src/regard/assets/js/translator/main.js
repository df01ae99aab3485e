// Entry point of the translator page: loads what the server offers, then shows the two panes.

import { h, setChildren } from "regard/dom.js";
import { computed, effect, signal } from "regard/signals.js";
import { alternativesDialog } from "regard/translator/alternatives.js";
import { fetchLanguages, fetchModels, fetchSettings, readKey } from "regard/translator/api.js";
import { documentDrop } from "regard/translator/documents.js";
import { makeGlossary } from "regard/translator/glossary.js";
import { icon } from "regard/translator/icons.js";
import { keyForm } from "regard/translator/key_form.js";
import { chooseLanguages, languageBar } from "regard/translator/languages.js";
import { liveTranslation } from "regard/translator/live_translation.js";
import { describeWord, outputView } from "regard/translator/output_view.js";
import { shownTranslation, surenessClass } from "regard/translator/sentences.js";
import { installShortcuts } from "regard/translator/shortcuts.js";
import { sourceView } from "regard/translator/source_view.js";
import { remarkList, statusLine } from "regard/translator/status_view.js";
import { colourChoice } from "regard/translator/stored.js";
import { countCharacters } from "regard/translator/words.js";

/** @typedef {import("regard/translator/api.js").Language} Language */
/** @typedef {import("regard/translator/api.js").Model} Model */
/** @typedef {import("regard/translator/api.js").Settings} Settings */
/** @typedef {import("regard/translator/api.js").Segment} Segment */
/** @typedef {import("regard/translator/live_translation.js").Status} Status */
/** @typedef {import("regard/translator/sentences.js").Shown} Shown */
/** @typedef {import("regard/translator/sentences.js").Choices} Choices */
/** @typedef {import("regard/translator/sentences.js").ActiveWord} ActiveWord */
/** @typedef {{ languages: Language[], models: Model[], settings: Settings }} Offer */

const RETRY = 1000;
/** In milliseconds until a server that starts is asked again. */
const ANNOUNCE_PAUSE = 1000;
/** In milliseconds after the last change, so that a screen reader is not interrupted by every word. */
const ANNOUNCE_LENGTH = 400;
const COPIED = 1500;

start();

async function start() {
  const { isDark, switchColours } = colourChoice();
  const tools = h("div", { class: "tools" });
  const main = h("main", { id: "main" });
  const header = h("header", {}, h("h1", {}, "regard ", h("span", {}, "translate")), tools);
  document.body.replaceChildren(h("a", { class: "skip", href: "#source" }, "Skip to the text"), header, main);
  const colours = h("button", { type: "button", class: "round", onclick: switchColours });
  effect(() => {
    const name = isDark.value ? "Light colours" : "Dark colours";
    colours.title = name;
    colours.setAttribute("aria-label", name);
    setChildren(colours, icon(isDark.value ? "sun" : "moon"));
  });
  setChildren(tools, colours);
  const offer = await waitForOffer(main);
  translator(offer, main, tools);
}

/** Ask until the server knows its languages. @param {HTMLElement} main @returns {Promise<Offer>} */
async function waitForOffer(main) {
  const message = h("p", { class: "waiting", role: "status" });
  for (;;) {
    try {
      const [languages, models, settings] = await Promise.all([fetchLanguages(), fetchModels(), fetchSettings()]);
      if (languages.length) return { languages, models, settings };
      message.textContent = "The server is starting …";
    } catch {
      message.textContent = "The server cannot be reached. Trying again …";
    }
    if (!message.isConnected) setChildren(main, message);
    await new Promise((resolve) => setTimeout(resolve, RETRY));
  }
}

/** @param {Offer} offer @param {HTMLElement} main @param {HTMLElement} tools */
function translator({ languages, models, settings }, main, tools) {
  const text = signal("");
  const key = signal(readKey());
  const active = signal(/** @type {ActiveWord | null} */ (null));
  const choices = signal(/** @type {Choices} */ ({ query: null, segments: new Map() }));
  const glossaryIsOpen = signal(false);
  const knowsAlternatives = signal(false);
  const choice = chooseLanguages(languages, models);

  const glossary = makeGlossary(() => ({ source: choice.source.value, target: choice.target.value }), glossaryIsOpen);
  const live = liveTranslation(() => {
    if (settings.keyRequired && !key.value) return null;
    const [source, target] = [choice.source.value, choice.target.value];
    const isDirect = choice.isDirect(source, target);
    return {
      text: text.value.replace(/[\ud800-\udfff]/gu, "\ufffd"), // half a character cannot be sent
      source,
      target,
      glossary: glossary.pairs.value,
      isDirect,
      limit: settings.charLimit,
    };
  });
  const shown = computed(() => shownTranslation(live.result.value, choices.value));
  const detected = computed(() => (choice.source.value === "auto" && live.result.value?.isDetected ? live.result.value.source : null));
  const isOld = computed(() => shown.value?.result.query.text !== text.value && live.status.value.kind !== "done");

  const announcer = h("div", { class: "unseen", role: "status", "aria-live": "polite", id: "announcer" });
  const announce = (/** @type {string} */ words) => void (announcer.textContent = words);
  const alternatives = alternativesDialog(
    () => shown.peek(),
    (from, sentence, segment) => {
      const before = choices.peek();
      const segments = new Map(before.query === from.result.query ? before.segments : []);
      choices.value = { query: from.result.query, segments: segments.set(sentence, segment) };
    },
  );
  const source = sourceView(text, () => detected.value ?? choice.source.value, () => shown.value, active);
  const output = outputView({
    readShown: () => shown.value,
    readLanguage: () => choice.target.value,
    readIsOld: () => isOld.value,
    active,
    openAlternatives: (sentence, element) => {
      knowsAlternatives.value = true;
      alternatives.open(sentence, element);
    },
    announce,
  });

  function swap() {
    const from = choice.source.peek() === "auto" ? detected.peek() : choice.source.peek();
    if (!from || !choice.hasPair(choice.target.peek(), from)) return;
    const translation = shown.peek()?.text;
    choice.choose(choice.target.peek(), from);
    if (translation && !isOld.peek()) text.value = translation;
    source.field.focus();
  }

  const glossaryButton = h("button", { type: "button", class: "tool", "aria-controls": "glossary", onclick: () => (glossaryIsOpen.value = !glossaryIsOpen.value) });
  effect(() => {
    const count = glossary.pairs.value.length;
    glossaryButton.setAttribute("aria-expanded", String(glossaryIsOpen.value));
    setChildren(glossaryButton, icon("book"), "Glossary", count ? h("span", { class: "count" }, count) : "");
  });
  const copy = copyButton(() => shown.peek()?.text ?? "", announce);
  effect(() => copy.toggleAttribute("disabled", !shown.value?.text));
  const keys = installShortcuts({
    translate: live.retryNow,
    focusText: () => source.field.focus(),
    swap,
    copy: () => copy.click(),
    toggleGlossary: () => (glossaryIsOpen.value = !glossaryIsOpen.peek()),
  });
  tools.prepend(glossaryButton);
  const documents = settings.filesTranslation
    ? documentDrop(settings.supportedFilesFormat, () => ({ source: choice.source.peek(), target: choice.target.peek(), glossary: glossary.pairs.peek() }))
    : null;
  if (documents) tools.prepend(documents.button);
  tools.append(keys);

  setChildren(
    main,
    keyForm(() => keyNeed(settings, live.status.value, key.value), () => {
      key.value = readKey();
      live.retryNow();
      source.field.focus();
    }),
    languageBar(choice, () => detected.value, swap),
    h(
      "div",
      { class: "panes" },
      h("section", { class: "pane", "aria-label": "Text" }, source.view, sourceFoot(text, settings.charLimit, source.field)),
      h("section", { class: "pane target", "aria-label": "Translation" }, progressBar(() => live.status.value), output, alternatives.box, outputFoot(() => shown.value, () => active.value, () => !knowsAlternatives.value && live.status.value.kind === "done", copy)),
    ),
    statusLine(() => live.status.value, live.retryNow),
    remarkList(() => shown.value),
    documents?.list ?? "",
    glossary.panel,
    announcer,
  );
  announceTranslations(() => (live.status.value.kind === "done" ? (shown.value?.text ?? "") : ""), announce);
  effect(() => {
    if (isOld.value) {
      alternatives.close(false);
      active.value = null;
    }
  });
  source.field.focus();
  Object.assign(globalThis, { regard: { translator: { text, choice, live, shown, active, glossary } } });
}

/** @param {Settings} settings @param {Status} status @param {string} key */
function keyNeed(settings, status, key) {
  const isRefused = status.kind === "key";
  const message = isRefused && key ? (status.message ?? "") : "It is kept until you close this tab.";
  return { isNeeded: isRefused || (settings.keyRequired && !key), message };
}

/** @param {import("regard/signals.js").Signal<string>} text @param {number} limit @param {HTMLElement} field */
function sourceFoot(text, limit, field) {
  const count = h("span", { class: "faint number" });
  const clear = h("button", { type: "button", class: "round", title: "Clear the text", "aria-label": "Clear the text" }, icon("close"));
  clear.addEventListener("click", () => {
    text.value = "";
    field.focus();
  });
  effect(() => {
    const characters = countCharacters(text.value);
    setChildren(count, `${characters.toLocaleString("en")} / ${limit.toLocaleString("en")}`, h("span", { class: "unseen" }, " characters"));
    count.classList.toggle("over", characters > limit);
    clear.hidden = !text.value;
  });
  return h("div", { class: "foot" }, count, clear);
}

/**
 * @param {() => Shown | null} readShown
 * @param {() => ActiveWord | null} readActive
 * @param {() => boolean} readNeedsHint
 * @param {HTMLElement} copy
 */
function outputFoot(readShown, readActive, readNeedsHint, copy) {
  const hint = h("span", { class: "hint" }, "Click a sentence for other translations.");
  const detail = h("bdi", { class: "detail" });
  const legend = h("span", { class: "legend", role: "group", "aria-label": "Underlined words" }, h("span", { class: "less-sure" }, "less sure"), h("span", { class: "unsure" }, "unsure"));
  effect(() => {
    const [shown, active] = [readShown(), readActive()];
    const segment = active && shown?.segments[active.sentence];
    const words = shown?.segments.flatMap((each) => each?.words ?? []) ?? [];
    detail.textContent = active && segment ? describeWord(segment, active.side, active.word) : "";
    detail.hidden = !detail.textContent;
    legend.hidden = !detail.hidden || !words.some((word) => surenessClass(word.confidence));
    hint.hidden = !detail.hidden || !readNeedsHint();
  });
  return h("div", { class: "foot" }, h("div", { class: "about" }, detail, legend, hint), copy);
}

/** @param {() => Status} readStatus */
function progressBar(readStatus) {
  const bar = h("div", { class: "progress", "aria-hidden": "true" });
  effect(() => bar.classList.toggle("runs", ["translating", "busy", "starting", "offline"].includes(readStatus().kind)));
  return bar;
}

/** @param {() => string} readText @param {(text: string) => void} announce */
function copyButton(readText, announce) {
  const button = h("button", { type: "button", class: "tool", onclick: copy });
  let timer = 0;
  const show = (/** @type {boolean} */ isDone) => setChildren(button, icon(isDone ? "check" : "copy"), isDone ? "Copied" : "Copy");
  show(false);
  async function copy() {
    await writeClipboard(readText());
    show(true);
    announce("Copied");
    clearTimeout(timer);
    timer = setTimeout(() => show(false), COPIED);
  }
  return button;
}

/** @param {string} text */
async function writeClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // browsers have no clipboard for pages of other machines without TLS
    const before = /** @type {HTMLElement | null} */ (document.activeElement);
    const field = /** @type {HTMLTextAreaElement} */ (h("textarea", { class: "unseen", value: text, "aria-hidden": "true" }));
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
    before?.focus();
  }
}

/** @param {() => string} readText reads signals @param {(text: string) => void} announce */
function announceTranslations(readText, announce) {
  let timer = 0;
  effect(() => {
    const text = readText();
    clearTimeout(timer);
    if (text) timer = setTimeout(() => announce(text.length > ANNOUNCE_LENGTH ? "Translated." : text), ANNOUNCE_PAUSE);
  });
}
