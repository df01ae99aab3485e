// All heads of one kind as small pictures; one tab stop, arrows go from head to head.

import { looks, measuredHere, switchedOff } from "regard/app.js";
import { choices, fill, h } from "regard/dom.js";
import { pixels } from "regard/draw/surface.js";
import { signed } from "regard/hypothesis.js";
import { effect, signal } from "regard/signals.js";
import { shaded, theme } from "regard/theme.js";

/** @typedef {import("regard/app.js").App} App */
/** @typedef {{ layer: number, head: number, peak: number, matters: number | null, label: string | null }} Entry */

/**
 * @param {App} app
 * @returns {HTMLElement}
 */
export function overview(app) {
  const { at } = app;
  const grid = h("div", { class: "heads", role: "listbox", "aria-label": "heads", onkeydown: move });
  const sort = choices(
    "sort by",
    app.task === "translation" ? [["layer", "layer"], ["peaked", "peaked"], ["matters", "matters"]] : [["layer", "layer"], ["peaked", "peaked"]],
    () => at.sort.value,
    (value) => (at.sort.value = value),
  );
  const shown = signal(/** @type {Map<string, HTMLElement>} */ (new Map()));

  effect(() => {
    const trace = app.trace.value;
    sort.refresh();
    if (!trace) return fill(grid);
    const entries = sorted(app);
    const columns = at.sort.value === "layer" ? trace.model.heads : 0;
    grid.style.setProperty("--columns", String(columns || Math.min(8, trace.model.heads)));
    const made = new Map(entries.map((entry) => [`${entry.layer}.${entry.head}`, button(app, entry)]));
    fill(grid, [...made.values()]);
    shown.value = made;
  });
  effect(() => {
    for (const [name, element] of shown.value) {
      const chosen = name === `${at.layer.value}.${at.head.value}`;
      element.setAttribute("aria-selected", String(chosen));
      element.tabIndex = chosen || (!at.head.value && name === `${at.layer.value}.1`) ? 0 : -1;
    }
  });
  effect(() => {
    for (const [name, element] of shown.value) {
      const [layer, head] = name.split(".").map(Number);
      const now = looks(app, at.kind.value, layer, head);
      const canvas = /** @type {HTMLCanvasElement} */ (element.firstElementChild);
      canvas.classList.toggle("empty", !now);
      if (!now) continue;
      const { shades, ramp } = shaded(theme.value, now.matrix.values, now);
      pixels(canvas, now.matrix.columns, shades, ramp);
    }
  });

  /** @param {KeyboardEvent} event */
  function move(event) {
    const names = [...shown.value.keys()];
    const here = names.indexOf(`${at.layer.value}.${at.head.value || 1}`);
    const wide = Number(grid.style.getPropertyValue("--columns"));
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -wide, ArrowDown: wide }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    const next = names[here + by];
    if (!next) return;
    [at.layer.value, at.head.value] = next.split(".").map(Number);
    shown.value.get(next)?.focus();
  }
  return h("div", {}, h("div", { class: "bar" }, h("span", { class: "faint" }, "sort"), sort), grid);
}

/** @param {App} app @param {Entry} entry */
function button(app, { layer, head, peak, matters, label }) {
  const off = switchedOff(app, app.at.kind.value, layer, head);
  const figure = app.at.sort.value === "peaked" ? peak : app.at.sort.value === "matters" ? matters : null;
  const facts = [`peaked ${peak.toFixed(2)}`, label, matters !== null && `matters ${signed(matters, 2)}`].filter(Boolean);
  return h(
    "button",
    {
      type: "button",
      role: "option",
      class: "head",
      "aria-label": `layer ${layer} head ${head}, ${facts.join(", ")}`,
      title: `layer ${layer} head ${head}: ${facts.join(", ")}`,
      onclick: () => {
        const { at } = app;
        const again = at.layer.value === layer && at.head.value === head;
        at.layer.value = layer;
        at.head.value = again ? 0 : head;
      },
    },
    h("canvas", { "aria-hidden": "true" }),
    h("span", {}, `${layer}.${head}${off}`),
    figure === null ? null : h("span", { class: "faint" }, signed(figure, 2)),
  );
}

/** @param {App} app @returns {Entry[]} */
function sorted(app) {
  const { at } = app;
  const kind = at.kind.value;
  const measured = measuredHere(app);
  const entries = (app.trace.value?.heads[kind] ?? []).flatMap((heads, l) =>
    heads.map((head, i) => ({
      ...head,
      layer: l + 1,
      head: i + 1,
      matters: measured.get(`${kind} ${l + 1} ${i + 1}`) ?? head.matters,
    })),
  );
  if (at.sort.value === "peaked") entries.sort((a, b) => b.peak - a.peak);
  if (at.sort.value === "matters") entries.sort((a, b) => (a.matters ?? 0) - (b.matters ?? 0));
  return entries;
}
