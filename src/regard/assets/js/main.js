// The page: a bar, the sentence, and the page that the address names.

import { makeApp } from "regard/app.js";
import { fill, h } from "regard/dom.js";
import { keys } from "regard/shortcuts.js";
import { effect, scope } from "regard/signals.js";
import { baked, opening, server } from "regard/source.js";
import { choose, theme, watchTheme } from "regard/theme.js";
import { exportMenu } from "regard/parts/export_menu.js";
import { strip } from "regard/parts/token_strip.js";
import { attention } from "regard/pages/attention.js";
import { model } from "regard/pages/model.js";
import { positions } from "regard/pages/positions.js";
import { steps } from "regard/pages/steps.js";
import { search } from "regard/pages/search.js";
import { translate } from "regard/pages/translate.js";

/** @typedef {import("regard/app.js").App} App */
/** @typedef {typeof import("regard/live/index.js")} Live */

/** @type {Record<string, { name: string, make: (app: App, live: Live | null) => HTMLElement, when?: (app: App) => boolean }>} */
const PAGES = {
  translate: { name: "Translate", make: translate, when: translates },
  attention: { name: "Attention", make: attention },
  steps: { name: "Steps", make: steps, when: translates },
  search: { name: "Search", make: search, when: translates },
  model: { name: "Model", make: model, when: translates },
  positions: { name: "Positions", make: positions, when: translates },
  training: { name: "Training", make: (app, live) => /** @type {Live} */ (live).training(app), when: (app) => Boolean(app.info?.run) },
};

/** @param {App} app whether there are words that were written, one after the other */
function translates(app) {
  return app.task === "translation";
}

start();

async function start() {
  watchTheme();
  const trace = baked();
  if (!trace) document.body.replaceChildren(h("main", {}, h("p", { class: "faint", role: "status" }, "The model is being loaded …")));
  try {
    const info = trace ? null : await server.info();
    const app = makeApp(trace ? null : server, info, trace, opening());
    const live = trace ? null : await import("regard/live/index.js");
    document.body.replaceChildren(...shell(app, live));
    keys(app);
    Object.assign(globalThis, { regard: { app } });
  } catch (problem) {
    document.body.replaceChildren(h("main", {}, h("p", { class: "problem", role: "alert" }, /** @type {Error} */ (problem).message)));
  }
}

/** @param {App} app @param {Live | null} live null where the page carries its translation */
function shell(app, live) {
  const main = h("main", { id: "main", tabindex: -1 });
  /** @type {() => void} */
  let leave = () => {};
  const open = Object.entries(PAGES).filter(([, page]) => page.when?.(app) ?? true);
  const tabs = open.map(([name, page]) => h("a", { href: `#/${name}`, "data-page": name, onclick: (/** @type {Event} */ e) => turn(e, name) }, page.name));
  /** @param {Event} event @param {string} name keeps every other choice */
  function turn(event, name) {
    event.preventDefault();
    app.at.page.value = name;
  }
  effect(() => {
    const name = open.some(([each]) => each === app.at.page.value) ? app.at.page.value : open[0][0];
    for (const tab of tabs) {
      if (tab.dataset.page === name) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
    leave();
    const [page, end] = scope(() => PAGES[name].make(app, live));
    leave = end;
    fill(main, page);
    document.title = `${PAGES[name].name} · ${app.info?.model.name ?? app.a.peek()?.model.name ?? "regard"} · regard`;
  });
  const whatIf = app.whatIf ? live?.whatIfDrawer(app) : null;
  return [
    h("a", { class: "skip", href: "#main", onclick: (/** @type {Event} */ e) => { e.preventDefault(); main.focus(); } }, "Skip to the page"),
    h("header", {}, h("strong", {}, "regard"), h("nav", { "aria-label": "pages" }, tabs), tools(app, [live?.checkpoints(app), whatIf?.button])),
    problems(app),
    strip(app),
    live?.compare(app) ?? "",
    h("div", { class: "desk" }, main, whatIf?.drawer),
  ];
}

/** @param {App} app @param {(HTMLElement | null | undefined)[]} more */
function tools(app, more) {
  const dark = h("button", { type: "button", class: "quiet", onclick: () => choose(theme.value.dark ? "light" : "dark") });
  effect(() => (dark.textContent = theme.value.dark ? "Light" : "Dark"));
  return h("div", { class: "tools" }, more, exportMenu(app), dark);
}

/** @param {App} app */
function problems(app) {
  const box = h("p", { class: "problem", role: "alert" });
  effect(() => {
    box.textContent = app.problem.value;
    const besideTheField = app.at.page.value === "translate" && app.problem.value === app.tooLong.value;
    box.hidden = !app.problem.value || besideTheField;
  });
  const waiting = h("p", { class: "waiting", role: "status" });
  effect(() => {
    document.body.classList.toggle("busy", app.busy.value);
    waiting.textContent = app.busy.value ? (translates(app) ? "Translating …" : "Looking …") : app.tooLong.value && app.a.value ? "What is shown below is the sentence before." : "";
  });
  return h("div", {}, box, waiting);
}
