// The beam that the mouse, the keyboard and the ear can walk through, and what can be done with a hypothesis.

import { again } from "regard/app.js";
import { fill, h, s, tick } from "regard/dom.js";
import { COLUMN, layers, nodeAt, paintBeam, paintPlace } from "regard/draw/beam_tree.js";
import { liveSurface } from "regard/draw/svg_element.js";
import { svgSurface } from "regard/draw/surface.js";
import { idsOf, path, penalty, probability, signed, winner, written } from "regard/hypothesis.js";
import { computed, effect, signal } from "regard/signals.js";
import { theme } from "regard/theme.js";
import { quoted } from "regard/units.js";
import { takeAway } from "regard/parts/downloads.js";

/** @typedef {import("regard/app.js").App} App */
/** @typedef {import("regard/types").Beam} Beam */
/** @typedef {import("regard/types").Trace} Trace */
/** @typedef {import("regard/types").Node} BeamNode */

/**
 * @param {App} app
 * @returns {HTMLElement}
 */
export function beamView(app) {
  const { at } = app;
  const hovered = signal(/** @type {BeamNode | null} */ (null));
  const drawn = computed(() => {
    const trace = app.trace.value;
    if (!trace?.beam) return null;
    const { greedy } = trace.beam;
    const tail = greedy.tokens.map((id) => written(trace, [id]) || (trace.pieces[id] ?? ""));
    return layers(trace.beam, Boolean(at.pruned.value), tail);
  });
  /** The hypothesis that is locked, or else the winner. */
  const chosen = computed(() => {
    const beam = app.trace.value?.beam;
    return beam ? (beam.nodes[at.node.value - 1] ?? winner(beam)) : null;
  });
  const looked = computed(() => {
    const node = hovered.value;
    return node && app.trace.value?.beam?.nodes[node.id] === node ? node : chosen.value;
  });
  const behind = s("svg", { "aria-hidden": "true" });
  const svg = s("svg", { "aria-hidden": "true" });
  const box = h("div", {
    class: "beam", tabindex: 0, role: "application", "aria-roledescription": "beam",
    onpointermove: (/** @type {PointerEvent} */ e) => (hovered.value = under(e)),
    onpointerleave: () => (hovered.value = null),
    onclick: (/** @type {PointerEvent} */ e) => lock(under(e)),
    onkeydown: key,
    onblur: () => (hovered.value = null),
  }, behind, svg);
  const told = h("div", { class: "hypothesis", role: "status" });
  const acts = h("p", { class: "bar" });
  const controls = h("span", { class: "bar" });
  const take = takeAway({ name: () => "beam", table, svg: exported });

  effect(() => {
    const now = drawn.value;
    if (now) paintBeam(liveSurface(svg, now.width, now.height), now, theme.value);
  });
  effect(() => {
    const now = drawn.value;
    if (now) paintPlace(liveSurface(behind, now.width, now.height), now, { step: at.step.value, chosen: looked.value?.id ?? null }, theme.value);
  });
  effect(() => {
    const trace = app.trace.value;
    if (!trace?.beam || !looked.value) return;
    fill(told, facts(trace, trace.beam, looked.value));
    box.setAttribute("aria-label", `${summary(trace.beam)} Arrow keys go from hypothesis to hypothesis, Enter locks one.`);
  });
  effect(() => {
    fill(controls, tick("show pruned", Boolean(at.pruned.value), (on) => (at.pruned.value = on ? "1" : "")), legend());
    take.refresh();
    drawn.value;
  });
  const room = signal(0);
  new ResizeObserver(() => (room.value = box.clientWidth)).observe(box);
  effect(() => room.value && box.scrollTo({ left: middle(at.step.value) }));
  effect(() => {
    const trace = app.trace.value;
    const node = chosen.value;
    if (trace?.beam && node) fill(acts, actions(app, trace, trace.beam, node));
  });

  /** @param {PointerEvent} event */
  function under(event) {
    const frame = svg.getBoundingClientRect();
    return drawn.value && nodeAt(drawn.value, event.clientX - frame.left, event.clientY - frame.top);
  }

  /** @param {BeamNode | null} node */
  function lock(node) {
    at.node.value = node ? node.id + 1 : 0;
    if (node) at.step.value = Math.min(node.t, (app.trace.value?.target.tokens.length ?? 1) - 1);
  }

  /** @param {KeyboardEvent} event */
  function key(event) {
    const now = drawn.value;
    const from = looked.value;
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

  /** @param {number} step where its column lies in the middle */
  function middle(step) {
    return COLUMN * (step + 0.5) - box.clientWidth / 2;
  }

  function table() {
    const trace = app.trace.value;
    const shown = drawn.value?.columns.flat().map(({ node }) => node) ?? [];
    const columns = ["text", "state", "log p", "sum of log p", "length", "score", "continues"];
    return {
      rows: shown.map(({ t, rank, id }) => `${id}: step ${t + 1}, rank ${rank + 1}`),
      columns,
      values: (/** @type {number} */ r, /** @type {number} */ c) => {
        const node = shown[r];
        const beam = /** @type {Beam} */ (trace?.beam);
        const text = written(/** @type {Trace} */ (trace), path(beam, node).map(({ token }) => token));
        return [text, node.state, node.logprob.toFixed(4), node.sum.toFixed(4), String(node.t + 1), node.score.toFixed(4), node.parent === null ? "" : String(node.parent)][c];
      },
    };
  }

  function exported() {
    const now = drawn.value;
    if (!now) return "";
    const surface = svgSurface(now.width, now.height, theme.value.paper);
    paintPlace(surface, now, { step: at.step.value, chosen: chosen.value?.id ?? null }, theme.value);
    paintBeam(surface, now, theme.value);
    return surface.toString();
  }

  return h("div", { class: "beam-view" }, controls, box, told, acts, take);
}

/** What the signs mean. */
const legend = () =>
  h("span", { class: "faint" }, "● kept  ○ pruned  ■ finished  □ greedy · thicker = likelier · number = Σ log p · blue and bold = the translation");

/**
 * @param {import("regard/draw/beam_tree.js").Layers} drawn
 * @param {BeamNode} from
 * @param {string} key
 * @returns {BeamNode | null}
 */
function neighbour({ columns, spots }, from, key) {
  const column = columns[from.t].map(({ node }) => node);
  const here = column.findIndex(({ id }) => id === from.id);
  switch (key) {
    case "ArrowUp":
      return column[here - 1] ?? null;
    case "ArrowDown":
      return column[here + 1] ?? null;
    case "ArrowLeft":
      return from.parent === null ? null : (spots.get(from.parent)?.node ?? null);
    case "ArrowRight":
      return columns[from.t + 1]?.find(({ node }) => node.parent === from.id)?.node ?? null;
    default:
      return null;
  }
}

/**
 * The text of a hypothesis and how its score comes about.
 * @param {Trace} trace
 * @param {Beam} beam
 * @param {BeamNode} node
 */
function facts(trace, beam, node) {
  const n = node.t + 1;
  const by = penalty(n, beam.alpha);
  const text = written(trace, path(beam, node).map(({ token }) => token));
  return [
    h("p", {}, h("strong", { dir: "auto", lang: trace.model.target_lang }, text || "(nothing yet)"), ` — ${node.state}, rank ${node.rank + 1} in step ${n}`),
    h(
      "p",
      { class: "facts" },
      `log p of ${quoted(node.text)} ${signed(node.logprob)} (probability ${probability(node.logprob)}) · Σ log p ${signed(node.sum)} · length ${n} · score `,
      h("strong", {}, signed(node.score)),
    ),
    h(
      "p",
      { class: "score" },
      "score = Σ log p ÷ ((5 + n) / 6)", h("sup", {}, "α"), ` = ${signed(node.sum)} ÷ ((5 + ${n}) / 6)`, h("sup", {}, String(beam.alpha)),
      ` = ${signed(node.sum)} ÷ ${by.toFixed(3)} = ${signed(node.score)}`,
    ),
  ];
}

/** @param {Beam} beam */
function summary(beam) {
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
  if (!app.source) return h("span", { class: "faint" }, "To look inside another hypothesis or to go on from one, open the model with regard explore.");
  const ids = idsOf(beam, node);
  const ask = (/** @type {{ prefix?: number[], target?: number[] }} */ how) => () => again(app, trace, how);
  const ended = node.text === "</s>";
  if (node === winner(beam)) return h("span", { class: "faint" }, "This one is the translation, which every page looks into.");
  return [
    h("button", { type: "button", onclick: ask({ target: ids }) }, "Look inside this hypothesis"),
    !ended && h("button", { type: "button", onclick: ask({ prefix: ids }) }, "Continue from here"),
  ];
}
