// Bar chart of candidate probabilities.

import { clipText } from "regard/draw/matrix_image.js";

/** @typedef {import("regard/draw/surface.js").Surface} Surface */
/** @typedef {import("regard/theme.js").Theme} Theme */
/** @typedef {{ name: string, share: number, note?: string }} Bar */

const STEP = 24;
const [LEFT, WIDE] = [130, 240];

/** @param {Bar[]} bars @returns {{ width: number, height: number }} */
export const barChartSize = (bars) => ({ width: LEFT + WIDE + 130, height: STEP * (bars.length + 1) + 8 });

/**
 * @param {Surface} surface
 * @param {Bar[]} bars
 * @param {string} title
 * @param {Theme} theme
 */
export function drawBarChart(surface, bars, title, theme) {
  surface.text(10, STEP / 2 + 4, title, { fill: theme.ink, bold: true });
  bars.forEach(({ name, share, note }, i) => {
    const y = STEP * (i + 1.5) + 4;
    surface.text(LEFT - 8, y, clipText(name, 16), { anchor: "end", mono: true, fill: theme.ink, bold: Boolean(note) });
    surface.rect(LEFT, y - 6, WIDE, 12, { stroke: theme.line });
    surface.rect(LEFT, y - 6, WIDE * share, 12, { fill: theme.cross });
    surface.text(LEFT + WIDE + 8, y, `${share.toFixed(3)} ${note ?? ""}`, { fill: theme.ink });
  });
}
