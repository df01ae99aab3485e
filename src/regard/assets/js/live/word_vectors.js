// Word vectors: nearest neighbours in the embedding, and one word in two contexts.

import { h } from "regard/dom.js";
import { formatNumber } from "regard/format.js";
import { questionForm } from "regard/live/question_form.js";
import { dataTable } from "regard/parts/downloads.js";
import { quote } from "regard/units.js";

/** @typedef {import("regard/app.js").App} App */

/** Return a word of the sentence as the initial value. @param {App} app */
function exampleWord(app) {
  const { text } = app.request.peek();
  const words = text.match(/\p{L}{3,}/gu) ?? text.match(/\p{L}+/gu) ?? [];
  return words[1] ?? words[0] ?? "";
}

/** Return a token with a dot for the space before it. @param {string} text */
const tokenWithSpace = (text) => (text.startsWith("▁") ? [h("span", { class: "space", "aria-hidden": "true" }, "·"), text.slice(1)] : [text]);

/** @param {App} app */
export function neighboursQuestion(app) {
  return questionForm(app, {
    title: "Neighbours of a word",
    why: "Each token has a row in the embedding, the same in every sentence. Tokens that are used alike have rows with similar directions.",
    inputs: [["word", exampleWord(app)]],
    button: "Find",
    ask: ([text]) => ({ route: "neighbours", body: { text, count: 12, side: "source" } }),
    show: (answer) => [
      h("p", {}, "Nearest to ", h("bdi", {}, "“", ...tokenWithSpace(answer.piece), "”"), ", by cosine:"),
      h("ol", { class: "neighbours" }, answer.neighbours.map((/** @type {{ text: string, cosine: number }} */ each) =>
        h("li", {}, h("div", {}, h("bdi", {}, ...tokenWithSpace(each.text)), h("meter", { min: 0, max: 1, value: Math.max(0, each.cosine), "aria-hidden": "true" }), h("span", { class: "facts" }, formatNumber(each.cosine, 3)))))),
    ],
  });
}

/** @param {App} app */
export function contextsQuestion(app) {
  const text = app.request.peek().text;
  const word = exampleWord(app);
  return questionForm(app, {
    title: "One word in two sentences",
    why: "The embedding is a look-up table: a word’s row is the same in every sentence. The encoder’s output for it depends on the words around it. A cosine of 1 is the same direction.",
    inputs: [["word", word], ["sentence", text], ["other sentence", text.split(" ").slice(1).join(" ")]],
    button: "Compare",
    ask: ([which, ...texts]) => ({ route: "contexts", body: { word: which, texts } }),
    show: (answer) => [
      h("p", {}, answer.embedding_equal ? "Its row of the embedding is the same in both." : "Its rows of the embedding differ."),
      dataTable({ rows: answer.layers.map((/** @type {{ layer: number }} */ each) => (each.layer ? `encoder layer ${each.layer}` : "embedding + position")), columns: ["cosine"], corner: "after", values: (r) => formatNumber(answer.layers[r].cosine, 4) }, `${quote(answer.word)} in the one and in the other`),
    ],
  });
}
