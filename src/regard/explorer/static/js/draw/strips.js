// Vectors one below another, each with its name and its length.

import { bars, largest } from "regard/draw/board.js";
import { fixed } from "regard/numbers.js";
import { norm } from "regard/walk.js";

/** @typedef {import("regard/draw/surface.js").Surface} Surface */
/** @typedef {import("regard/theme.js").Theme} Theme */
/** @typedef {{ name: string, values: import("regard/walk.js").Vector, colour: string }} Strip */

const HEIGHT = 58;

/** @param {number} count of strips @param {number} room */
export const place = (count, room) => ({ width: Math.max(240, room), height: HEIGHT * count });

/** @param {Surface} surface @param {Strip[]} strips @param {{ width: number }} at @param {Theme} theme */
export function paint(surface, strips, { width }, theme) {
  strips.forEach(({ name, values, colour }, i) => {
    const y = i * HEIGHT;
    surface.text(0, y + 9, name, { fill: theme.ink });
    surface.text(width, y + 9, `‖·‖ ${fixed(norm(values))}`, { anchor: "end", fill: theme.ink, mono: true });
    bars(surface, values, { left: 0, width }, y + 18, 32, largest([values]), colour, theme);
  });
}
