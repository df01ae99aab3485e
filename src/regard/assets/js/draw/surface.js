// Drawing surfaces with one interface: a canvas on the page, an SVG string for export.

import { cssColour } from "regard/theme.js";

/** @typedef {{ fill?: string, stroke?: string, width?: number, opacity?: number, dash?: number[], round?: number }} Paint */
/** @typedef {{ fill?: string, size?: number, anchor?: "start" | "middle" | "end", mono?: boolean, bold?: boolean, turn?: number }} TextStyle */
/**
 * @typedef {object} Surface
 * @property {number} width
 * @property {number} height
 * @property {(x: number, y: number, width: number, height: number, paint: Paint) => void} rect
 * @property {(points: [number, number][], paint: Paint) => void} line
 * @property {(from: [number, number], to: [number, number], paint: Paint) => void} curve horizontal at both ends
 * @property {(x: number, y: number, radius: number, paint: Paint) => void} dot
 * @property {(x: number, y: number, text: string, how: TextStyle) => void} text vertically centred at y
 * @property {(x: number, y: number, width: number, height: number, colour: string) => void} hatch
 * @property {(x: number, y: number, cell: number, columns: number, shades: Uint8Array, ramp: import("regard/theme.js").Ramp, tall?: number) => void} cells
 *   row by row, without gaps; square unless a height is given
 */

const SANS = 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
const MONO = 'ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';
const HATCH_SPACING = 5;

/**
 * @param {TextStyle} how
 * @returns {string} a CSS font
 */
export const font = (how) => `${how.bold ? "600 " : ""}${how.size ?? 12}px ${how.mono ? MONO : SANS}`;

/**
 * Prepare a canvas of that size at the resolution of the screen.
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
  function drawPath(paint, path) {
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
      if (paint.round) return drawPath(paint, () => context.roundRect(x, y, w, h, paint.round));
      if (paint.stroke) return drawPath(paint, () => context.rect(x, y, w, h));
      context.globalAlpha = paint.opacity ?? 1;
      context.fillStyle = paint.fill ?? "none";
      context.fillRect(x, y, w, h);
      context.globalAlpha = 1;
    },
    line(points, paint) {
      drawPath(paint, () => points.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y))));
    },
    curve([x0, y0], [x1, y1], paint) {
      const middle = (x0 + x1) / 2;
      drawPath(paint, () => {
        context.moveTo(x0, y0);
        context.bezierCurveTo(middle, y0, middle, y1, x1, y1);
      });
    },
    dot(x, y, radius, paint) {
      drawPath(paint, () => context.arc(x, y, radius, 0, 2 * Math.PI));
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
      drawPixels(small, columns, shades, ramp);
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
      for (let d = HATCH_SPACING * Math.ceil((x + y) / HATCH_SPACING); d < x + y + w + h; d += HATCH_SPACING) {
        context.moveTo(d - y, y);
        context.lineTo(d - y - h, y + h);
      }
      context.stroke();
      context.restore();
    },
  };
}

/**
 * Draw one pixel per shade; CSS enlarges it without smoothing.
 * @param {HTMLCanvasElement} canvas
 * @param {number} columns
 * @param {Uint8Array} shades
 * @param {import("regard/theme.js").Ramp} ramp
 */
export function drawPixels(canvas, columns, shades, ramp) {
  [canvas.width, canvas.height] = [columns, shades.length / columns];
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const image = context.createImageData(canvas.width, canvas.height);
  const words = new Uint32Array(image.data.buffer);
  for (let i = 0; i < shades.length; i++) words[i] = ramp.pixels[shades[i]];
  context.putImageData(image, 0, 0);
}

/**
 * Drawing surface that produces an SVG string.
 * @param {number} width
 * @param {number} height
 * @param {string} paper background colour
 * @returns {Surface & { toString: () => string }}
 */
export function svgSurface(width, height, paper) {
  /** @type {string[]} */
  const parts = [];
  let patterns = 0;
  const round = (/** @type {number} */ value) => String(Math.round(value * 100) / 100);
  const paint = (/** @type {Paint} */ p) =>
    `fill="${escapeXml(p.fill ?? "none")}"` +
    (p.stroke ? ` stroke="${escapeXml(p.stroke)}" stroke-width="${round(p.width ?? 1)}"` : "") +
    (p.dash?.length ? ` stroke-dasharray="${p.dash.join(" ")}"` : "") +
    (p.opacity !== undefined && p.opacity < 1 ? ` opacity="${round(p.opacity)}"` : "");
  return {
    width,
    height,
    rect(x, y, w, h, p) {
      const corner = p.round ? ` rx="${round(p.round)}"` : "";
      parts.push(`<rect x="${round(x)}" y="${round(y)}" width="${round(w)}" height="${round(h)}"${corner} ${paint(p)}/>`);
    },
    line(points, p) {
      parts.push(`<polyline points="${points.map(([x, y]) => `${round(x)},${round(y)}`).join(" ")}" ${paint(p)}/>`);
    },
    curve([x0, y0], [x1, y1], p) {
      const m = round((x0 + x1) / 2);
      parts.push(`<path d="M${round(x0)} ${round(y0)}C${m} ${round(y0)} ${m} ${round(y1)} ${round(x1)} ${round(y1)}" ${paint(p)}/>`);
    },
    dot(x, y, radius, p) {
      parts.push(`<circle cx="${round(x)}" cy="${round(y)}" r="${round(radius)}" ${paint(p)}/>`);
    },
    text(x, y, text, how) {
      const turn = how.turn ? ` transform="rotate(${how.turn} ${round(x)} ${round(y)})"` : "";
      parts.push(
        `<text x="${round(x)}" y="${round(y)}" dominant-baseline="central" text-anchor="${how.anchor ?? "start"}"` +
          ` font-family="${escapeXml(how.mono ? MONO : SANS)}" font-size="${how.size ?? 12}"` +
          `${how.bold ? ' font-weight="600"' : ""} fill="${escapeXml(how.fill ?? "#000")}"${turn}>${escapeXml(text)}</text>`,
      );
    },
    cells(x, y, cell, columns, shades, ramp, tall = cell) {
      shades.forEach((shade, i) => {
        const [left, top] = [x + (i % columns) * cell, y + Math.floor(i / columns) * tall];
        const fill = cssColour(ramp.colours[shade]);
        parts.push(`<path d="M${round(left)} ${round(top)}h${round(cell)}v${round(tall)}h-${round(cell)}z" fill="${fill}"/>`);
      });
    },
    hatch(x, y, w, h, colour) {
      const id = `hatch${patterns++}`;
      parts.push(
        `<pattern id="${id}" width="${HATCH_SPACING}" height="${HATCH_SPACING}" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">` +
          `<path d="M0 0V${HATCH_SPACING}" stroke="${escapeXml(colour)}"/></pattern>` +
          `<rect x="${round(x)}" y="${round(y)}" width="${round(w)}" height="${round(h)}" fill="url(#${id})"/>`,
      );
    },
    toString: () =>
      `<svg xmlns="http://www.w3.org/2000/svg" width="${round(width)}" height="${round(height)}" viewBox="0 0 ${round(width)} ${round(height)}">` +
      `<rect width="100%" height="100%" fill="${escapeXml(paper)}"/>${parts.join("\n")}</svg>\n`,
  };
}

/** @param {string} text */
function escapeXml(text) {
  const names = /** @type {Record<string, string>} */ ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" });
  return text.replace(/[&<>"]/g, (c) => names[c]).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, "�");
}
