// Documents: dropped on the page or chosen, translated by the server, and downloaded when they are ready.

import { h } from "regard/dom.js";
import { ServerError, fetchProgress, uploadDocument } from "regard/translator/api.js";
import { icon } from "regard/translator/icons.js";

/** @typedef {import("regard/translator/api.js").DocumentProgress} DocumentProgress */
/** @typedef {{ source: string, target: string, glossary: [string, string][] }} Options */

const POLL = 400;
/** In milliseconds between questions for the progress. */
const RETRY = 2000;

/**
 * Return the button that chooses documents and the list of those sent.
 * @param {string[]} formats file extensions
 * @param {() => Options} readOptions
 */
export function documentDrop(formats, readOptions) {
  const list = h("ul", { class: "documents", "aria-label": "Documents", hidden: true });
  const field = /** @type {HTMLInputElement} */ (
    h("input", { type: "file", multiple: true, accept: formats.join(","), class: "unseen", tabindex: -1, "aria-hidden": "true", onchange: chosen })
  );
  const button = h("button", { type: "button", class: "tool", onclick: () => field.click() }, icon("file"), "Document");
  button.title = `Translate documents: ${formats.join(" ")}`;
  const curtain = h("div", { class: "curtain", "aria-hidden": "true", hidden: true }, h("p", {}, icon("file"), "Drop documents to translate them"));

  function chosen() {
    for (const file of field.files ?? []) send(file);
    field.value = "";
  }

  /** @param {File} file */
  async function send(file) {
    const name = h("bdi", { class: "name" }, file.name);
    const bar = /** @type {HTMLProgressElement} */ (h("progress", { "aria-label": `Progress of ${file.name}` }));
    const state = h("span", { class: "faint", role: "status" }, "Sending …");
    const row = h("li", {}, icon("file"), h("div", { class: "about-file" }, name, bar, state));
    list.prepend(row);
    list.hidden = false;
    try {
      if (!formats.some((each) => file.name.toLowerCase().endsWith(each))) throw new ServerError("format", "this kind of file is not known");
      let progress = await uploadDocument(file, readOptions());
      while (progress.state === "queued" || progress.state === "translating") {
        bar.max = Math.max(1, progress.sentences);
        bar.value = progress.translated;
        state.textContent = progress.state === "queued" ? "Waiting …" : "Translating …";
        await pause(POLL);
        progress = await patiently(() => fetchProgress(progress.id));
      }
      bar.remove();
      if (progress.state === "error") return refuse(row, state, progress.message ?? "it could not be translated");
      row.append(h("a", { href: `/api/documents/${progress.id}/result`, download: "" }, "Download"), removeButton(row));
      state.textContent = "Translated";
    } catch (problem) {
      if (!(problem instanceof ServerError)) throw problem;
      bar.remove();
      refuse(row, state, problem.message);
    }
  }

  /** @param {HTMLElement} row @param {HTMLElement} state @param {string} message */
  function refuse(row, state, message) {
    state.textContent = `Not translated: ${message}.`;
    row.append(removeButton(row));
  }

  /** @param {HTMLElement} row */
  function removeButton(row) {
    const remove = () => {
      row.remove();
      list.hidden = !list.children.length;
      button.focus();
    };
    return h("button", { type: "button", class: "round", "aria-label": "Remove from the list", onclick: remove }, icon("close"));
  }

  addEventListener("dragover", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    curtain.hidden = false;
  });
  addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) curtain.hidden = true;
  });
  addEventListener("drop", (event) => {
    curtain.hidden = true;
    if (!event.dataTransfer?.files.length) return;
    event.preventDefault();
    for (const file of event.dataTransfer.files) send(file);
  });

  document.body.append(field, curtain);
  return { button, list };
}

/** Ask until the server is reached. @template T @param {() => Promise<T>} ask @returns {Promise<T>} */
async function patiently(ask) {
  for (;;) {
    try {
      return await ask();
    } catch (problem) {
      if (!(problem instanceof ServerError) || problem.code !== "offline") throw problem;
      await pause(RETRY);
    }
  }
}

/** @param {number} milliseconds */
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
