// Thumbnails of all heads of one kind; one tab stop, arrow keys move between heads.

import { shownAttention, shownHeadImportance, ablationMark } from "regard/app.js";
import { radioGroup, setChildren, h } from "regard/dom.js";
import { drawPixels } from "regard/draw/surface.js";
import { formatSigned } from "regard/hypothesis.js";
import { effect, signal } from "regard/signals.js";
import { toShades, theme } from "regard/theme.js";

/** @typedef {import("regard/app.js").App} App */
/** @typedef {{ layer: number, head: number, peak: number, importance: number | null, label: string | null }} HeadEntry */

/**
 * @param {App} app
 * @returns {HTMLElement}
 */
export function headGrid(app) {
  const { state } = app;
  const grid = h("div", { class: "heads", role: "listbox", "aria-label": "heads", onkeydown: move });
  const sort = radioGroup(
    "sort by",
    app.task === "translation" ? [["layer", "layer"], ["peaked", "peaked"], ["importance", "importance"]] : [["layer", "layer"], ["peaked", "peaked"]],
    () => state.sort.value,
    (value) => (state.sort.value = value),
  );
  const buttons = signal(/** @type {Map<string, HTMLElement>} */ (new Map()));

  effect(() => {
    const trace = app.trace.value;
    sort.refresh();
    if (!trace) return setChildren(grid);
    const entries = sortedHeads(app);
    const columns = state.sort.value === "layer" ? trace.model.heads : 0;
    grid.style.setProperty("--columns", String(columns || Math.min(8, trace.model.heads)));
    const byName = new Map(entries.map((entry) => [`${entry.layer}.${entry.head}`, headButton(app, entry)]));
    setChildren(grid, [...byName.values()]);
    buttons.value = byName;
  });
  effect(() => {
    for (const [name, element] of buttons.value) {
      const chosen = name === `${state.layer.value}.${state.head.value}`;
      element.setAttribute("aria-selected", String(chosen));
      element.tabIndex = chosen || (!state.head.value && name === `${state.layer.value}.1`) ? 0 : -1;
    }
  });
  effect(() => {
    for (const [name, element] of buttons.value) {
      const [layer, head] = name.split(".").map(Number);
      const now = shownAttention(app, state.kind.value, layer, head);
      const canvas = /** @type {HTMLCanvasElement} */ (element.firstElementChild);
      canvas.classList.toggle("empty", !now);
      if (!now) continue;
      const { shades, ramp } = toShades(theme.value, now.matrix.values, now);
      drawPixels(canvas, now.matrix.columns, shades, ramp);
    }
  });

  /** @param {KeyboardEvent} event */
  function move(event) {
    const names = [...buttons.value.keys()];
    const here = names.indexOf(`${state.layer.value}.${state.head.value || 1}`);
    const wide = Number(grid.style.getPropertyValue("--columns"));
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -wide, ArrowDown: wide }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    const next = names[here + by];
    if (!next) return;
    [state.layer.value, state.head.value] = next.split(".").map(Number);
    buttons.value.get(next)?.focus();
  }
  return h("div", {}, h("div", { class: "bar" }, h("span", { class: "faint" }, "sort"), sort), grid);
}

/** @param {App} app @param {HeadEntry} entry */
function headButton(app, { layer, head, peak, importance, label }) {
  const off = ablationMark(app, app.state.kind.value, layer, head);
  const figure = app.state.sort.value === "peaked" ? peak : app.state.sort.value === "importance" ? importance : null;
  const facts = [`peaked ${peak.toFixed(2)}`, label, importance !== null && `importance ${formatSigned(importance, 2)}`].filter(Boolean);
  return h(
    "button",
    {
      type: "button",
      role: "option",
      class: "head",
      "aria-label": `layer ${layer} head ${head}, ${facts.join(", ")}`,
      title: `layer ${layer} head ${head}: ${facts.join(", ")}`,
      onclick: () => {
        const { state } = app;
        const again = state.layer.value === layer && state.head.value === head;
        state.layer.value = layer;
        state.head.value = again ? 0 : head;
      },
    },
    h("canvas", { "aria-hidden": "true" }),
    h("span", {}, `${layer}.${head}${off}`),
    figure === null ? null : h("span", { class: "faint" }, formatSigned(figure, 2)),
  );
}

/** @param {App} app @returns {HeadEntry[]} */
function sortedHeads(app) {
  const { state } = app;
  const kind = state.kind.value;
  const measured = shownHeadImportance(app);
  const entries = (app.trace.value?.heads[kind] ?? []).flatMap((heads, l) =>
    heads.map((head, i) => ({
      ...head,
      layer: l + 1,
      head: i + 1,
      importance: measured.get(`${kind} ${l + 1} ${i + 1}`) ?? head.importance,
    })),
  );
  if (state.sort.value === "peaked") entries.sort((a, b) => b.peak - a.peak);
  if (state.sort.value === "importance") entries.sort((a, b) => (a.importance ?? 0) - (b.importance ?? 0));
  return entries;
}
