// Vectors one below another, each with its name and its length.

import { bars, largest } from "regard/draw/step_board.js";
import { fixed } from "regard/format.js";
import { norm } from "regard/attention_math.js";

/** @typedef {import("regard/draw/surface.js").Surface} Surface */
/** @typedef {import("regard/theme.js").Theme} Theme */
/** @typedef {{ name: string, values: import("regard/attention_math.js").Vector, colour: string }} Strip */

const HEIGHT = 58;
/** Below this width the length stands under the name, not beside it. */
const NARROW = 400;
const LINE = 15;

/** @param {number} width */
const below = (width) => (width < NARROW ? LINE : 0);

/** @param {number} count of strips @param {number} room */
export const place = (count, room) => ({ width: Math.max(240, room), height: (HEIGHT + below(room)) * count });

/** @param {Surface} surface @param {Strip[]} strips @param {{ width: number }} at @param {Theme} theme */
export function paint(surface, strips, { width }, theme) {
  strips.forEach(({ name, values, colour }, i) => {
    const more = below(width);
    const y = i * (HEIGHT + more);
    surface.text(0, y + 9, name, { fill: theme.ink });
    surface.text(more ? 0 : width, y + 9 + more, `‖·‖ ${fixed(norm(values))}`, { anchor: more ? "start" : "end", fill: theme.ink, mono: true });
    bars(surface, values, { left: 0, width }, y + 18 + more, 32, largest([values]), colour, theme);
  });
}
