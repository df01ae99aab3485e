// Taking the whole translation along: as a page, as data.

import { fill, h } from "regard/dom.js";
import { effect } from "regard/signals.js";
import { asked } from "regard/source.js";
import { download } from "regard/parts/downloads.js";

/** @typedef {import("regard/app.js").App} App */
/** @typedef {import("regard/types").Trace} Trace */

/**
 * @param {App} app
 * @returns {HTMLElement}
 */
export function exportMenu(app) {
  const { source } = app;
  const menu = h("div", { id: "export", class: "menu", popover: "auto", role: "group", "aria-label": "export" });
  const button = h("button", { type: "button", class: "quiet", popovertarget: "export" }, "Export");
  menu.addEventListener("toggle", () => {
    const { bottom } = button.getBoundingClientRect();
    menu.style.setProperty("--top", `${bottom + 6}px`);
  });
  effect(() => {
    const trace = app.trace.value;
    fill(
      menu,
      source ? act(app.task === "translation" ? "This translation as one HTML page" : "This as one HTML page", () => page(app)) : null,
      act("The trace as JSON", () => trace && download(`${named(trace)}.json`, "application/json", JSON.stringify(trace))),
      h("p", { class: "faint" }, "Below each picture: Table, SVG and CSV of that picture."),
      source ? null : h("p", { class: "faint" }, "More pages like this one: ", h("code", {}, 'regard trace MODEL "text" -o page.html')),
    );
    /** @param {string} label @param {() => void} run */
    function act(label, run) {
      return h("button", { type: "button", disabled: !trace, onclick: () => { menu.hidePopover(); run(); } }, label);
    }
  });
  return h("span", {}, button, menu);
}

/** @param {App} app the page opens where this one is */
async function page(app) {
  const trace = app.trace.value;
  if (!trace || !app.source) return;
  try {
    const text = await app.source.text("export", { request: asked(trace), view: location.hash });
    download(`${named(trace)}.html`, "text/html", text);
  } catch (problem) {
    app.problem.value = /** @type {Error} */ (problem).message;
  }
}

/** @param {Trace} trace */
const named = (trace) => `regard-${trace.source.text.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 40).toLowerCase() || "trace"}`;
