// API key: asked for where the server needs one, kept until the browser tab is closed.

import { h } from "regard/dom.js";
import { effect } from "regard/signals.js";
import { readKey, storeKey } from "regard/translator/api.js";

/**
 * @param {() => { isNeeded: boolean, message: string }} readNeed reads signals
 * @param {() => void} use is called with another key
 */
export function keyForm(readNeed, use) {
  const field = /** @type {HTMLInputElement} */ (
    h("input", { id: "key", type: "password", autocomplete: "off", value: readKey(), "aria-describedby": "key-message" })
  );
  const message = h("p", { id: "key-message", role: "status" });
  const form = h(
    "form",
    {
      class: "panel key",
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        storeKey(field.value.trim());
        use();
      },
    },
    h("label", { for: "key" }, "API key of this server"),
    field,
    h("button", { class: "main" }, "Use this key"),
    message,
  );
  effect(() => {
    const need = readNeed();
    form.hidden = !need.isNeeded;
    message.textContent = need.message;
  });
  return form;
}
