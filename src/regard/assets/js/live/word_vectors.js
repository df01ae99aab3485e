// Words as vectors: their neighbours in the embedding, and what context makes of them.

import { h } from "regard/dom.js";
import { fixed } from "regard/format.js";
import { question } from "regard/live/question_form.js";
import { asTable } from "regard/parts/downloads.js";
import { quoted } from "regard/units.js";

/** @typedef {import("regard/app.js").App} App */

/** A word of the sentence to begin with. @param {App} app */
function aWord(app) {
  const { text } = app.request.peek();
  const words = text.match(/\p{L}{3,}/gu) ?? text.match(/\p{L}+/gu) ?? [];
  return words[1] ?? words[0] ?? "";
}

/** A piece with a dot where a space stands before it. @param {string} text */
const piece = (text) => (text.startsWith("▁") ? [h("span", { class: "space", "aria-hidden": "true" }, "·"), text.slice(1)] : [text]);

/** @param {App} app */
export function neighbours(app) {
  return question(app, {
    title: "Neighbours of a word",
    why: "Each piece of a word has its row in the embedding, the same in every sentence. Rows that point the same way belong to pieces that are used alike.",
    inputs: [["word", aWord(app)]],
    button: "Find",
    ask: ([text]) => ({ route: "neighbours", body: { text, count: 12, side: "source" } }),
    show: (answer) => [
      h("p", {}, "Nearest to ", h("bdi", {}, "“", ...piece(answer.piece), "”"), ", by cosine:"),
      h("ol", { class: "near" }, answer.neighbours.map((/** @type {{ text: string, cosine: number }} */ each) =>
        h("li", {}, h("div", {}, h("bdi", {}, ...piece(each.text)), h("meter", { min: 0, max: 1, value: Math.max(0, each.cosine), "aria-hidden": "true" }), h("span", { class: "facts" }, fixed(each.cosine, 3)))))),
    ],
  });
}

/** @param {App} app */
export function contexts(app) {
  const text = app.request.peek().text;
  const word = aWord(app);
  return question(app, {
    title: "One word in two sentences",
    why: "The embedding is a look-up: a word’s row is the same wherever it stands. What the encoder makes of it depends on the words around it. 1 is the same direction.",
    inputs: [["word", word], ["sentence", text], ["other sentence", text.split(" ").slice(1).join(" ")]],
    button: "Compare",
    ask: ([which, ...texts]) => ({ route: "contexts", body: { word: which, texts } }),
    show: (answer) => [
      h("p", {}, answer.embedding_equal ? "Its row of the embedding is the same in both." : "Its rows of the embedding differ."),
      asTable({ rows: answer.layers.map((/** @type {{ layer: number }} */ each) => (each.layer ? `encoder layer ${each.layer}` : "embedding + position")), columns: ["cosine"], corner: "after", values: (r) => fixed(answer.layers[r].cosine, 4) }, `${quoted(answer.word)} in the one and in the other`),
    ],
  });
}
