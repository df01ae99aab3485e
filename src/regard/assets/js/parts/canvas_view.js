// Canvas that fills the available width, with table and downloads; the caller draws and handles input.

import { h } from "regard/dom.js";
import { canvasSurface, svgSurface } from "regard/draw/surface.js";
import { effect, signal } from "regard/signals.js";
import { theme } from "regard/theme.js";
import { downloadBar } from "regard/parts/downloads.js";

/** @typedef {import("regard/draw/surface.js").Surface} Surface */
/** @typedef {import("regard/theme.js").Theme} Theme */
/** @typedef {{ width: number, height: number, paint: (surface: Surface, theme: Theme) => void }} Drawing */
/**
 * @typedef {object} CanvasViewOptions
 * @property {() => string} name
 * @property {(room: number) => Drawing | null} draw reads signals
 * @property {() => import("regard/parts/downloads.js").Table} table
 * @property {Record<string, any>} [box] attributes for keyboard and pointer: role, listeners
 */

/**
 * @param {CanvasViewOptions} options
 * @returns {HTMLElement & { frame: HTMLElement, at: (event: PointerEvent) => [number, number], room: () => number }}
 */
export function canvasView({ name, draw, table, box = {} }) {
  const canvas = /** @type {HTMLCanvasElement} */ (h("canvas", { "aria-hidden": "true" }));
  const frame = h("div", { class: box.role ? "matrix" : "drawing", ...(box.role ? { tabindex: 0 } : { role: "img" }), ...box }, canvas);
  const width = signal(600);
  const downloads = downloadBar({ name, table, svg });
  const view = h("div", { class: "matrix-view" }, frame, downloads);
  new ResizeObserver(() => (width.value = Math.max(200, Math.floor(view.clientWidth)))).observe(view);
  effect(() => {
    const drawing = draw(width.value);
    view.hidden = !drawing;
    if (!drawing) return;
    drawing.paint(canvasSurface(canvas, drawing.width, drawing.height), theme.value);
    if (!box["aria-label"]) frame.setAttribute("aria-label", name());
    downloads.refresh();
  });
  function svg() {
    const drawing = /** @type {Drawing} */ (draw(Math.max(width.value, 900)));
    const surface = svgSurface(drawing.width, drawing.height, theme.value.paper);
    drawing.paint(surface, theme.value);
    return surface.toString();
  }
  return Object.assign(view, {
    frame,
    room: () => width.value,
    at: (/** @type {PointerEvent} */ event) => {
      const edge = canvas.getBoundingClientRect();
      return /** @type {[number, number]} */ ([event.clientX - edge.left, event.clientY - edge.top]);
    },
  });
}
