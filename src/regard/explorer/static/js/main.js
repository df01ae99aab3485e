// The page: a bar, the sentence, and the page that the address names.

import { makeApp } from "regard/app.js";
import { fill, h } from "regard/dom.js";
import { keys } from "regard/keys.js";
import { effect, scope } from "regard/signals.js";
import { baked, opening, server } from "regard/source.js";
import { choose, theme, watchTheme } from "regard/theme.js";
import { checkpoints } from "regard/parts/checkpoints.js";
import { compare } from "regard/parts/compare.js";
import { exportMenu } from "regard/parts/export.js";
import { strip } from "regard/parts/strip.js";
import { whatIfDrawer } from "regard/parts/what_if.js";
import { attention } from "regard/pages/attention.js";
import { training } from "regard/pages/training.js";

/** @typedef {import("regard/app.js").App} App */

/** @type {Record<string, { name: string, make: (app: App) => HTMLElement, when?: (app: App) => boolean }>} */
const PAGES = {
  attention: { name: "Attention", make: attention },
  training: { name: "Training", make: training, when: (app) => Boolean(app.info?.run) },
};

start();

async function start() {
  watchTheme();
  const trace = baked();
  try {
    const info = trace ? null : await server.info();
    const app = makeApp(trace ? null : server, info, trace, opening());
    document.body.replaceChildren(...shell(app));
    keys(app);
    Object.assign(globalThis, { regard: { app } });
  } catch (problem) {
    document.body.replaceChildren(h("main", {}, h("p", { class: "problem", role: "alert" }, /** @type {Error} */ (problem).message)));
  }
}

/** @param {App} app */
function shell(app) {
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
    const [page, end] = scope(() => PAGES[name].make(app));
    leave = end;
    fill(main, page);
    document.title = `${PAGES[name].name} · ${app.info?.model.name ?? app.a.peek()?.model.name ?? "regard"} · regard`;
  });
  const whatIf = whatIfDrawer(app);
  return [
    h("a", { class: "skip", href: "#main", onclick: (/** @type {Event} */ e) => { e.preventDefault(); main.focus(); } }, "Skip to the page"),
    h("header", {}, h("strong", {}, "regard"), h("nav", { "aria-label": "pages" }, tabs), tools(app, whatIf.button)),
    problems(app),
    strip(app),
    compare(app) ?? "",
    whatIf.drawer ? h("div", { class: "desk" }, main, whatIf.drawer) : main,
  ];
}

/** @param {App} app @param {HTMLElement | null} whatIf */
function tools(app, whatIf) {
  const dark = h("button", { type: "button", class: "quiet", onclick: () => choose(theme.value.dark ? "light" : "dark") });
  effect(() => (dark.textContent = theme.value.dark ? "Light" : "Dark"));
  return h("div", { class: "tools" }, checkpoints(app), whatIf, exportMenu(app), dark);
}

/** @param {App} app */
function problems(app) {
  const box = h("p", { class: "problem", role: "alert" });
  effect(() => {
    box.textContent = app.problem.value;
    box.hidden = !app.problem.value;
  });
  effect(() => document.body.classList.toggle("busy", app.busy.value));
  return box;
}
