// Line chart with a cursor, for mouse, keyboard and screen reader.

import { h } from "regard/dom.js";
import { describeChart, drawChart, layoutChart, formatValue } from "regard/live/line_chart.js";
import { toPixel } from "regard/live/axis_scale.js";
import { svgSurface } from "regard/draw/surface.js";
import { effect, signal } from "regard/signals.js";
import { theme } from "regard/theme.js";
import { downloadBar } from "regard/parts/downloads.js";

/** @typedef {import("regard/live/line_chart.js").Chart} Chart */

const HEIGHT = 240;

/** @type {Chart} */
const EMPTY_CHART = { name: "", title: "", x: "", lines: [] };

/**
 * @param {() => Chart | undefined} getChart reads signals; the view is hidden if it returns none
 * @returns {HTMLElement}
 */
export function lineChartView(getChart) {
  const chart = () => getChart() ?? EMPTY_CHART;
  const title = h("h2", {});
  const width = signal(420);
  const cursor = signal(/** @type {number | null} */ (null));
  const needle = h("div", { class: "needle", hidden: true });
  const picture = h("div", { class: "drawing", "aria-hidden": "true" });
  const plot = h(
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
  const status = h("p", { class: "status faint", role: "status" });
  const downloads = downloadBar({ name: () => chart().title, table, svg: () => renderSvg(Math.max(width.value, 640), true) });
  const view = h("section", {}, title, plot, status, downloads);
  new ResizeObserver(() => (width.value = Math.max(200, picture.clientWidth))).observe(picture);

  effect(() => {
    const now = chart();
    view.hidden = now === EMPTY_CHART;
    if (view.hidden) return;
    title.textContent = now.title;
    plot.setAttribute("aria-label", `${now.title}. ${describeChart(now)} Arrow keys move along.`);
    const image = new DOMParser().parseFromString(renderSvg(width.value), "image/svg+xml");
    picture.replaceChildren(document.importNode(image.documentElement, true));
    downloads.refresh();
  });
  effect(() => {
    const now = chart();
    const x = cursor.value === null ? undefined : xValues(now)[cursor.value];
    needle.hidden = x === undefined;
    if (x === undefined) return void (status.textContent = now.caption || "\u00a0");
    needle.style.setProperty("left", `${toPixel(layoutChart(now, width.value, HEIGHT).x, x)}px`);
    status.textContent = describeAt(now, x);
  });

  /** @param {number} width @param {boolean} [alone] with title and caption, for export */
  function renderSvg(width, alone = false) {
    const now = chart();
    const surface = svgSurface(width, HEIGHT + (alone ? 24 : 0), theme.value.paper);
    drawChart(surface, now, layoutChart(now, width, HEIGHT), theme.value);
    if (alone) surface.text(8, HEIGHT + 10, [now.title, now.caption].filter(Boolean).join(": "), { size: 11, fill: theme.value.ink });
    return surface.toString();
  }
  /** @param {PointerEvent} event */
  function point(event) {
    const now = chart();
    const { x } = layoutChart(now, width.value, HEIGHT);
    const value = x.low + ((event.clientX - plot.getBoundingClientRect().left - x.start) / (x.end - x.start)) * (x.high - x.low);
    cursor.value = nearestIndex(xValues(now), value);
  }
  /** @param {KeyboardEvent} event */
  function key(event) {
    const last = xValues(chart()).length - 1;
    const here = cursor.value ?? -1;
    const next = { ArrowRight: here + 1, ArrowLeft: here < 0 ? last : here - 1, Home: 0, End: last }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    cursor.value = Math.max(0, Math.min(last, next));
  }
  function table() {
    const { lines, x } = chart();
    const places = xValues(chart());
    const values = lines.map((line) => new Map(line.points));
    return {
      rows: places.map(formatValue),
      columns: lines.map((line) => line.label),
      corner: x,
      values: (/** @type {number} */ r, /** @type {number} */ c) => {
        const value = values[c].get(places[r]);
        return value === undefined ? "" : Number.isNaN(value) ? "no number" : String(Number(value.toPrecision(6)));
      },
    };
  }
  return view;
}

/** @param {Chart} chart @returns {number[]} every x where a line has a point */
const xValues = ({ lines }) => [...new Set(lines.flatMap((line) => line.points.map(([x]) => x)))].filter(Number.isFinite).sort((a, b) => a - b);

/** @param {number[]} places @param {number} at */
function nearestIndex(places, at) {
  let here = 0;
  places.forEach((x, i) => {
    if (Math.abs(x - at) < Math.abs(places[here] - at)) here = i;
  });
  return places.length ? here : null;
}

/** @param {Chart} chart @param {number} x @returns {string} the value of each line at x or last before it */
function describeAt({ lines, x: across }, x) {
  const values = lines.flatMap((line) => {
    const last = line.points.findLast((point) => point[0] <= x);
    return last ? [`${line.label} ${Number.isNaN(last[1]) ? "no number" : formatValue(last[1])}`] : [];
  });
  return `${across} ${formatValue(x)}: ${values.join(" · ")}`;
}
