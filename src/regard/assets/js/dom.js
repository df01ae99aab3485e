// Helpers that create DOM elements. Text becomes text nodes, never markup.

import { effect } from "regard/signals.js";

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * Create an element; `on…` attributes are listeners, `style` is an object of CSS variables and properties;
 * true sets an attribute, false leaves it out.
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  setAttributes(element, attributes);
  element.append(...toNodes(children));
  return element;
}

/**
 * Create an SVG element.
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {SVGElement}
 */
export function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  setAttributes(element, attributes);
  element.append(...toNodes(children));
  return element;
}

const FOCUSABLE = "button, input, select, textarea, a[href], [tabindex]";

/**
 * Replace the content of an element; the focus inside stays at the same position.
 * @param {Element} element
 * @param {...(Child | Child[])} children
 */
export function setChildren(element, ...children) {
  const hasFocus = element.contains(document.activeElement);
  const index = hasFocus ? [...element.querySelectorAll(FOCUSABLE)].indexOf(/** @type {Element} */ (document.activeElement)) : -1;
  element.replaceChildren(...toNodes(children));
  if (index >= 0) /** @type {HTMLElement | undefined} */ (element.querySelectorAll(FOCUSABLE)[index])?.focus({ preventScroll: true });
}

/**
 * @param {Element} element
 * @param {Record<string, any>} attributes
 */
function setAttributes(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") setStyle(/** @type {HTMLElement} */ (element), value);
    else if (name === "value" || name === "checked" || name === "disabled")
      /** @type {any} */ (element)[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

/**
 * Set styles through the object model: a strict Content-Security-Policy forbids style attributes.
 * @param {HTMLElement} element
 * @param {Record<string, string | number>} properties
 */
function setStyle(element, properties) {
  for (const [name, value] of Object.entries(properties)) element.style.setProperty(name, String(value));
}

/**
 * @param {(Child | Child[])[]} children
 * @returns {(Node | string)[]}
 */
function toNodes(children) {
  return children
    .flat()
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : String(child)));
}

/**
 * A row of buttons as a radio group.
 * @template T
 * @param {string} name for screen readers
 * @param {[T, string][]} choices
 * @param {() => T} current
 * @param {(value: T) => void} choose
 * @returns {HTMLElement & { refresh: () => void }}
 */
export function radioGroup(name, choices, current, choose) {
  const buttons = choices.map(([value, label]) =>
    h("button", { type: "button", role: "radio", onclick: () => choose(value) }, label),
  );
  const group = h(
    "div",
    { class: "choices", role: "radiogroup", "aria-label": name, onkeydown: (/** @type {KeyboardEvent} */ e) => move(e) },
    buttons,
  );
  /** @param {KeyboardEvent} event */
  function move(event) {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    const at = choices.findIndex(([value]) => value === current());
    const next = (at + by + choices.length) % choices.length;
    choose(choices[next][0]);
    buttons[next].focus();
  }
  const refresh = () =>
    choices.forEach(([value], place) => {
      const chosen = value === current();
      buttons[place].setAttribute("aria-checked", String(chosen));
      buttons[place].tabIndex = chosen ? 0 : -1;
    });
  refresh();
  return Object.assign(group, { refresh });
}

/**
 * A checkbox with its label.
 * @param {string} label
 * @param {boolean} checked
 * @param {(checked: boolean) => void} change
 */
export function checkbox(label, checked, change) {
  const box = h("input", {
    type: "checkbox",
    checked,
    onchange: () => change(/** @type {HTMLInputElement} */ (box).checked),
  });
  return h("label", { class: "tick" }, box, label);
}

/**
 * A select element with its label.
 * @param {string} label
 * @param {[string, string][]} options value and label
 * @param {string} value
 * @param {(value: string) => void} change
 */
export function dropdown(label, options, value, change) {
  const list = /** @type {HTMLSelectElement} */ (
    h(
      "select",
      { onchange: () => change(list.value) },
      options.map(([each, text]) => h("option", { value: each }, text)),
    )
  );
  list.value = value;
  return h("label", { class: "pick" }, h("span", {}, label), list);
}

/**
 * Bind the input inside an element to a value. The input is never replaced, so it keeps the focus.
 * @param {HTMLElement} element
 * @param {() => boolean | number | string} value
 * @returns {HTMLElement} the element itself
 */
export function bindInput(element, value) {
  const input = /** @type {HTMLInputElement} */ (element.querySelector("input, select"));
  effect(() => {
    const now = value();
    if (typeof now === "boolean") input.checked = now;
    else if (input.value !== String(now)) input.value = String(now);
  });
  return element;
}

/**
 * Scroll a box until a place in it is visible, with its labels.
 * @param {HTMLElement} box
 * @param {[number, number]} place left and top
 * @param {[number, number]} size
 * @param {[number, number]} before width and height of the labels that stay visible
 */
export function scrollBoxTo(box, place, size, before) {
  const into = (/** @type {0 | 1} */ axis, /** @type {number} */ scrolled, /** @type {number} */ room) => {
    const [start, end] = [place[axis] - before[axis], place[axis] + size[axis] + 12];
    return start < scrolled ? start : end > scrolled + room ? end - room : scrolled;
  };
  [box.scrollLeft, box.scrollTop] = [into(0, box.scrollLeft, box.clientWidth), into(1, box.scrollTop, box.clientHeight)];
}
