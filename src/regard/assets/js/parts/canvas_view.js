// A picture that fills its room, with its table and its files; what it shows and how it is walked, others say.

import { h } from "regard/dom.js";
import { canvasSurface, svgSurface } from "regard/draw/surface.js";
import { effect, signal } from "regard/signals.js";
import { theme } from "regard/theme.js";
import { takeAway } from "regard/parts/downloads.js";

/** @typedef {import("regard/draw/surface.js").Surface} Surface */
/** @typedef {import("regard/theme.js").Theme} Theme */
/** @typedef {{ width: number, height: number, paint: (surface: Surface, theme: Theme) => void }} Drawing */
/**
 * @typedef {object} Asked
 * @property {() => string} name
 * @property {(room: number) => Drawing | null} draw read as signals are
 * @property {() => import("regard/parts/downloads.js").Table} table
 * @property {Record<string, any>} [box] what makes it walkable: role, listeners
 */

/**
 * @param {Asked} asked
 * @returns {HTMLElement & { frame: HTMLElement, at: (event: PointerEvent) => [number, number], room: () => number }}
 */
export function painted({ name, draw, table, box = {} }) {
  const canvas = /** @type {HTMLCanvasElement} */ (h("canvas", { "aria-hidden": "true" }));
  const frame = h("div", { class: box.role ? "matrix" : "drawing", ...(box.role ? { tabindex: 0 } : { role: "img" }), ...box }, canvas);
  const room = signal(600);
  const take = takeAway({ name, table, svg });
  const whole = h("div", { class: "matrix-view" }, frame, take);
  new ResizeObserver(() => (room.value = Math.max(200, Math.floor(whole.clientWidth)))).observe(whole);
  effect(() => {
    const drawing = draw(room.value);
    whole.hidden = !drawing;
    if (!drawing) return;
    drawing.paint(canvasSurface(canvas, drawing.width, drawing.height), theme.value);
    if (!box["aria-label"]) frame.setAttribute("aria-label", name());
    take.refresh();
  });
  function svg() {
    const drawing = /** @type {Drawing} */ (draw(Math.max(room.value, 900)));
    const surface = svgSurface(drawing.width, drawing.height, theme.value.paper);
    drawing.paint(surface, theme.value);
    return surface.toString();
  }
  return Object.assign(whole, {
    frame,
    room: () => room.value,
    at: (/** @type {PointerEvent} */ event) => {
      const edge = canvas.getBoundingClientRect();
      return /** @type {[number, number]} */ ([event.clientX - edge.left, event.clientY - edge.top]);
    },
  });
}
