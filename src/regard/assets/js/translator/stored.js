// Preferences that stay in this browser: languages, glossary, colours.

import { effect, signal } from "regard/signals.js";

/** @template T @typedef {import("regard/signals.js").Signal<T>} Signal */

/**
 * Return a signal that is kept in localStorage; what is there and is not valid is ignored.
 * @template T
 * @param {string} name
 * @param {T} initial
 * @param {(value: unknown) => boolean} isValid
 * @returns {Signal<T>}
 */
export function storedSignal(name, initial, isValid) {
  const stored = signal(initial);
  try {
    const before = JSON.parse(localStorage.getItem(name) ?? "null");
    if (before !== null && isValid(before)) stored.value = before;
  } catch {
    // no storage, or none of ours
  }
  effect(() => {
    const text = JSON.stringify(stored.value);
    try {
      localStorage.setItem(name, text);
    } catch {
      // it lasts as long as the page
    }
  });
  return stored;
}

const COLOURS = ["auto", "light", "dark"];

/** Return the choice of colours, which the document follows: "auto" is as the system has it. */
export function colourChoice() {
  const choice = storedSignal("regard.colours", "auto", (value) => COLOURS.includes(String(value)));
  const systemIsDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = signal(false);
  effect(() => {
    isDark.value = choice.value === "auto" ? systemIsDark.matches : choice.value === "dark";
    if (choice.value === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = choice.value;
  });
  systemIsDark.addEventListener("change", () => choice.value === "auto" && (isDark.value = systemIsDark.matches));
  return { isDark, switchColours: () => void (choice.value = isDark.value ? "light" : "dark") };
}
