// Drawing surface that creates SVG elements in the page, for pictures with few elements.

import { s } from "regard/dom.js";
import { font } from "regard/draw/surface.js";

/** @typedef {Pick<import("regard/draw/surface.js").Surface, "rect" | "line" | "curve" | "dot" | "text">} VectorSurface */
/** @typedef {import("regard/draw/surface.js").Paint} Paint */

/**
 * Empty an svg element and return a surface that draws into it.
 * @param {SVGElement} svg
 * @param {number} width
 * @param {number} height
 * @returns {VectorSurface}
 */
export function svgElementSurface(svg, width, height) {
  svg.replaceChildren();
  for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` })) svg.setAttribute(name, String(value));
  const add = (/** @type {string} */ tag, /** @type {Record<string, any>} */ attributes, text = "") => svg.append(s(tag, attributes, text || null));
  const paint = (/** @type {Paint} */ p) => ({
    fill: p.fill ?? "none", stroke: p.stroke, "stroke-width": p.stroke && (p.width ?? 1), "stroke-dasharray": p.dash?.join(" "), opacity: p.opacity,
  });
  return {
    rect: (x, y, w, h, p) => add("rect", { x, y, width: w, height: h, rx: p.round, ...paint(p) }),
    line: (points, p) => add("polyline", { points: points.map((each) => each.join(",")).join(" "), ...paint(p) }),
    curve([x0, y0], [x1, y1], p) {
      const middle = (x0 + x1) / 2;
      add("path", { d: `M${x0} ${y0}C${middle} ${y0} ${middle} ${y1} ${x1} ${y1}`, ...paint(p) });
    },
    dot: (x, y, radius, p) => add("circle", { cx: x, cy: y, r: radius, ...paint(p) }),
    text(x, y, text, how) {
      const turn = how.turn ? `rotate(${how.turn} ${x} ${y})` : null;
      add("text", { x, y, "dominant-baseline": "central", "text-anchor": how.anchor ?? "start", fill: how.fill, transform: turn, style: { font: font(how) } }, text);
    },
  };
}
