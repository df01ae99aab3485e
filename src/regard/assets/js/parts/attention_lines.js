// Attention weights as lines from query words to key words.

import { shownAttention } from "regard/app.js";
import { bindInput, h, checkbox } from "regard/dom.js";
import { canvasSurface, svgSurface } from "regard/draw/surface.js";
import { clipText } from "regard/draw/matrix_image.js";
import { computed, effect, signal } from "regard/signals.js";
import { theme } from "regard/theme.js";
import { groupTokens } from "regard/trace.js";
import { downloadBar } from "regard/parts/downloads.js";

/** @typedef {import("regard/app.js").App} App */
/** @typedef {import("regard/draw/surface.js").Surface} Surface */
/** @typedef {import("regard/trace.js").Matrix} Matrix */
/** @typedef {import("regard/trace.js").Label} Label */

const STEP = 22;
const TOP = 30;
const FAINTEST = 0.04;

/**
 * @param {{ app: App, shown: () => { matrix: Matrix, rows: Label[], columns: Label[] } | null }} options
 * @returns {HTMLElement}
 */
export function attentionLines({ app, shown }) {
  const { state } = app;
  const canvas = /** @type {HTMLCanvasElement} */ (h("canvas", { "aria-hidden": "true" }));
  const box = h("div", {
    class: "matrix", tabindex: 0, role: "application", "aria-roledescription": "lines of attention",
    onpointermove: (/** @type {PointerEvent} */ e) => (row.value = rowAt(e)),
    onpointerleave: () => (row.value = null),
    onclick: (/** @type {PointerEvent} */ e) => lock(rowAt(e), e.shiftKey),
    onkeydown: key,
  }, canvas);
  const status = h("p", { class: "status", role: "status" });
  const ticks = h("div", { class: "bar", role: "group", "aria-label": "heads to draw" });
  const row = signal(/** @type {number | null} */ (null));
  const ticked = signal(/** @type {number[]} */ ([]));
  const width = signal(600);
  const downloads = downloadBar({ name: () => `lines of ${state.kind.value} attention, layer ${state.layer.value}`, table, svg });
  const view = h("div", { class: "matrix-view" }, ticks, box, status, downloads);
  new ResizeObserver(() => (width.value = Math.floor(view.clientWidth))).observe(view);

  const heads = computed(() => app.trace.value?.model.heads ?? 0);
  effect(() => {
    ticks.replaceChildren(...Array.from({ length: heads.value }, (_, i) => {
      const box = checkbox(String(i + 1), false, (on) => {
        const others = ticked.peek().filter((each) => each !== i + 1);
        ticked.value = on ? [...others, i + 1].sort((a, b) => a - b) : others;
      });
      box.classList.add("toned");
      effect(() => box.style.setProperty("--tone", theme.value.heads[i % theme.value.heads.length]));
      return bindInput(box, () => ticked.value.includes(i + 1));
    }));
  });
  effect(() => {
    const now = shown();
    if (!now) return;
    const size = canvasSize(now, width.value);
    draw(canvasSurface(canvas, size.width, size.height), now, size);
    const focus = chosenRows(now);
    status.textContent = focus.length
      ? focus.map((r) => describeRow(now, r)).join("; ")
      : "Hover or click a word on the left to see what it attends to; Shift adds another.";
    box.setAttribute("aria-label", `lines of attention. ${status.textContent} Arrow keys go from word to word, Enter locks.`);
    downloads.refresh();
  });

  /** @param {{ matrix: Matrix, rows: Label[], columns: Label[] }} now @param {number} r */
  function describeRow(now, r) {
    const part = Array.from(now.matrix.values.subarray(r * now.matrix.columns, (r + 1) * now.matrix.columns));
    const most = part.indexOf(Math.max(...part));
    return `“${now.rows[r].text}” attends most to “${now.columns[most].text}” (${part[most].toFixed(2)})`;
  }

  /** @param {{ rows: Label[] }} now @returns {number[]} */
  function chosenRows({ rows }) {
    const locked = rows.flatMap((label, i) => (label.tokens.some((t) => state.rows.value.includes(t)) ? [i] : []));
    return row.value === null || row.value >= rows.length ? locked : [...new Set([...locked, row.value])];
  }

  /** @param {{ rows: Label[], columns: Label[] }} now @param {number} wide */
  function canvasSize({ rows, columns }, wide) {
    return { width: Math.max(280, Math.min(wide, 640)), height: TOP + STEP * Math.max(rows.length, columns.length) + 8 };
  }

  /**
   * @param {Surface} surface
   * @param {{ matrix: Matrix, rows: Label[], columns: Label[] }} now
   * @param {{ width: number }} size
   */
  function draw(surface, now, { width }) {
    const colours = theme.value;
    const [left, right] = [width * 0.4, width * 0.68];
    const focus = chosenRows(now);
    surface.text(left - 8, 10, "attends (query)", { anchor: "end", size: 11, fill: colours.faint });
    surface.text(right + 8, 10, "is attended to (key)", { size: 11, fill: colours.faint });
    const place = (/** @type {number} */ i) => TOP + STEP * (i + 0.5);
    drawnHeads(now).forEach(({ matrix, tone, name }) => {
      for (const r of focus) {
        for (let c = 0; c < matrix.columns; c++) {
          const weight = Math.abs(matrix.values[r * matrix.columns + c]);
          if (weight < FAINTEST) continue;
          surface.curve([left, place(r)], [right, place(c)], { stroke: tone, width: 0.5 + 5 * weight, opacity: 0.25 + 0.75 * weight });
          if (name && weight > 0.25) surface.text((left + right) / 2, (place(r) + place(c)) / 2, name, { anchor: "middle", size: 11, bold: true, fill: colours.ink });
        }
      }
    });
    const fits = Math.floor(left / 7.5);
    now.rows.forEach((label, i) => surface.text(left - 8, place(i), clipText(label.text, fits), { anchor: "end", mono: true, bold: focus.includes(i), fill: focus.includes(i) ? colours.accent : colours.ink }));
    now.columns.forEach((label, i) => surface.text(right + 8, place(i), clipText(label.text, fits), { mono: true, fill: colours.ink }));
  }

  /** The checked heads, each with its colour and number; if none is checked, the selected head. */
  function drawnHeads(/** @type {{ matrix: Matrix, rows: Label[], columns: Label[] }} */ now) {
    const tones = theme.value.heads;
    const tone = (/** @type {number} */ head) => (head ? tones[(head - 1) % tones.length] : theme.value[state.kind.value]);
    if (!ticked.value.length) return [{ matrix: now.matrix, tone: tone(state.head.value), name: state.head.value ? String(state.head.value) : "" }];
    return ticked.value.flatMap((head) => {
      const attention = shownAttention(app, state.kind.value, state.layer.value, head);
      return attention ? [{ matrix: groupTokens(attention.matrix, now.rows, now.columns), tone: tone(head), name: String(head) }] : [];
    });
  }

  /** @param {PointerEvent} event */
  function rowAt(event) {
    const y = event.clientY - canvas.getBoundingClientRect().top;
    const at = Math.floor((y - TOP) / STEP);
    return at >= 0 && at < (shown()?.rows.length ?? 0) ? at : null;
  }

  /** @param {number | null} which @param {boolean} more */
  function lock(which, more) {
    const now = shown();
    if (which === null || !now) return void (state.rows.value = []);
    const token = now.rows[which].tokens[0];
    const had = state.rows.value.includes(token);
    const others = more ? state.rows.value.filter((each) => each !== token) : [];
    state.rows.value = had && (more || state.rows.value.length === 1) ? others : [...others, token];
  }

  /** @param {KeyboardEvent} event */
  function key(event) {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const last = (shown()?.rows.length ?? 1) - 1;
    if (by) row.value = Math.max(0, Math.min(last, (row.value ?? -1) + by));
    else if (event.key === "Enter") lock(row.value ?? 0, event.shiftKey);
    else if (event.key === "Escape") state.rows.value = [];
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  function table() {
    const now = shown();
    if (!now) return { rows: [], columns: [], values: () => "" };
    return {
      rows: now.rows.map((label) => label.text),
      columns: now.columns.map((label) => label.text),
      values: (/** @type {number} */ r, /** @type {number} */ c) => now.matrix.values[r * now.matrix.columns + c].toFixed(4),
    };
  }

  function svg() {
    const now = shown();
    if (!now) return "";
    const size = canvasSize(now, width.value);
    const surface = svgSurface(size.width, size.height, theme.value.paper);
    draw(surface, now, size);
    return surface.toString();
  }
  return view;
}
