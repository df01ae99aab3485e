// Model figure as in the paper, with the numbers of this sentence beside every block; blocks can be selected.

import { blockName, vectorLengths, blockShape } from "regard/blocks.js";
import { s } from "regard/dom.js";
import { clipText } from "regard/draw/matrix_image.js";
import { layoutStack } from "regard/draw/stack_layout.js";
import { formatNumber, formatCount } from "regard/format.js";
import { changeColour, cssColour } from "regard/theme.js";

/** @typedef {import("regard/types").Block} Block */
/** @typedef {import("regard/types").Model} Model */
/** @typedef {import("regard/types").Trace} Trace */
/** @typedef {import("regard/theme.js").Theme} Theme */
/** @typedef {import("regard/draw/stack_layout.js").StackColumn} StackColumn */
/** @typedef {"encoder" | "decoder"} Stack */
/**
 * @typedef {object} StackViewOptions
 * @property {Model} model
 * @property {Block[]} blocks
 * @property {Trace | null} trace
 * @property {Trace | null} before the trace to subtract
 * @property {boolean} narrow whether the decoder stands above the encoder, not beside it
 * @property {string} token of the view state: s3, 2, or empty
 * @property {string} chosen the block's id
 * @property {(id: string) => void} choose
 * @property {Theme} theme
 */

const WIDE = 220;
const BARS = 110;
const LEFT = BARS + 30;
const BUS = 90;
const RIGHT = LEFT + WIDE + BUS;
const FOOT = 34;

/**
 * Position of a stack and its numbers; `down` converts heights, which grow upwards, to y of the picture.
 * @typedef {{ x: number, wide: number, bars: number, numbersLeft: boolean, down: (y: number) => number }} StackPlacement
 */
/** @typedef {{ width: number, height: number, bus: number, encoder: StackPlacement, decoder: StackPlacement }} FigureLayout */

/** Encoder and decoder side by side as in the paper, or one above the other in a narrow window. @param {boolean} narrow @param {number} encoder @param {number} decoder heights @returns {FigureLayout} */
function layoutFigure(narrow, encoder, decoder) {
  const high = narrow ? encoder + FOOT + decoder : Math.max(encoder, decoder);
  const size = { height: high + FOOT };
  if (!narrow) {
    const down = (/** @type {number} */ y) => high - y;
    const spot = { wide: WIDE, down };
    return { ...size, width: RIGHT + WIDE + BARS + 30, bus: LEFT + WIDE + BUS / 2, encoder: { ...spot, x: LEFT, bars: 20, numbersLeft: true }, decoder: { ...spot, x: RIGHT, bars: RIGHT + WIDE + 22, numbersLeft: false } };
  }
  const spot = { x: BARS + 14, wide: 200, bars: 0, numbersLeft: true };
  return { ...size, width: spot.x + spot.wide + 34, bus: spot.x + spot.wide + 26, encoder: { ...spot, down: (y) => high - y }, decoder: { ...spot, down: (y) => decoder - y } };
}

/** @param {StackViewOptions} options @returns {SVGElement} */
export function stackView(options) {
  const { blocks, model, theme } = options;
  const order = (/** @type {Stack} */ name) => {
    const own = blocks.filter((block) => block.stack === name);
    const rank = (/** @type {Block} */ block) => (block.kind === "embedding" ? 0 : block.layer !== null ? 1 : block.kind === "norm" ? 2 : 3);
    return own.map((block, i) => ({ block, i })).sort((a, b) => rank(a.block) - rank(b.block) || a.i - b.i).map(({ block }) => block);
  };
  const [encoder, decoder] = [layoutStack(order("encoder"), model.norm), layoutStack(order("decoder"), model.norm)];
  const layout = layoutFigure(options.narrow, encoder.top, decoder.top);
  const words = (/** @type {StackPlacement} */ { x, wide, down }, /** @type {string} */ text) => s("text", { x: x + wide / 2, y: down(0) + 26, "text-anchor": "middle", fill: theme.faint }, text);
  return s("svg", { viewBox: `0 0 ${layout.width} ${layout.height}`, width: layout.width, height: layout.height, role: "group", "aria-label": "the model, drawn", "font-family": "system-ui, sans-serif", "font-size": 12 },
    drawMemory(options, encoder, decoder, layout),
    drawStack(options, "encoder", encoder, layout.encoder),
    drawStack(options, "decoder", decoder, layout.decoder),
    words(layout.encoder, "source words"),
    words(layout.decoder, "target words so far"));
}

/** @param {string} token @param {Stack} stack */
const isOnPath = (token, stack) => token !== "" && token.startsWith("s") === (stack === "encoder");

/** The encoder's output goes to every decoder layer. @param {StackViewOptions} options @param {StackColumn} encoder @param {StackColumn} decoder @param {FigureLayout} layout */
function drawMemory({ token, theme, narrow }, encoder, decoder, layout) {
  const crosses = decoder.items.filter((item) => item.block.kind === "cross" && item.part === "block");
  const on = token !== "";
  const paint = { stroke: on ? theme.accent : theme.cross, "stroke-width": on ? 3 : 1.5, fill: "none" };
  const { bus } = layout;
  const [x, top] = [layout.encoder.x + layout.encoder.wide / 2, layout.encoder.down(encoder.top - 6)];
  const heights = [top, ...crosses.map(({ y, height }) => layout.decoder.down(y + height / 2))];
  const [tip, back] = narrow ? [layout.decoder.x + layout.decoder.wide + 2, 7] : [layout.decoder.x - 2, -7];
  return s("g", { "data-memory": crosses.length },
    s("path", { d: `M${x} ${top}H${bus}M${bus} ${Math.min(...heights)}V${Math.max(...heights)}`, ...paint }),
    heights.slice(1).map((y) => s("path", { "data-arrow": "", d: `M${bus} ${y}H${tip}M${tip + back} ${y - 5}L${tip} ${y}L${tip + back} ${y + 5}`, ...paint })));
}

/** @param {StackViewOptions} options @param {Stack} name @param {StackColumn} column @param {StackPlacement} spot */
function drawStack(options, name, column, { x, wide, bars: beside, numbersLeft, down }) {
  const { theme, token, trace, chosen } = options;
  const on = isOnPath(token, name);
  const line = { stroke: on ? theme.accent : theme.faint, "stroke-width": on ? 3.5 : 1.2, fill: "none" };
  const middle = x + wide / 2;
  const label = numbersLeft ? x - 20 : x + wide + 20;
  const one = on ? Number(token.replace("s", "")) : null;
  const most = Math.max(1e-9, ...options.blocks.map((block) => block.stack === name && measuredLengths(options, block, one)).flatMap((found) => (found ? [found.input, found.update].map(Math.abs) : [])));
  return s("g", {},
    s("path", { d: `M${middle} ${down(-14)}V${down(column.top - 6)}`, ...line, "data-path": on ? name : null }),
    column.frames.map(({ layer, y, height }) => s("g", {},
      s("rect", { x: x - 14, y: down(y + height), width: wide + 28, height, rx: 8, fill: "none", stroke: theme.line }),
      s("text", { x: label, y: down(y + height) + 12, "text-anchor": numbersLeft ? "end" : "start", fill: theme[name], "font-weight": 600 }, `layer ${layer}`),
      drawGuess(options, name, layer, numbersLeft ? beside : label, down(y + height) + 27))),
    column.residuals.map(({ from, to }) => s("path", { d: `M${middle} ${down(from)}H${x - 7}V${down(to)}H${x + 30}`, ...line, "stroke-width": on ? 2.5 : 1 })),
    column.items.map((item) => item.part === "block" ? drawBlock(options, item.block, x, wide, down(item.y + item.height), item.height, chosen === item.block.id)
      : s("g", {}, s("rect", { x: x + 30, y: down(item.y + item.height), width: wide - 60, height: item.height, rx: 4, fill: theme.paper, stroke: theme.line }),
          s("text", { x: middle, y: down(item.y + item.height / 2) + 4, "text-anchor": "middle", "font-size": 11, fill: theme.faint }, item.part))),
    trace && column.items.filter((item) => item.part === "block").map((item) => drawLengthBars(options, name, item, beside, down(item.y + item.height), most, one)).flat());
}

/** Logit lens of a decoder layer for the selected token. @param {StackViewOptions} options @param {Stack} name @param {number} layer @param {number} x @param {number} y */
function drawGuess({ trace, token, theme }, name, layer, x, y) {
  const prediction = name === "decoder" && isOnPath(token, name) ? trace?.logit_lens[layer - 1]?.[Number(token)] : null;
  return prediction ? s("text", { x, y, "font-size": 11, fill: theme.ink }, `predicts ${clipText(prediction.text.trim() || "␣", 12)} ${formatNumber(prediction.prob)}`) : null;
}

/** @param {StackViewOptions} options @param {Block} block @param {number} x @param {number} wide @param {number} y @param {number} height @param {boolean} chosen */
function drawBlock({ model, theme, choose }, block, x, wide, y, height, chosen) {
  const tone = block.kind === "cross" ? theme.cross : block.stack === "encoder" ? theme.encoder : theme.decoder;
  const size = block.parameters ? formatCount(block.parameters) : "shared";
  const name = blockName(block);
  const press = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    choose(block.id);
  };
  return s("g", { role: "button", tabindex: 0, class: "block", "data-block": block.id, "aria-pressed": String(chosen), "aria-label": `${block.stack} ${block.layer ? `layer ${block.layer} ` : ""}${name}, ${blockShape(block, model)}, ${size} parameters`, onclick: () => choose(block.id), onkeydown: press },
    s("rect", { x, y, width: wide, height, rx: 6, fill: theme.paper, stroke: chosen ? theme.accent : tone, "stroke-width": chosen ? 3 : 1.5 }),
    s("rect", { x, y, width: 6, height, rx: 3, fill: tone }),
    s("text", { x: x + 14, y: y + 16, fill: theme.ink, "font-weight": 600 }, name),
    s("text", { x: x + 14, y: y + 31, fill: theme.faint, "font-size": 11 }, blockShape(block, model)),
    s("text", { x: x + wide - 8, y: y + 31, "text-anchor": "end", fill: theme.faint, "font-size": 11 }, size));
}

/** @param {StackViewOptions} options @param {Block} block @param {number | null} one @returns the lengths, or their difference to `before` */
function measuredLengths({ trace, before }, block, one) {
  const now = trace && vectorLengths(trace, block, one);
  if (!now || !before) return now;
  const then = vectorLengths(before, block, one);
  return then && { input: now.input - then.input, update: now.update - then.update };
}

/** Bars for the lengths of input and update. @param {StackViewOptions} options @param {Stack} name @param {import("regard/draw/stack_layout.js").Item} item @param {number} x @param {number} y @param {number} most @param {number | null} one */
function drawLengthBars(options, name, { block }, x, y, most, one) {
  const { theme, before } = options;
  const lengths = measuredLengths(options, block, one);
  if (!lengths || Number.isNaN(lengths.update)) return [];
  const rows = /** @type {[number, string, string][]} */ (block.kind === "embedding" ? [[lengths.update, theme[name], "update"]] : [[lengths.input, theme.faint, "input"], [lengths.update, block.kind === "cross" ? theme.cross : theme[name], "update"]]);
  const text = (/** @type {number} */ value, /** @type {number} */ digits) => (before && value > 0 ? "+" : "") + formatNumber(value, digits);
  return rows.map(([value, fill, what], i) => s("g", { "data-bar": `${block.id} ${what}` },
    s("title", {}, `${what}: ${text(value, 2)}`),
    s("rect", { x, y: y + 6 + 15 * i, width: Math.max(1, ((BARS - 48) * Math.abs(value)) / most), height: 9, rx: 2, fill: before ? cssColour(changeColour(theme, Math.sign(value) * 0.7)) : fill }),
    s("text", { x: x + BARS - 44 + 2, y: y + 14 + 15 * i, fill: theme.ink, "font-size": 11 }, text(value, before ? 2 : 1))));
}
