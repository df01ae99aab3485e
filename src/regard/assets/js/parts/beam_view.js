// Beam search tree for mouse, keyboard and screen reader, with actions on a hypothesis.

import { retranslate } from "regard/app.js";
import { setChildren, h, s, checkbox } from "regard/dom.js";
import { COLUMN, layoutBeam, nodeAt, drawBeam, drawSelection } from "regard/draw/beam_tree.js";
import { svgElementSurface } from "regard/draw/svg_element.js";
import { svgSurface } from "regard/draw/surface.js";
import { tokenIds, pathTo, lengthPenalty, formatProbability, formatSigned, bestHypothesis, decodeText } from "regard/hypothesis.js";
import { computed, effect, signal } from "regard/signals.js";
import { theme } from "regard/theme.js";
import { quote } from "regard/units.js";
import { downloadBar } from "regard/parts/downloads.js";

/** @typedef {import("regard/app.js").App} App */
/** @typedef {import("regard/types").Beam} Beam */
/** @typedef {import("regard/types").Trace} Trace */
/** @typedef {import("regard/types").Node} BeamNode */

/**
 * @param {App} app
 * @returns {HTMLElement}
 */
export function beamView(app) {
  const { state } = app;
  const hovered = signal(/** @type {BeamNode | null} */ (null));
  const layout = computed(() => {
    const trace = app.trace.value;
    if (!trace?.beam) return null;
    const { greedy } = trace.beam;
    const tail = greedy.tokens.map((id) => decodeText(trace, [id]) || (trace.vocabulary[id] ?? ""));
    return layoutBeam(trace.beam, Boolean(state.pruned.value), tail);
  });
  /** The selected hypothesis, or the best one. */
  const selected = computed(() => {
    const beam = app.trace.value?.beam;
    return beam ? (beam.nodes[state.node.value - 1] ?? bestHypothesis(beam)) : null;
  });
  const focused = computed(() => {
    const node = hovered.value;
    return node && app.trace.value?.beam?.nodes[node.id] === node ? node : selected.value;
  });
  const background = s("svg", { "aria-hidden": "true" });
  const svg = s("svg", { "aria-hidden": "true" });
  const box = h("div", {
    class: "beam", tabindex: 0, role: "application", "aria-roledescription": "beam",
    onpointermove: (/** @type {PointerEvent} */ e) => (hovered.value = nodeUnder(e)),
    onpointerleave: () => (hovered.value = null),
    onclick: (/** @type {PointerEvent} */ e) => lock(nodeUnder(e)),
    onkeydown: key,
    onblur: () => (hovered.value = null),
  }, background, svg);
  const details = h("div", { class: "hypothesis", role: "status" });
  const actionBar = h("p", { class: "bar" });
  const controls = h("span", { class: "bar" });
  const downloads = downloadBar({ name: () => "beam", table, svg: svgText });

  effect(() => {
    const now = layout.value;
    if (now) drawBeam(svgElementSurface(svg, now.width, now.height), now, theme.value);
  });
  effect(() => {
    const now = layout.value;
    if (now) drawSelection(svgElementSurface(background, now.width, now.height), now, { step: state.step.value, chosen: focused.value?.id ?? null }, theme.value);
  });
  effect(() => {
    const trace = app.trace.value;
    if (!trace?.beam || !focused.value) return;
    setChildren(details, hypothesisDetails(trace, trace.beam, focused.value));
    box.setAttribute("aria-label", `${describeBeam(trace.beam)} Arrow keys go from hypothesis to hypothesis, Enter locks one.`);
  });
  effect(() => {
    setChildren(controls, checkbox("show pruned", Boolean(state.pruned.value), (on) => (state.pruned.value = on ? "1" : "")), legend());
    downloads.refresh();
    layout.value;
  });
  const width = signal(0);
  new ResizeObserver(() => (width.value = box.clientWidth)).observe(box);
  effect(() => width.value && box.scrollTo({ left: middle(state.step.value) }));
  effect(() => {
    const trace = app.trace.value;
    const node = selected.value;
    if (trace?.beam && node) setChildren(actionBar, actions(app, trace, trace.beam, node));
  });

  /** @param {PointerEvent} event */
  function nodeUnder(event) {
    const frame = svg.getBoundingClientRect();
    return layout.value && nodeAt(layout.value, event.clientX - frame.left, event.clientY - frame.top);
  }

  /** @param {BeamNode | null} node */
  function lock(node) {
    state.node.value = node ? node.id + 1 : 0;
    if (node) state.step.value = Math.min(node.t, (app.trace.value?.target.tokens.length ?? 1) - 1);
  }

  /** @param {KeyboardEvent} event */
  function key(event) {
    const now = layout.value;
    const from = focused.value;
    if (!now || !from) return;
    const next = neighbour(now, from, event.key);
    if (next) show(next);
    else if (event.key === "Enter") lock(from);
    else if (event.key === "Escape") lock(null);
    else if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {BeamNode} node */
  function show(node) {
    hovered.value = node;
    box.scrollTo({ left: middle(node.t) });
  }

  /** @param {number} step @returns {number} scroll position that centres its column */
  function middle(step) {
    return COLUMN * (step + 0.5) - box.clientWidth / 2;
  }

  function table() {
    const trace = app.trace.value;
    const nodes = layout.value?.columns.flat().map(({ node }) => node) ?? [];
    const columns = ["text", "state", "log p", "sum of log p", "length", "score", "continues"];
    return {
      rows: nodes.map(({ t, rank, id }) => `${id}: step ${t + 1}, rank ${rank + 1}`),
      columns,
      values: (/** @type {number} */ r, /** @type {number} */ c) => {
        const node = nodes[r];
        const beam = /** @type {Beam} */ (trace?.beam);
        const text = decodeText(/** @type {Trace} */ (trace), pathTo(beam, node).map(({ token }) => token));
        return [text, node.state, node.logprob.toFixed(4), node.sum.toFixed(4), String(node.t + 1), node.score.toFixed(4), node.parent === null ? "" : String(node.parent)][c];
      },
    };
  }

  function svgText() {
    const now = layout.value;
    if (!now) return "";
    const surface = svgSurface(now.width, now.height, theme.value.paper);
    drawSelection(surface, now, { step: state.step.value, chosen: selected.value?.id ?? null }, theme.value);
    drawBeam(surface, now, theme.value);
    return surface.toString();
  }

  return h("div", { class: "beam-view" }, controls, box, details, actionBar, downloads);
}

/** Legend of the marks. */
const legend = () =>
  h("span", { class: "faint" }, "● kept  ○ pruned  ■ finished  □ greedy · thicker = likelier · number = Σ log p · blue and bold = the translation");

/**
 * @param {import("regard/draw/beam_tree.js").BeamLayout} drawn
 * @param {BeamNode} from
 * @param {string} key
 * @returns {BeamNode | null}
 */
function neighbour({ columns, positions }, from, key) {
  const column = columns[from.t].map(({ node }) => node);
  const here = column.findIndex(({ id }) => id === from.id);
  switch (key) {
    case "ArrowUp":
      return column[here - 1] ?? null;
    case "ArrowDown":
      return column[here + 1] ?? null;
    case "ArrowLeft":
      return from.parent === null ? null : (positions.get(from.parent)?.node ?? null);
    case "ArrowRight":
      return columns[from.t + 1]?.find(({ node }) => node.parent === from.id)?.node ?? null;
    default:
      return null;
  }
}

/**
 * The text of a hypothesis and the computation of its score.
 * @param {Trace} trace
 * @param {Beam} beam
 * @param {BeamNode} node
 */
function hypothesisDetails(trace, beam, node) {
  const n = node.t + 1;
  const by = lengthPenalty(n, beam.alpha);
  const text = decodeText(trace, pathTo(beam, node).map(({ token }) => token));
  return [
    h("p", {}, h("strong", { dir: "auto", lang: trace.model.target_lang }, text || "(nothing yet)"), ` — ${node.state}, rank ${node.rank + 1} in step ${n}`),
    h(
      "p",
      { class: "facts" },
      `log p of ${quote(node.text)} ${formatSigned(node.logprob)} (probability ${formatProbability(node.logprob)}) · Σ log p ${formatSigned(node.sum)} · length ${n} · score `,
      h("strong", {}, formatSigned(node.score)),
    ),
    h(
      "p",
      { class: "score" },
      "score = Σ log p ÷ ((5 + n) / 6)", h("sup", {}, "α"), ` = ${formatSigned(node.sum)} ÷ ((5 + ${n}) / 6)`, h("sup", {}, String(beam.alpha)),
      ` = ${formatSigned(node.sum)} ÷ ${by.toFixed(3)} = ${formatSigned(node.score)}`,
    ),
  ];
}

/** @param {Beam} beam */
function describeBeam(beam) {
  const kept = beam.nodes.filter(({ state }) => state === "kept").length;
  return `Beam of ${beam.size}: ${kept} hypotheses kept, ${beam.finished.length} finished.`;
}

/**
 * @param {App} app
 * @param {Trace} trace
 * @param {Beam} beam
 * @param {BeamNode} node
 */
function actions(app, trace, beam, node) {
  if (!app.source) return h("span", { class: "faint" }, "To look inside another hypothesis or to continue from one, open the model with regard explore.");
  const ids = tokenIds(beam, node);
  const ask = (/** @type {{ prefix?: number[], target?: number[] }} */ how) => () => retranslate(app, trace, how);
  const ended = node.text === "</s>";
  if (node === bestHypothesis(beam)) return h("span", { class: "faint" }, "This hypothesis is the translation that all pages show.");
  return [
    h("button", { type: "button", onclick: ask({ target: ids }) }, "Look inside this hypothesis"),
    !ended && h("button", { type: "button", onclick: ask({ prefix: ids }) }, "Continue from here"),
  ];
}
