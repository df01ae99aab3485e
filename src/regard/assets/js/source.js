// Where answers come from: the server that runs the model, or the one translation that this page carries.

/** @typedef {import("regard/types").Trace} Trace */
/** @typedef {import("regard/types").Request} Request */
/** @typedef {import("regard/types").Info} Info */

/** What the server said no to, in words for the person who asked. */
export class Refused extends Error {
  /** @param {string} message @param {string} code */
  constructor(message, code) {
    super(message);
    this.code = code;
  }
}

/**
 * @typedef {object} Source
 * @property {boolean} live whether a model can be asked
 * @property {() => Promise<Info>} info
 * @property {(route: string, body: object, signal?: AbortSignal) => Promise<any>} ask
 * @property {(route: string, body: object) => Promise<string>} text the same for an answer that is no JSON
 * @property {(route: string) => Promise<any>} get
 * @property {(route: string, body: object, each: (row: any) => void, signal?: AbortSignal) => Promise<void>} stream
 */

/** @type {WeakMap<Trace, number | null>} which checkpoint made it; a trace itself does not say */
const checkpoints = new WeakMap();

/**
 * @param {Source} source
 * @param {Request} request
 * @param {AbortSignal} [signal]
 * @returns {Promise<Trace>}
 */
export async function traced(source, request, signal) {
  const trace = await source.ask("trace", request, signal);
  checkpoints.set(trace, request.step ?? null);
  return trace;
}

/** What was asked to get a trace, so that more can be asked about it. @param {Trace} trace @returns {Request} */
export const asked = (trace) => ({ ...trace.request, step: checkpoints.get(trace) ?? null });

/** The translation that is in the page itself, or null. @returns {Trace | null} */
export function baked() {
  const element = document.getElementById("regard-trace");
  return element ? JSON.parse(element.textContent ?? "null") : null;
}

/** The view that the page opens with. @returns {string} */
export function opening() {
  return document.getElementById("regard-view")?.textContent ?? "";
}

/** @type {Source} */
export const server = {
  live: true,
  info: () => server.get("info"),
  get: async (route) => answer(await reached(fetch(`/api/${route}`))),
  ask: async (route, body, signal) => answer(await reached(fetch(`/api/${route}`, post(body, signal)))),
  async text(route, body) {
    const response = await reached(fetch(`/api/${route}`, post(body)));
    return response.ok ? response.text() : answer(response);
  },
  async stream(route, body, each, signal) {
    const response = await reached(fetch(`/api/${route}`, post(body, signal)));
    if (!response.ok || !response.body) return answer(response);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      const lines = (rest + (value ?? "")).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines.filter(Boolean)) {
        const row = JSON.parse(line);
        if (row.error) throw new Refused(row.error.message, row.error.code);
        each(row);
      }
      if (done) return;
    }
  },
};

/** @param {object} body @param {AbortSignal} [signal] @returns {RequestInit} */
const post = (body, signal) => ({
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(body),
  signal,
});

/** @param {Promise<Response>} response */
async function reached(response) {
  try {
    return await response;
  } catch (problem) {
    if (problem instanceof DOMException && problem.name === "AbortError") throw problem;
    throw new Refused("regard explore is not running any more; start it again and reload this page", "gone");
  }
}

/** @param {Response} response */
async function answer(response) {
  const body = await response.json().catch(() => null);
  if (response.ok && body) return body;
  throw new Refused(body?.error?.message ?? `the server answered ${response.status}`, body?.error?.code ?? "error");
}
