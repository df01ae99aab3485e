// A chart that the mouse, the keyboard and the ear can walk through.

import { h } from "regard/dom.js";
import { describe, paint, place, short } from "regard/live/line_chart.js";
import { put } from "regard/live/axis_scale.js";
import { svgSurface } from "regard/draw/surface.js";
import { effect, signal } from "regard/signals.js";
import { theme } from "regard/theme.js";
import { takeAway } from "regard/parts/downloads.js";

/** @typedef {import("regard/live/line_chart.js").Chart} Chart */

const HEIGHT = 240;

/** @type {Chart} */
const NONE = { name: "", title: "", x: "", lines: [] };

/**
 * @param {() => Chart | undefined} given read as a signal is; nothing is shown where there is none
 * @returns {HTMLElement}
 */
export function chartView(given) {
  const chart = () => given() ?? NONE;
  const title = h("h2", {});
  const room = signal(420);
  const cursor = signal(/** @type {number | null} */ (null));
  const needle = h("div", { class: "needle", hidden: true });
  const picture = h("div", { class: "drawing", "aria-hidden": "true" });
  const box = h(
    "div",
    {
      class: "chart",
      tabindex: 0,
      role: "application",
      "aria-roledescription": "chart",
      onpointermove: (/** @type {PointerEvent} */ e) => point(e),
      onpointerleave: () => (cursor.value = null),
      onkeydown: (/** @type {KeyboardEvent} */ e) => key(e),
      onblur: () => (cursor.value = null),
    },
    picture,
    needle,
  );
  const said = h("p", { class: "told faint", role: "status" });
  const take = takeAway({ name: () => chart().title, table, svg: () => drawn(Math.max(room.value, 640), true) });
  const whole = h("section", {}, title, box, said, take);
  new ResizeObserver(() => (room.value = Math.max(200, picture.clientWidth))).observe(picture);

  effect(() => {
    const now = chart();
    whole.hidden = now === NONE;
    if (whole.hidden) return;
    title.textContent = now.title;
    box.setAttribute("aria-label", `${now.title}. ${describe(now)} Arrow keys move along.`);
    const image = new DOMParser().parseFromString(drawn(room.value), "image/svg+xml");
    picture.replaceChildren(document.importNode(image.documentElement, true));
    take.refresh();
  });
  effect(() => {
    const now = chart();
    const x = cursor.value === null ? undefined : stops(now)[cursor.value];
    needle.hidden = x === undefined;
    if (x === undefined) return void (said.textContent = now.caption || "\u00a0");
    needle.style.setProperty("left", `${put(place(now, room.value, HEIGHT).x, x)}px`);
    said.textContent = reading(now, x);
  });

  /** @param {number} width @param {boolean} [alone] then it says itself what it is */
  function drawn(width, alone = false) {
    const now = chart();
    const surface = svgSurface(width, HEIGHT + (alone ? 24 : 0), theme.value.paper);
    paint(surface, now, place(now, width, HEIGHT), theme.value);
    if (alone) surface.text(8, HEIGHT + 10, [now.title, now.caption].filter(Boolean).join(": "), { size: 11, fill: theme.value.ink });
    return surface.toString();
  }
  /** @param {PointerEvent} event */
  function point(event) {
    const now = chart();
    const { x } = place(now, room.value, HEIGHT);
    const at = x.low + ((event.clientX - box.getBoundingClientRect().left - x.start) / (x.end - x.start)) * (x.high - x.low);
    cursor.value = nearest(stops(now), at);
  }
  /** @param {KeyboardEvent} event */
  function key(event) {
    const last = stops(chart()).length - 1;
    const here = cursor.value ?? -1;
    const next = { ArrowRight: here + 1, ArrowLeft: here < 0 ? last : here - 1, Home: 0, End: last }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    cursor.value = Math.max(0, Math.min(last, next));
  }
  function table() {
    const { lines, x } = chart();
    const places = stops(chart());
    const values = lines.map((line) => new Map(line.points));
    return {
      rows: places.map(short),
      columns: lines.map((line) => line.label),
      corner: x,
      values: (/** @type {number} */ r, /** @type {number} */ c) => {
        const value = values[c].get(places[r]);
        return value === undefined ? "" : Number.isNaN(value) ? "no number" : String(Number(value.toPrecision(6)));
      },
    };
  }
  return whole;
}

/** @param {Chart} chart @returns {number[]} every place where a line has a point */
const stops = ({ lines }) => [...new Set(lines.flatMap((line) => line.points.map(([x]) => x)))].filter(Number.isFinite).sort((a, b) => a - b);

/** @param {number[]} places @param {number} at */
function nearest(places, at) {
  let here = 0;
  places.forEach((x, i) => {
    if (Math.abs(x - at) < Math.abs(places[here] - at)) here = i;
  });
  return places.length ? here : null;
}

/** @param {Chart} chart @param {number} x what each line says there, or last said before */
function reading({ lines, x: across }, x) {
  const values = lines.flatMap((line) => {
    const last = line.points.findLast((point) => point[0] <= x);
    return last ? [`${line.label} ${Number.isNaN(last[1]) ? "no number" : short(last[1])}`] : [];
  });
  return `${across} ${short(x)}: ${values.join(" · ")}`;
}
