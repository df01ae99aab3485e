// From a head that one looks at to the translation without it.

import { h } from "regard/dom.js";
import { effect } from "regard/signals.js";

/** @typedef {import("regard/app.js").App} App */

/**
 * @param {App} app
 * @returns {HTMLElement | null} null where no model can be asked
 */
export function switchOff(app) {
  const { at, whatIf } = app;
  if (!whatIf) return null;
  const name = () => `${at.kind.value} ${at.layer.value} ${at.head.value}`;
  const button = h("button", { type: "button", "data-key": "off", onclick: run });
  effect(() => {
    const off = whatIf.changes.value.heads.includes(name());
    button.hidden = !at.head.value;
    button.textContent = `Switch head ${at.layer.value}.${at.head.value} ${off ? "on again" : "off"}`;
  });
  function run() {
    if (!whatIf) return;
    const { heads } = whatIf.changes.peek();
    const off = heads.includes(name());
    whatIf.change({ heads: off ? heads.filter((each) => each !== name()) : [...heads, name()], mode: "zero" });
    whatIf.open.value = true;
    if (off && heads.length === 1) whatIf.clear();
    else whatIf.run();
  }
  return h("p", {}, button);
}
