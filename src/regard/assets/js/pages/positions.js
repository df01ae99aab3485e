// Positions page: tables of positional encodings, their waves, and their dot products by distance.

import { radioGroup, setChildren, h, dropdown, scrollBoxTo } from "regard/dom.js";
import { heatMapCellAt, drawHeatMap, layoutHeatMap } from "regard/draw/heat_map.js";
import { drawGraph as paintGraph, layoutGraph as placeGraph } from "regard/draw/line_graph.js";
import { formatNumber } from "regard/format.js";
import { computed, effect, signal } from "regard/signals.js";
import { dotProductsByDistance, encodingValue, LAYOUT_BY_SETTING, dotProducts, encodingTable, rotationMatrix, maxRotationError, waveOfColumn } from "regard/positional_encoding.js";
import { matrixView } from "regard/parts/matrix_view.js";
import { canvasView } from "regard/parts/canvas_view.js";
import { dataTable } from "regard/parts/downloads.js";
import { matrixAt, unpack } from "regard/trace.js";

/** @typedef {import("regard/app.js").App} App */
/** @typedef {import("regard/trace.js").Matrix} Matrix */
/** @typedef {import("regard/positional_encoding.js").Layout} Layout */
/** @typedef {{ layout: Layout | "learned", matrix: Matrix, top: number }} PositionTable */

const ABOUT = {
  interleaved: "Sine and cosine take turns: dimension 2i is sin(pos / 10000^(2i/d)), dimension 2i + 1 the cosine. The paper’s table.",
  halves: "The same waves, all sines first, then all cosines: Sockeye, and Marian as others load it. The picture splits in half down the centre.",
  t2t: "All sines, then all cosines, and timescales that reach 10000 exactly: tensor2tensor, fairseq, Marian. Not a reordering of the paper’s table: all but the first wave are a little longer.",
  learned: "This model learned its positions: every number was found in training, and waves were not prescribed.",
};
const NAMES = /** @type {Record<string, string>} */ ({ interleaved: "paper", halves: "halves", t2t: "tensor2tensor", learned: "learned" });

/**
 * @param {App} app
 * @returns {HTMLElement}
 */
export function positionsPage(app) {
  const { state } = app;
  const model = computed(() => app.trace.value?.model ?? app.info?.model ?? null);
  const ownLayout = () => LAYOUT_BY_SETTING[model.value?.positions ?? ""] ?? "interleaved";
  const learned = signal(/** @type {Matrix | null} */ (null));
  const problem = h("p", { class: "problem", role: "alert" });
  effect(() => {
    if (ownLayout() !== "learned" || !app.source || learned.value) return;
    app.source.get(`positions?length=128&width=${model.value?.d_model}`)
      .then((answer) => answer.learned && (learned.value = matrixAt(unpack(answer.learned))))
      .catch((error) => (problem.textContent = error.message));
  });
  const layout = computed(() => {
    const chosen = /** @type {Layout | "learned"} */ (state.layout.value || ownLayout());
    return chosen === "learned" && !learned.value ? "interleaved" : chosen;
  });
  const shown = computed(() => {
    const long = Math.max(2, Math.min(256, state.long.value));
    if (layout.value === "learned") {
      const all = /** @type {Matrix} */ (learned.value);
      const rows = Math.min(long, all.rows);
      const values = all.values.subarray(0, rows * all.columns);
      return { layout: layout.value, matrix: { ...all, rows, values }, top: values.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-9) };
    }
    const wide = Math.max(2, Math.min(1024, state.wide.value || model.value?.d_model || 512));
    return { layout: layout.value, matrix: encodingTable(layout.value, long, wide), top: 1 };
  });
  const column = signal(/** @type {number | null} */ (null));
  const pair = signal(/** @type {[number, number]} */ ([3, 8]));
  return h("div", { class: "page" }, h("h1", {}, "Positions"),
    h("p", {}, "Attention by itself does not know the order of words. Therefore a vector for the position is added to each embedding, in the encoder and in the decoder."),
    positionControls(app, ownLayout, layout, () => learned.value !== null, () => model.value?.d_model ?? null), problem,
    heatMapSection(shown, column, pair),
    h("div", { class: "grid" }, waveSection(shown, column), distanceSection(shown, pair)),
    h("div", { class: "grid pairs" }, dotProductSection(shown, pair), h("div", { class: "stacked" }, rotationSection(shown), smallTables())));
}

/**
 * @param {App} app
 * @param {() => string} own
 * @param {{ readonly value: string }} layout
 * @param {() => boolean} learned
 * @param {() => number | null} width
 */
function positionControls(app, own, layout, learned, width) {
  const { state } = app;
  const box = h("div", { class: "bar" });
  const layoutNote = h("p", {});
  const modelNote = h("p", { class: "faint" });
  effect(() => {
    const names = ["interleaved", "halves", "t2t", ...(learned() ? ["learned"] : [])];
    const which = radioGroup("layout", names.map((name) => /** @type {[string, string]} */ ([name, NAMES[name]])), () => layout.value, (v) => (state.layout.value = v));
    const numbers = (/** @type {number[]} */ list) => list.map((n) => /** @type {[string, string]} */ ([String(n), String(n)]));
    const d = width();
    const widths = /** @type {[string, string][]} */ ([["512", "512, as in the paper"], ...(d && d !== 512 ? [["0", `${d}, as this model has`]] : []), ["4", "4"], ["32", "32"], ["128", "128"]]);
    setChildren(box, which,
      dropdown("positions", numbers([10, 20, 50, 128]), String(state.long.value), (v) => (state.long.value = Number(v))),
      layout.value === "learned" ? null : dropdown("dimensions", widths, String(state.wide.value), (v) => (state.wide.value = Number(v))));
    layoutNote.textContent = /** @type {any} */ (ABOUT)[layout.value];
    modelNote.textContent = app.trace.value?.model.positions === "none" ? "This model adds no positions."
      : own() !== "learned" ? `This model uses the layout “${NAMES[own()]}”.`
      : learned() ? "" : "This model learned its positions. They are not in this file; regard explore shows them. The formulas below are what others use.";
  });
  return h("div", {}, box, layoutNote, modelNote);
}

/** @param {{ readonly value: PositionTable }} shown @param {{ value: number | null }} column @param {{ value: [number, number] }} pair */
function heatMapSection(shown, column, pair) {
  const cursor = signal(/** @type {[number, number] | null} */ (null));
  const status = h("p", { class: "status", role: "status" });
  const state = () => ({ ...shown.value, column: cursor.value?.[1] ?? column.value, rows: pair.value.filter((row) => row < shown.value.matrix.rows) });
  const view = canvasView({
    name: () => `positions, ${NAMES[shown.value.layout]}`,
    table: () => numberTable(shown.value.matrix),
    draw: (room) => {
      const now = state();
      const layout = layoutHeatMap(now, room);
      return { ...layout, paint: (surface, theme) => drawHeatMap(surface, now, layout, theme) };
    },
    box: {
      role: "application", "aria-roledescription": "heat map", "data-heat": "",
      "aria-label": "heat map of positions, rows, by dimensions, columns. Arrow keys move; Enter chooses the row, Shift and Enter the second one.",
      onpointermove: (/** @type {PointerEvent} */ e) => move(under(e)),
      onpointerleave: () => (cursor.value = null),
      onclick: (/** @type {PointerEvent} */ e) => choose(under(e), e.shiftKey),
      onkeydown: (/** @type {KeyboardEvent} */ e) => key(e),
    },
  });
  effect(() => {
    const { matrix } = shown.value;
    const cell = cursor.value;
    status.textContent = cell && cell[0] < matrix.rows && cell[1] < matrix.columns
      ? `position ${cell[0]}, dimension ${cell[1]}: ${formatNumber(matrix.values[cell[0] * matrix.columns + cell[1]], 4)}`
      : `${matrix.rows} positions × ${matrix.columns} dimensions, from ${formatNumber(-shown.value.top, 2)} (one colour) to ${formatNumber(shown.value.top, 2)} (the other). Point at a column for its wave; click a row, and with Shift a second one.`;
  });

  /** @param {PointerEvent} event */
  function under(event) {
    const now = state();
    return heatMapCellAt(now, layoutHeatMap(now, view.room()), ...view.at(event));
  }
  /** @param {[number, number] | null} cell */
  function move(cell) {
    cursor.value = cell;
    if (cell) column.value = cell[1];
  }
  /** @param {[number, number]} cell */
  function go(cell) {
    move(cell);
    const layout = layoutHeatMap(state(), view.room());
    const wide = layout.inner / shown.value.matrix.columns;
    scrollBoxTo(view.frame, [layout.left + cell[1] * wide, layout.top + cell[0] * layout.row], [wide, layout.row], [layout.left, layout.top]);
  }
  /** @param {[number, number] | null} cell @param {boolean} second */
  function choose(cell, second) {
    if (cell) pair.value = second ? [pair.value[0], cell[0]] : [cell[0], pair.value[1]];
  }
  /** @param {KeyboardEvent} event */
  function key(event) {
    const { rows, columns } = shown.value.matrix;
    const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    const [row, at] = cursor.value ?? [0, column.value ?? 0];
    if (by) go([Math.max(0, Math.min(rows - 1, row + by[0])), Math.max(0, Math.min(columns - 1, at + by[1]))]);
    else if (event.key === "Enter") choose([row, at], event.shiftKey);
    else if (event.key === "Escape") cursor.value = null;
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
  return h("section", { class: "gap", "aria-label": "the table" }, h("h2", {}, "The table"), view, status);
}

/** @param {{ readonly value: PositionTable }} shown @param {{ value: number | null }} column */
function waveSection(shown, column) {
  const description = h("p", {});
  const here = () => Math.min(column.value ?? Math.min(20, shown.value.matrix.columns - 2), shown.value.matrix.columns - 1);
  const at = (/** @type {number} */ row) => shown.value.matrix.values[row * shown.value.matrix.columns + here()];
  effect(() => {
    const { layout, matrix } = shown.value;
    const columnWave = layout === "learned" ? null : waveOfColumn(layout, here(), matrix.columns);
    description.textContent = layout === "learned" ? `Dimension ${here()} of ${matrix.columns}: learned, so it need not be a wave.`
      : !columnWave ? `Dimension ${here()} of ${matrix.columns} is all zero: the width is odd.`
      : `Dimension ${here()} of ${matrix.columns}: ${columnWave.cosine ? "cos" : "sin"}(position / ${formatNumber(columnWave.timescale, 2)}). It begins again after ${formatNumber(2 * Math.PI * columnWave.timescale, 1)} positions.`;
  });
  const view = canvasView({
    name: () => `wave of dimension ${here()}`,
    table: () => ({ rows: Array.from({ length: shown.value.matrix.rows }, (_, i) => String(i)), columns: ["value"], corner: "position", values: (r) => formatNumber(at(r), 4) }),
    draw: (room) => {
      const { layout, matrix, top } = shown.value;
      const dots = Array.from({ length: matrix.rows }, (_, row) => /** @type {[number, number]} */ ([row, at(row)]));
      const fine = layout === "learned" ? dots
        : Array.from({ length: 8 * (matrix.rows - 1) + 1 }, (_, i) => /** @type {[number, number]} */ ([i / 8, encodingValue(waveOfColumn(layout, here(), matrix.columns), i / 8)]));
      const graph = { x: /** @type {[number, number]} */ ([0, matrix.rows - 1]), y: /** @type {[number, number]} */ ([-top, top]), xLabel: "position", yLabel: "value", lines: [] };
      const size = placeGraph(graph, room);
      return { ...size, paint: (surface, theme) => paintGraph(surface, { ...graph, lines: [{ points: fine, colour: theme.accent, width: 1.5 }, { points: dots, colour: theme.accent, dots: true, width: 0 }] }, size, theme) };
    },
  });
  return h("section", { "aria-label": "one dimension" }, h("h2", {}, "One dimension"), description, view);
}

/** @param {{ readonly value: PositionTable }} shown @param {{ value: [number, number] }} pair */
function distanceSection(shown, pair) {
  const dots = computed(() => dotProducts(shown.value.matrix));
  const line = computed(() => dotProductsByDistance(dots.value));
  const description = h("p", { class: "facts" });
  const picks = h("div", { class: "bar" });
  effect(() => {
    const last = shown.value.matrix.rows - 1;
    const [p, q] = pair.value.map((row) => Math.min(row, last));
    const rows = Array.from({ length: last + 1 }, (_, i) => /** @type {[string, string]} */ ([String(i), String(i)]));
    setChildren(picks, dropdown("position", rows, String(p), (v) => (pair.value = [Number(v), q])), dropdown("and", rows, String(q), (v) => (pair.value = [p, Number(v)])));
    description.textContent = `PE(${p}) · PE(${q}) = ${formatNumber(dots.value.values[p * (last + 1) + q], 3)}, at distance ${Math.abs(p - q)}; with itself ${formatNumber(dots.value.values[p * (last + 2)], 3)}.`;
  });
  const view = canvasView({
    name: () => "dot product against distance",
    table: () => ({ rows: line.value.map((_, i) => String(i)), columns: ["mean", "least", "most"], corner: "distance", values: (r, c) => formatNumber([line.value[r].mean, line.value[r].least, line.value[r].most][c], 3) }),
    draw: (room) => {
      const all = line.value;
      const low = Math.min(0, ...all.map((each) => each.least));
      const high = Math.max(...all.map((each) => each.most));
      const band = /** @type {[number, number][]} */ ([...all.map((each, i) => [i, each.most]), ...all.map((each, i) => [i, each.least]).reverse()]);
      const graph = { x: /** @type {[number, number]} */ ([0, all.length - 1]), y: /** @type {[number, number]} */ ([low, high]), xLabel: "distance", yLabel: "dot product", band, lines: [] };
      const size = placeGraph(graph, room);
      const chosen = Math.min(all.length - 1, Math.abs(pair.value[0] - pair.value[1]));
      return { ...size, paint: (surface, theme) => paintGraph(surface, { ...graph, lines: [{ points: all.map((each, i) => [i, each.mean]), colour: theme.accent }, { points: [[chosen, all[chosen].mean]], colour: theme.ink, dots: true }] }, size, theme) };
    },
  });
  const why = h("p", { class: "faint" });
  effect(() => {
    why.textContent = shown.value.layout === "learned" ? "The band is least to most over all pairs at that distance: what was learned need not depend on the distance alone."
      : "It depends on the distance alone, not on the positions: sin·sin + cos·cos = cos of the difference, summed over the waves. With many waves, positions near each other have similar vectors.";
  });
  return h("section", { "aria-label": "two positions" }, h("h2", {}, "Two positions: how far apart?"), picks, description, view, why);
}

/** @param {{ readonly value: PositionTable }} shown @param {{ value: [number, number] }} pair */
function dotProductSection(shown, pair) {
  const dots = computed(() => dotProducts(shown.value.matrix));
  const names = () => Array.from({ length: dots.value.rows }, (_, i) => String(i));
  const view = matrixView({
    picture: () => ({ matrix: dots.value, rows: names(), columns: names(), signed: dots.value.values.some((value) => value < 0), top: dots.value.values.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-9), axes: ["position", "position"], locked: pair.value.filter((row) => row < dots.value.rows).slice(0, 1) }),
    name: () => "dot products between positions",
    summary: () => "highest on the diagonal",
    describeCell: (row, column) => `PE(${row}) · PE(${column}) = ${formatNumber(dots.value.values[row * dots.value.columns + column], 3)}`,
    hover: (cell) => cell && (pair.value = cell),
  });
  return h("section", { "aria-label": "all pairs" }, h("h2", {}, "Dot products of all positions"), view);
}

/** @param {{ readonly value: PositionTable }} shown */
function rotationSection(shown) {
  const [x, y, dimension] = [signal(3), signal(5), signal(10)];
  const body = h("div", {});
  const slide = (/** @type {string} */ name, /** @type {import("regard/signals.js").Signal<number>} */ value, /** @type {number} */ high) => {
    const input = h("input", { type: "range", min: 0, max: high, value: value.value, oninput: () => (value.value = Number(/** @type {HTMLInputElement} */ (input).value)) });
    const out = h("output", {});
    effect(() => (out.textContent = String(value.value)));
    return h("label", { class: "tick" }, name, input, out);
  };
  effect(() => {
    const { layout, matrix } = shown.value;
    if (layout === "learned") return setChildren(body, h("p", {}, "A learned table has no such rule; choose one of the others to see it."));
    const pairs = Math.floor(matrix.columns / 2);
    const which = Math.min(dimension.value, pairs - 1);
    const { timescale } = /** @type {NonNullable<ReturnType<typeof waveOfColumn>>} */ (waveOfColumn(layout, layout === "interleaved" ? 2 * which : which, matrix.columns));
    const sines = (/** @type {number} */ position) => [Math.sin(position / timescale), Math.cos(position / timescale)];
    const m = rotationMatrix(y.value, timescale);
    const [from, to] = [sines(x.value), sines(x.value + y.value)];
    const rotated = m.map((row) => row[0] * from[0] + row[1] * from[1]);
    const cells = [[m[0][0], m[0][1], from[0], rotated[0], to[0]], [m[1][0], m[1][1], from[1], rotated[1], to[1]]];
    setChildren(body,
      dataTable({ rows: ["sin", "cos"], columns: ["M sin", "M cos", "PE(x)", "M PE(x)", "PE(x+y)"], values: (r, c) => formatNumber(cells[r][c], 3) }, `pair ${which}: timescale ${formatNumber(timescale, 2)}`),
      h("p", { class: "facts", "data-turned": "" }, `Over all ${matrix.rows} positions and ${matrix.columns} dimensions the largest difference is ${maxRotationError(layout, Math.max(matrix.rows, y.value + 2), matrix.columns, y.value).toExponential(1)}.`));
  });
  return h("section", { "aria-label": "relative positions" }, h("h2", {}, "A shift is a rotation"),
    h("p", {}, "A matrix M that depends on y but not on x gives PE(x + y) from PE(x): it rotates each pair of sine and cosine by the angle y / timescale. So “five words further” is the same linear map everywhere, and attention can learn it."),
    h("div", { class: "bar" }, slide("x", x, 60), slide("y", y, 60), slide("pair", dimension, 20)), body);
}

/** Tables small enough to check by hand. */
function smallTables() {
  const rows = (/** @type {Layout} */ layout) => {
    const { values } = encodingTable(layout, 3, 4);
    return dataTable({ rows: ["0", "1", "2"], columns: ["0", "1", "2", "3"], corner: "", values: (r, c) => formatNumber(values[4 * r + c], 4) }, NAMES[layout]);
  };
  return h("section", { "aria-label": "four dimensions" }, h("h2", {}, "Small enough to check by hand: 4 dimensions"),
    h("div", { class: "bar tables" }, rows("interleaved"), rows("halves"), rows("t2t")));
}

/** @param {Matrix} matrix */
function numberTable(matrix) {
  return {
    rows: Array.from({ length: matrix.rows }, (_, i) => String(i)),
    columns: Array.from({ length: matrix.columns }, (_, i) => String(i)),
    corner: "position \\ dimension",
    values: (/** @type {number} */ r, /** @type {number} */ c) => formatNumber(matrix.values[r * matrix.columns + c], 4),
  };
}
