// Export menu: the trace as an offline page or as JSON.

import { setChildren, h } from "regard/dom.js";
import { effect } from "regard/signals.js";
import { requestOf } from "regard/source.js";
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
    setChildren(
      menu,
      source ? menuItem(app.task === "translation" ? "This translation as one HTML page" : "This as one HTML page", () => exportPage(app)) : null,
      menuItem("The trace as JSON", () => trace && download(`${fileName(trace)}.json`, "application/json", JSON.stringify(trace))),
      h("p", { class: "faint" }, "Below each picture: Table, SVG and CSV of that picture."),
      source ? null : h("p", { class: "faint" }, "More pages like this one: ", h("code", {}, 'regard trace MODEL "text" -o page.html')),
    );
    /** @param {string} label @param {() => void} run */
    function menuItem(label, run) {
      return h("button", { type: "button", disabled: !trace, onclick: () => { menu.hidePopover(); run(); } }, label);
    }
  });
  return h("span", {}, button, menu);
}

/** @param {App} app exports the current view */
async function exportPage(app) {
  const trace = app.trace.value;
  if (!trace || !app.source) return;
  try {
    const text = await app.source.text("export", { request: requestOf(trace), view: location.hash });
    download(`${fileName(trace)}.html`, "text/html", text);
  } catch (problem) {
    app.errorMessage.value = /** @type {Error} */ (problem).message;
  }
}

/** @param {Trace} trace */
const fileName = (trace) => `regard-${trace.source.text.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 40).toLowerCase() || "trace"}`;
