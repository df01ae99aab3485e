// Vectors as bar strips, each with name and norm.

import { drawVectorBars, maxAbs } from "regard/draw/step_board.js";
import { formatNumber } from "regard/format.js";
import { norm } from "regard/attention_math.js";

/** @typedef {import("regard/draw/surface.js").Surface} Surface */
/** @typedef {import("regard/theme.js").Theme} Theme */
/** @typedef {{ name: string, values: import("regard/attention_math.js").Vector, colour: string }} Strip */

const HEIGHT = 58;
/** Below this width the norm is written under the name, not beside it. */
const NARROW = 400;
const LINE = 15;

/** @param {number} width */
const extraLine = (width) => (width < NARROW ? LINE : 0);

/** @param {number} count of strips @param {number} maxWidth */
export const layoutStrips = (count, maxWidth) => ({ width: Math.max(240, maxWidth), height: (HEIGHT + extraLine(maxWidth)) * count });

/** @param {Surface} surface @param {Strip[]} strips @param {{ width: number }} layout @param {Theme} theme */
export function drawStrips(surface, strips, { width }, theme) {
  strips.forEach(({ name, values, colour }, i) => {
    const more = extraLine(width);
    const y = i * (HEIGHT + more);
    surface.text(0, y + 9, name, { fill: theme.ink });
    surface.text(more ? 0 : width, y + 9 + more, `‖·‖ ${formatNumber(norm(values))}`, { anchor: more ? "start" : "end", fill: theme.ink, mono: true });
    drawVectorBars(surface, values, { left: 0, width }, y + 18 + more, 32, maxAbs([values]), colour, theme);
  });
}
