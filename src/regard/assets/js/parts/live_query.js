// An answer that follows the question: a new question gives up the one under way.

import { effect, signal } from "regard/signals.js";

/** @typedef {import("regard/source.js").Source} Source */
/** @typedef {{ route: string, body: object } | null} Question */

/**
 * @param {Source | null} source
 * @param {() => Question} question read as signals are; null asks nothing
 */
export function following(source, question) {
  const answer = signal(/** @type {any} */ (null));
  const problem = signal("");
  const busy = signal(false);
  let under = new AbortController();
  let had = "";
  effect(() => {
    const now = question();
    const key = JSON.stringify(now);
    if (!source || key === had) return;
    had = key;
    under.abort();
    if (!now) return void (answer.value = null);
    const mine = (under = new AbortController());
    busy.value = true;
    source
      .ask(now.route, now.body, mine.signal)
      .then((found) => {
        if (mine !== under) return;
        answer.value = found;
        problem.value = "";
      })
      .catch((error) => {
        if (error.name === "AbortError") return;
        answer.value = null;
        problem.value = error.message;
        had = "";
      })
      .finally(() => mine === under && (busy.value = false));
  });
  return { answer, problem, busy };
}
