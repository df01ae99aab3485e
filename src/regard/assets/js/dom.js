// Elements from plain values. Text becomes text nodes, never markup.

import { effect } from "regard/signals.js";

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * An element; `on…` attributes are listeners, `class`, `style` (an object of CSS variables and properties) and
 * `dataset` are what they are called, true and false set and leave out.
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  dress(element, attributes);
  element.append(...nodes(children));
  return element;
}

/**
 * The same for SVG.
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {SVGElement}
 */
export function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  dress(element, attributes);
  element.append(...nodes(children));
  return element;
}

const REACHED = "button, input, select, textarea, a[href], [tabindex]";

/**
 * Another content for an element; who had the focus inside keeps it, in the same place.
 * @param {Element} element
 * @param {...(Child | Child[])} children
 */
export function fill(element, ...children) {
  const inside = element.contains(document.activeElement);
  const place = inside ? [...element.querySelectorAll(REACHED)].indexOf(/** @type {Element} */ (document.activeElement)) : -1;
  element.replaceChildren(...nodes(children));
  if (place >= 0) /** @type {HTMLElement | undefined} */ (element.querySelectorAll(REACHED)[place])?.focus({ preventScroll: true });
}

/**
 * @param {Element} element
 * @param {Record<string, any>} attributes
 */
function dress(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") styled(/** @type {HTMLElement} */ (element), value);
    else if (name === "value" || name === "checked" || name === "disabled")
      /** @type {any} */ (element)[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

/**
 * Through the object model, which a strict Content-Security-Policy allows; a style attribute it does not.
 * @param {HTMLElement} element
 * @param {Record<string, string | number>} properties
 */
function styled(element, properties) {
  for (const [name, value] of Object.entries(properties)) element.style.setProperty(name, String(value));
}

/**
 * @param {(Child | Child[])[]} children
 * @returns {(Node | string)[]}
 */
function nodes(children) {
  return children
    .flat()
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : String(child)));
}

/**
 * Radio buttons side by side, one of which is pressed.
 * @template T
 * @param {string} name said to those who hear the page
 * @param {[T, string][]} choices
 * @param {() => T} current
 * @param {(value: T) => void} choose
 * @returns {HTMLElement & { refresh: () => void }}
 */
export function choices(name, choices, current, choose) {
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
 * A box that is ticked or not, with its name.
 * @param {string} label
 * @param {boolean} checked
 * @param {(checked: boolean) => void} change
 */
export function tick(label, checked, change) {
  const box = h("input", {
    type: "checkbox",
    checked,
    onchange: () => change(/** @type {HTMLInputElement} */ (box).checked),
  });
  return h("label", { class: "tick" }, box, label);
}

/**
 * A list to choose from, with its name.
 * @param {string} label
 * @param {[string, string][]} options value and text
 * @param {string} value
 * @param {(value: string) => void} change
 */
export function pick(label, options, value, change) {
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
 * The box, list or slider inside an element shows a value as it changes; it is never made anew, so it keeps the focus.
 * @param {HTMLElement} element
 * @param {() => boolean | number | string} value
 * @returns {HTMLElement} the element itself
 */
export function follow(element, value) {
  const input = /** @type {HTMLInputElement} */ (element.querySelector("input, select"));
  effect(() => {
    const now = value();
    if (typeof now === "boolean") input.checked = now;
    else if (input.value !== String(now)) input.value = String(now);
  });
  return element;
}

/**
 * Scrolls a box so far that a place in it is in sight, with what stands before it.
 * @param {HTMLElement} box
 * @param {[number, number]} place from the left and from the top
 * @param {[number, number]} size
 * @param {[number, number]} before how much before it is seen with it
 */
export function reveal(box, place, size, before) {
  const into = (/** @type {0 | 1} */ axis, /** @type {number} */ scrolled, /** @type {number} */ room) => {
    const [start, end] = [place[axis] - before[axis], place[axis] + size[axis] + 12];
    return start < scrolled ? start : end > scrolled + room ? end - room : scrolled;
  };
  [box.scrollLeft, box.scrollTop] = [into(0, box.scrollLeft, box.clientWidth), into(1, box.scrollTop, box.clientHeight)];
}
