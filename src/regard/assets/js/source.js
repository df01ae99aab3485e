// Data source of the page: the server API, or the trace embedded in an offline page.

/** @typedef {import("regard/types").Trace} Trace */
/** @typedef {import("regard/types").Request} Request */
/** @typedef {import("regard/types").Info} Info */

/** Error of a request, with a message for the user. */
export class RequestError extends Error {
  /** @param {string} message @param {string} code */
  constructor(message, code) {
    super(message);
    this.code = code;
  }
}

/**
 * @typedef {object} Source
 * @property {boolean} live whether there is a server
 * @property {() => Promise<Info>} info
 * @property {(route: string, body: object, signal?: AbortSignal) => Promise<any>} ask
 * @property {(route: string, body: object) => Promise<string>} text like `ask`, for answers that are no JSON
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
export async function fetchTrace(source, request, signal) {
  const trace = await source.ask("trace", request, signal);
  checkpoints.set(trace, request.step ?? null);
  return trace;
}

/** Return the request that produced a trace, with its checkpoint. @param {Trace} trace @returns {Request} */
export const requestOf = (trace) => ({ ...trace.request, step: checkpoints.get(trace) ?? null });

/** Return the trace embedded in an offline page, or null. @returns {Trace | null} */
export function embeddedTrace() {
  const element = document.getElementById("regard-trace");
  return element ? JSON.parse(element.textContent ?? "null") : null;
}

/** Return the initial view of an offline page. @returns {string} */
export function initialView() {
  return document.getElementById("regard-view")?.textContent ?? "";
}

/** @type {Source} */
export const server = {
  live: true,
  info: () => server.get("info"),
  get: async (route) => readAnswer(await reportUnreachable(fetch(`/api/${route}`))),
  ask: async (route, body, signal) => readAnswer(await reportUnreachable(fetch(`/api/${route}`, postOptions(body, signal)))),
  async text(route, body) {
    const response = await reportUnreachable(fetch(`/api/${route}`, postOptions(body)));
    return response.ok ? response.text() : readAnswer(response);
  },
  async stream(route, body, each, signal) {
    const response = await reportUnreachable(fetch(`/api/${route}`, postOptions(body, signal)));
    if (!response.ok || !response.body) return readAnswer(response);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      const lines = (rest + (value ?? "")).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines.filter(Boolean)) {
        const row = JSON.parse(line);
        if (row.error) throw new RequestError(row.error.message, row.error.code);
        each(row);
      }
      if (done) return;
    }
  },
};

/** @param {object} body @param {AbortSignal} [signal] @returns {RequestInit} */
const postOptions = (body, signal) => ({
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(body),
  signal,
});

/** @param {Promise<Response>} response */
async function reportUnreachable(response) {
  try {
    return await response;
  } catch (problem) {
    if (problem instanceof DOMException && problem.name === "AbortError") throw problem;
    throw new RequestError("regard explore is not running any more; start it again and reload this page", "gone");
  }
}

/** @param {Response} response */
async function readAnswer(response) {
  const body = await response.json().catch(() => null);
  if (response.ok && body) return body;
  throw new RequestError(body?.error?.message ?? `the server answered ${response.status}`, body?.error?.code ?? "error");
}
