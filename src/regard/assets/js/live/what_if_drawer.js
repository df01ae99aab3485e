// What-if drawer: changes to heads, sublayers, source tokens, positions and the translation.

import { radioGroup, setChildren, h, checkbox } from "regard/dom.js";
import { effect, scope } from "regard/signals.js";
import { tokenLabel } from "regard/trace.js";

/** @typedef {import("regard/app.js").App} App */
/** @typedef {import("regard/what_if.js").WhatIf} WhatIf */
/** @typedef {import("regard/types").Model} Model */

const KINDS = /** @type {const} */ ([["encoder", "encoder"], ["decoder", "decoder, masked"], ["cross", "cross"]]);
const SUBLAYERS = /** @type {const} */ ({
  encoder: [["self", "self-attention"], ["ffn", "feed-forward"]],
  decoder: [["self", "self-attention"], ["cross", "cross-attention"], ["ffn", "feed-forward"]],
});

/**
 * The button in the header and the drawer that it opens.
 * @param {App} app
 */
export function whatIfDrawer(app) {
  const { whatIf } = app;
  if (!whatIf) return { button: null, drawer: null };
  const button = h("button", { type: "button", "data-key": "w", "aria-expanded": "false", "aria-controls": "what-if", onclick: () => setOpen(!whatIf.open.peek()) }, "What if");
  const title = h("h2", { tabindex: -1 }, "What if …");
  const body = h("div", {});
  const drawer = h(
    "aside",
    { id: "what-if", "aria-label": "what if", onkeydown: (/** @type {KeyboardEvent} */ e) => onEscape(e) },
    h("div", { class: "bar" }, title, h("button", { type: "button", class: "quiet", onclick: () => setOpen(false) }, "Close")),
    body,
  );
  /** @param {boolean} open */
  function setOpen(open) {
    if (!whatIf) return;
    whatIf.open.value = open;
    drawer.hidden = !open;
    (open ? title : button).focus();
  }
  /** @param {KeyboardEvent} event */
  function onEscape(event) {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    setOpen(false);
  }
  effect(() => {
    drawer.hidden = !whatIf.open.value;
    button.setAttribute("aria-expanded", String(whatIf.open.value));
  });
  let shape = "";
  let disposeForm = () => {};
  effect(() => {
    const model = app.traceA.value?.model;
    const now = model ? [model.encoder_layers, model.decoder_layers, model.heads].join() : "";
    if (now === shape) return;
    shape = now;
    disposeForm();
    const [content, end] = scope(() => (model ? form(app, whatIf, model) : h("p", { class: "faint" }, "Translate a sentence first.")));
    disposeForm = end; // the form outlives this effect: a new sentence keeps it
    setChildren(body, content);
  });
  return { button, drawer };
}

/** @param {App} app @param {WhatIf} whatIf @param {Model} model */
function form(app, whatIf, model) {
  const run = h("button", { class: "main" });
  const problem = h("p", { class: "problem", role: "alert" });
  effect(() => {
    run.textContent = whatIf.running.value ? "Running …" : "Run";
    problem.textContent = whatIf.problem.value;
    problem.hidden = !whatIf.problem.value;
  });
  return h(
    "form",
    { onsubmit: (/** @type {Event} */ e) => { e.preventDefault(); whatIf.run(); } },
    h("div", { class: "bar run" }, run, h("button", { type: "button", onclick: () => whatIf.clear() }, "Clear")),
    problem,
    headFields(whatIf, model),
    sublayerFields(whatIf, model),
    sourceTokenFields(app, whatIf),
    translationFields(app, whatIf),
  );
}

/** @param {WhatIf} whatIf @param {Model} model */
function headFields(whatIf, model) {
  const mode = radioGroup(
    "what becomes of the heads",
    /** @type {["zero" | "uniform", string][]} */ ([["zero", "remove"], ["uniform", "make uniform"]]),
    () => whatIf.changes.value.mode,
    (value) => whatIf.change({ mode: value }),
  );
  effect(() => mode.refresh());
  const layers = (/** @type {string} */ kind) => (kind === "encoder" ? model.encoder_layers : model.decoder_layers);
  return h(
    "fieldset",
    {},
    h("legend", {}, "Heads"),
    mode,
    h("div", { class: "kinds" }, KINDS.map(([kind, name]) => headCheckboxes(whatIf, kind, name, layers(kind), model.heads))),
  );
}

/**
 * A checkbox per head of one kind: one tab stop, arrow keys move between boxes.
 * @param {WhatIf} whatIf
 * @param {string} kind
 * @param {string} name
 * @param {number} layers
 * @param {number} heads
 */
function headCheckboxes(whatIf, kind, name, layers, heads) {
  /** @type {HTMLInputElement[]} */
  const all = [];
  for (let layer = 1; layer <= layers; layer++) {
    for (let head = 1; head <= heads; head++) {
      const box = /** @type {HTMLInputElement} */ (h("input", {
        type: "checkbox",
        "data-head": `${kind} ${layer} ${head}`,
        "aria-label": `${name}, layer ${layer}, head ${head}`,
        title: `${name}, layer ${layer}, head ${head}`,
        tabindex: all.length ? -1 : 0,
        onchange: () => whatIf.change({ heads: toggle(whatIf.changes.peek().heads, `${kind} ${layer} ${head}`, box.checked) }),
        onfocus: () => all.forEach((each) => (each.tabIndex = each === box ? 0 : -1)),
      }));
      all.push(box);
    }
  }
  effect(() => {
    const { heads } = whatIf.changes.value;
    for (const box of all) box.checked = heads.includes(box.dataset.head ?? "");
  });
  /** @param {KeyboardEvent} event */
  function move(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -heads, ArrowDown: heads }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    all[all.indexOf(/** @type {HTMLInputElement} */ (event.target)) + by]?.focus();
  }
  const number = (/** @type {string} */ text) => h("span", { class: "faint", "aria-hidden": "true" }, text);
  const rows = Array.from({ length: layers }, (_, l) => [number(`L${l + 1}`), ...all.slice(l * heads, (l + 1) * heads).map((box) => h("label", {}, box))]);
  return h(
    "div",
    { class: `boxes ${kind}`, role: "group", "aria-label": `${name} heads; arrow keys move`, style: { "--columns": heads }, onkeydown: move },
    h("span", { class: "kind" }, name),
    number(""),
    Array.from({ length: heads }, (_, i) => number(String(i + 1))),
    rows.flat(),
  );
}

/**
 * @template T
 * @param {T[]} list
 * @param {T} item
 * @param {boolean} on
 * @returns {T[]}
 */
const toggle = (list, item, on) => (on ? [...list, item] : list.filter((each) => each !== item));

/** @param {WhatIf} whatIf @param {Model} model */
function sublayerFields(whatIf, model) {
  const rows = /** @type {const} */ (["encoder", "decoder"]).flatMap((stack) =>
    SUBLAYERS[stack].map(([sublayer, name]) =>
      h(
        "div",
        { class: "skips", role: "group", "aria-label": `${stack}, ${name}` },
        h("span", {}, `${stack} ${name}`),
        Array.from({ length: model[`${stack}_layers`] }, (_, l) => {
          const place = `${stack} ${l + 1} ${sublayer}`;
          const label = checkbox(`${l + 1}`, false, (on) => whatIf.change({ skipped: toggle(whatIf.changes.peek().skipped, place, on) }));
          const box = /** @type {HTMLInputElement} */ (label.firstElementChild);
          box.setAttribute("aria-label", `skip ${stack} ${name}, layer ${l + 1}`);
          effect(() => void (box.checked = whatIf.changes.value.skipped.includes(place)));
          return label;
        }),
      ),
    ),
  );
  const positions = checkbox("remove the positions", false, (on) => whatIf.change({ positions: on }));
  effect(() => void (/** @type {HTMLInputElement} */ (positions.firstElementChild).checked = whatIf.changes.value.positions));
  return h("fieldset", {}, h("legend", {}, "Skip, by layer"), rows, positions);
}

/** @param {App} app @param {WhatIf} whatIf */
function sourceTokenFields(app, whatIf) {
  const chips = h("div", { class: "tokens", role: "group", "aria-label": "source tokens to hide" });
  effect(() => {
    const { hidden } = whatIf.changes.value;
    const focused = /** @type {HTMLElement | null} */ (chips.contains(document.activeElement) ? document.activeElement : null);
    const again = focused?.dataset.hide;
    setChildren(chips, (app.traceA.value?.source.tokens ?? []).map((token, i) =>
      h(
        "button",
        {
          type: "button",
          class: `token${token.special ? " mark" : ""}`,
          dir: "auto",
          "data-hide": i,
          "aria-pressed": String(hidden.includes(i)),
          onclick: () => whatIf.change({ hidden: toggle(hidden, i, !hidden.includes(i)) }),
        },
        tokenLabel(token),
        hidden.includes(i) ? " ×" : "",
      )));
    if (again) /** @type {HTMLElement | null} */ (chips.querySelector(`[data-hide="${again}"]`))?.focus();
  });
  return h("fieldset", {}, h("legend", {}, "Hide source words"), chips);
}

/** @param {App} app @param {WhatIf} whatIf */
function translationFields(app, whatIf) {
  const field = (/** @type {string} */ label, /** @type {"prefix" | "target"} */ name) => {
    const input = /** @type {HTMLInputElement} */ (h("input", { type: "text", dir: "auto", name, oninput: () => whatIf.change({ [name]: input.value }) }));
    effect(() => {
      const value = whatIf.changes.value[name];
      if (input.value !== value) input.value = value;
      input.disabled = name === "prefix" && Boolean(whatIf.changes.value.target.trim());
    });
    return h("label", { class: "field" }, h("span", {}, label), input);
  };
  return h(
    "fieldset",
    {},
    h("legend", {}, "The translation"),
    field("starts with", "prefix"),
    field("is, as a whole", "target"),
    h("button", { type: "button", class: "quiet", onclick: () => whatIf.change({ target: app.traceA.peek()?.target.text ?? "" }) }, "the words of A"),
  );
}
