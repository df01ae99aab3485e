// Server query that follows signals: a new query aborts the one in progress.

import { effect, signal } from "regard/signals.js";

/** @typedef {import("regard/source.js").Source} Source */
/** @typedef {{ route: string, body: object } | null} Query */

/**
 * @param {Source | null} source
 * @param {() => Query} question reads signals; null sends no request
 */
export function liveQuery(source, question) {
  const answer = signal(/** @type {any} */ (null));
  const problem = signal("");
  const busy = signal(false);
  let pending = new AbortController();
  let lastKey = "";
  effect(() => {
    const now = question();
    const key = JSON.stringify(now);
    if (!source || key === lastKey) return;
    lastKey = key;
    pending.abort();
    if (!now) return void (answer.value = null);
    const controller = (pending = new AbortController());
    busy.value = true;
    source
      .ask(now.route, now.body, controller.signal)
      .then((result) => {
        if (controller !== pending) return;
        answer.value = result;
        problem.value = "";
      })
      .catch((error) => {
        if (error.name === "AbortError") return;
        answer.value = null;
        problem.value = error.message;
        lastKey = "";
      })
      .finally(() => controller === pending && (busy.value = false));
  });
  return { answer, problem, busy };
}
