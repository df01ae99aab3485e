// One way to paint, on a canvas for the page and as SVG to take away; painters know neither.

import { css } from "regard/theme.js";

/** @typedef {{ fill?: string, stroke?: string, width?: number, opacity?: number, dash?: number[], round?: number }} Paint */
/** @typedef {{ fill?: string, size?: number, anchor?: "start" | "middle" | "end", mono?: boolean, bold?: boolean, turn?: number }} Lettering */
/**
 * @typedef {object} Surface
 * @property {number} width
 * @property {number} height
 * @property {(x: number, y: number, width: number, height: number, paint: Paint) => void} rect
 * @property {(points: [number, number][], paint: Paint) => void} line
 * @property {(from: [number, number], to: [number, number], paint: Paint) => void} curve sideways out, sideways in
 * @property {(x: number, y: number, radius: number, paint: Paint) => void} dot
 * @property {(x: number, y: number, text: string, how: Lettering) => void} text its middle line lies at y
 * @property {(x: number, y: number, width: number, height: number, colour: string) => void} hatch
 * @property {(x: number, y: number, cell: number, columns: number, shades: Uint8Array, ramp: import("regard/theme.js").Ramp, tall?: number) => void} cells
 *   row by row, without gaps; squares unless it is said how tall they are
 */

const SANS = 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
const MONO = 'ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';
const HATCH = 5;

/**
 * @param {Lettering} how
 * @returns {string} as CSS writes it
 */
export const font = (how) => `${how.bold ? "600 " : ""}${how.size ?? 12}px ${how.mono ? MONO : SANS}`;

/**
 * A canvas of that size, sharp on any screen.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 * @returns {Surface & { context: CanvasRenderingContext2D }}
 */
export function canvasSurface(canvas, width, height) {
  const ratio = globalThis.devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);

  /** @param {Paint} paint @param {() => void} path */
  function drawn(paint, path) {
    context.globalAlpha = paint.opacity ?? 1;
    context.beginPath();
    path();
    if (paint.fill) {
      context.fillStyle = paint.fill;
      context.fill();
    }
    if (paint.stroke) {
      context.strokeStyle = paint.stroke;
      context.lineWidth = paint.width ?? 1;
      context.setLineDash(paint.dash ?? []);
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  return {
    context,
    width,
    height,
    rect(x, y, w, h, paint) {
      if (paint.round) return drawn(paint, () => context.roundRect(x, y, w, h, paint.round));
      if (paint.stroke) return drawn(paint, () => context.rect(x, y, w, h));
      context.globalAlpha = paint.opacity ?? 1;
      context.fillStyle = paint.fill ?? "none";
      context.fillRect(x, y, w, h);
      context.globalAlpha = 1;
    },
    line(points, paint) {
      drawn(paint, () => points.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y))));
    },
    curve([x0, y0], [x1, y1], paint) {
      const middle = (x0 + x1) / 2;
      drawn(paint, () => {
        context.moveTo(x0, y0);
        context.bezierCurveTo(middle, y0, middle, y1, x1, y1);
      });
    },
    dot(x, y, radius, paint) {
      drawn(paint, () => context.arc(x, y, radius, 0, 2 * Math.PI));
    },
    text(x, y, text, how) {
      context.save();
      context.translate(x, y);
      if (how.turn) context.rotate((how.turn * Math.PI) / 180);
      context.font = font(how);
      context.fillStyle = how.fill ?? "#000";
      context.textAlign = how.anchor === "middle" ? "center" : (how.anchor ?? "start") === "start" ? "left" : "right";
      context.textBaseline = "middle";
      context.fillText(text, 0, 0);
      context.restore();
    },
    cells(x, y, cell, columns, shades, ramp, tall = cell) {
      const rows = shades.length / columns;
      const small = document.createElement("canvas");
      pixels(small, columns, shades, ramp);
      context.imageSmoothingEnabled = false;
      context.drawImage(small, x, y, columns * cell, rows * tall);
    },
    hatch(x, y, w, h, colour) {
      context.save();
      context.beginPath();
      context.rect(x, y, w, h);
      context.clip();
      context.strokeStyle = colour;
      context.lineWidth = 1;
      context.beginPath();
      for (let d = HATCH * Math.ceil((x + y) / HATCH); d < x + y + w + h; d += HATCH) {
        context.moveTo(d - y, y);
        context.lineTo(d - y - h, y + h);
      }
      context.stroke();
      context.restore();
    },
  };
}

/**
 * One pixel for each shade, that a canvas can enlarge without smoothing.
 * @param {HTMLCanvasElement} canvas
 * @param {number} columns
 * @param {Uint8Array} shades
 * @param {import("regard/theme.js").Ramp} ramp
 */
export function pixels(canvas, columns, shades, ramp) {
  [canvas.width, canvas.height] = [columns, shades.length / columns];
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const image = context.createImageData(canvas.width, canvas.height);
  const words = new Uint32Array(image.data.buffer);
  for (let i = 0; i < shades.length; i++) words[i] = ramp.pixels[shades[i]];
  context.putImageData(image, 0, 0);
}

/**
 * The same as a string of SVG.
 * @param {number} width
 * @param {number} height
 * @param {string} paper behind everything
 * @returns {Surface & { toString: () => string }}
 */
export function svgSurface(width, height, paper) {
  /** @type {string[]} */
  const parts = [];
  let patterns = 0;
  const n = (/** @type {number} */ value) => String(Math.round(value * 100) / 100);
  const paint = (/** @type {Paint} */ p) =>
    `fill="${escaped(p.fill ?? "none")}"` +
    (p.stroke ? ` stroke="${escaped(p.stroke)}" stroke-width="${n(p.width ?? 1)}"` : "") +
    (p.dash?.length ? ` stroke-dasharray="${p.dash.join(" ")}"` : "") +
    (p.opacity !== undefined && p.opacity < 1 ? ` opacity="${n(p.opacity)}"` : "");
  return {
    width,
    height,
    rect(x, y, w, h, p) {
      const round = p.round ? ` rx="${n(p.round)}"` : "";
      parts.push(`<rect x="${n(x)}" y="${n(y)}" width="${n(w)}" height="${n(h)}"${round} ${paint(p)}/>`);
    },
    line(points, p) {
      parts.push(`<polyline points="${points.map(([x, y]) => `${n(x)},${n(y)}`).join(" ")}" ${paint(p)}/>`);
    },
    curve([x0, y0], [x1, y1], p) {
      const m = n((x0 + x1) / 2);
      parts.push(`<path d="M${n(x0)} ${n(y0)}C${m} ${n(y0)} ${m} ${n(y1)} ${n(x1)} ${n(y1)}" ${paint(p)}/>`);
    },
    dot(x, y, radius, p) {
      parts.push(`<circle cx="${n(x)}" cy="${n(y)}" r="${n(radius)}" ${paint(p)}/>`);
    },
    text(x, y, text, how) {
      const turn = how.turn ? ` transform="rotate(${how.turn} ${n(x)} ${n(y)})"` : "";
      parts.push(
        `<text x="${n(x)}" y="${n(y)}" dominant-baseline="central" text-anchor="${how.anchor ?? "start"}"` +
          ` font-family="${escaped(how.mono ? MONO : SANS)}" font-size="${how.size ?? 12}"` +
          `${how.bold ? ' font-weight="600"' : ""} fill="${escaped(how.fill ?? "#000")}"${turn}>${escaped(text)}</text>`,
      );
    },
    cells(x, y, cell, columns, shades, ramp, tall = cell) {
      shades.forEach((shade, i) => {
        const [left, top] = [x + (i % columns) * cell, y + Math.floor(i / columns) * tall];
        const fill = css(ramp.colours[shade]);
        parts.push(`<path d="M${n(left)} ${n(top)}h${n(cell)}v${n(tall)}h-${n(cell)}z" fill="${fill}"/>`);
      });
    },
    hatch(x, y, w, h, colour) {
      const id = `hatch${patterns++}`;
      parts.push(
        `<pattern id="${id}" width="${HATCH}" height="${HATCH}" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">` +
          `<path d="M0 0V${HATCH}" stroke="${escaped(colour)}"/></pattern>` +
          `<rect x="${n(x)}" y="${n(y)}" width="${n(w)}" height="${n(h)}" fill="url(#${id})"/>`,
      );
    },
    toString: () =>
      `<svg xmlns="http://www.w3.org/2000/svg" width="${n(width)}" height="${n(height)}" viewBox="0 0 ${n(width)} ${n(height)}">` +
      `<rect width="100%" height="100%" fill="${escaped(paper)}"/>${parts.join("\n")}</svg>\n`,
  };
}

/** @param {string} text */
function escaped(text) {
  const names = /** @type {Record<string, string>} */ ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" });
  return text.replace(/[&<>"]/g, (c) => names[c]).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, "�");
}
