// Entry point: header, token strip, and the page named in the address.

import { makeApp } from "regard/app.js";
import { setChildren, h } from "regard/dom.js";
import { installShortcuts } from "regard/shortcuts.js";
import { effect, scope } from "regard/signals.js";
import { embeddedTrace, initialView, server } from "regard/source.js";
import { setTheme, theme, watchTheme } from "regard/theme.js";
import { exportMenu } from "regard/parts/export_menu.js";
import { tokenStrip } from "regard/parts/token_strip.js";
import { attentionPage } from "regard/pages/attention.js";
import { modelPage } from "regard/pages/model.js";
import { positionsPage } from "regard/pages/positions.js";
import { stepsPage } from "regard/pages/steps.js";
import { searchPage } from "regard/pages/search.js";
import { translatePage } from "regard/pages/translate.js";

/** @typedef {import("regard/app.js").App} App */
/** @typedef {typeof import("regard/live/index.js")} Live */

/** @type {Record<string, { name: string, make: (app: App, live: Live | null) => HTMLElement, when?: (app: App) => boolean }>} */
const PAGES = {
  translate: { name: "Translate", make: translatePage, when: isTranslation },
  attention: { name: "Attention", make: attentionPage },
  steps: { name: "Steps", make: stepsPage, when: isTranslation },
  search: { name: "Search", make: searchPage, when: isTranslation },
  model: { name: "Model", make: modelPage, when: isTranslation },
  positions: { name: "Positions", make: positionsPage, when: isTranslation },
  training: { name: "Training", make: (app, live) => /** @type {Live} */ (live).trainingPage(app), when: (app) => Boolean(app.info?.run) },
};

/** @param {App} app whether the model is a translation model */
function isTranslation(app) {
  return app.task === "translation";
}

start();

async function start() {
  watchTheme();
  const trace = embeddedTrace();
  if (!trace) document.body.replaceChildren(h("main", {}, h("p", { class: "faint", role: "status" }, "The model is being loaded …")));
  try {
    const info = trace ? null : await server.info();
    const app = makeApp(trace ? null : server, info, trace, initialView());
    const live = trace ? null : await import("regard/live/index.js");
    document.body.replaceChildren(...shell(app, live));
    installShortcuts(app);
    Object.assign(globalThis, { regard: { app } });
  } catch (problem) {
    document.body.replaceChildren(h("main", {}, h("p", { class: "problem", role: "alert" }, /** @type {Error} */ (problem).message)));
  }
}

/** @param {App} app @param {Live | null} live null on the offline page */
function shell(app, live) {
  const main = h("main", { id: "main", tabindex: -1 });
  /** @type {() => void} */
  let disposePage = () => {};
  const pages = Object.entries(PAGES).filter(([, page]) => page.when?.(app) ?? true);
  const tabs = pages.map(([name, page]) => h("a", { href: `#/${name}`, "data-page": name, onclick: (/** @type {Event} */ e) => openPage(e, name) }, page.name));
  /** @param {Event} event @param {string} name keeps the rest of the view state */
  function openPage(event, name) {
    event.preventDefault();
    app.state.page.value = name;
  }
  effect(() => {
    const name = pages.some(([each]) => each === app.state.page.value) ? app.state.page.value : pages[0][0];
    for (const tab of tabs) {
      if (tab.dataset.page === name) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
    disposePage();
    const [page, end] = scope(() => PAGES[name].make(app, live));
    disposePage = end;
    setChildren(main, page);
    document.title = `${PAGES[name].name} · ${app.info?.model.name ?? app.traceA.peek()?.model.name ?? "regard"} · regard`;
  });
  const whatIf = app.whatIf ? live?.whatIfDrawer(app) : null;
  return [
    h("a", { class: "skip", href: "#main", onclick: (/** @type {Event} */ e) => { e.preventDefault(); main.focus(); } }, "Skip to the page"),
    h("header", {}, h("strong", {}, "regard"), h("nav", { "aria-label": "pages" }, tabs), tools(app, [live?.checkpointSlider(app), whatIf?.button])),
    statusMessages(app),
    tokenStrip(app),
    live?.traceComparison(app) ?? "",
    h("div", { class: "page-grid" }, main, whatIf?.drawer),
  ];
}

/** @param {App} app @param {(HTMLElement | null | undefined)[]} more */
function tools(app, more) {
  const dark = h("button", { type: "button", class: "quiet", onclick: () => setTheme(theme.value.dark ? "light" : "dark") });
  effect(() => (dark.textContent = theme.value.dark ? "Light" : "Dark"));
  return h("div", { class: "tools" }, more, exportMenu(app), dark);
}

/** @param {App} app */
function statusMessages(app) {
  const box = h("p", { class: "problem", role: "alert" });
  effect(() => {
    box.textContent = app.errorMessage.value;
    const besideTheField = app.state.page.value === "translate" && app.errorMessage.value === app.tooLongMessage.value;
    box.hidden = !app.errorMessage.value || besideTheField;
  });
  const waiting = h("p", { class: "waiting", role: "status" });
  effect(() => {
    document.body.classList.toggle("busy", app.busy.value);
    waiting.textContent = app.busy.value ? (isTranslation(app) ? "Translating …" : "Computing …") : app.tooLongMessage.value && app.traceA.value ? "The previous sentence is shown below." : "";
  });
  return h("div", {}, box, waiting);
}
