// Requests to the server of the translator page; every failure becomes a ServerError with its code.

/** @typedef {{ text: string, confidence: number }} WordScore */
/**
 * @typedef {object} Segment a sentence with its translation
 * @property {string} source
 * @property {string} text
 * @property {string} status
 * @property {[number, number][]} [alignment] source word, target word
 * @property {WordScore[]} [words]
 * @property {string} [message]
 * @property {boolean} [unlike_training]
 * @property {string[]} [misplaced_terms]
 * @property {string[]} [alternatives]
 */
/**
 * @typedef {object} TextResult
 * @property {string} text
 * @property {string} source
 * @property {string} target
 * @property {{ language: string, confidence: number }} [detected]
 * @property {Segment[]} [segments]
 * @property {string[]} [alternatives]
 */
/** @typedef {{ code: string, name: string, targets: string[] }} Language */
/** @typedef {{ name: string, source_language: string, target_language: string }} Model */
/** @typedef {{ charLimit: number, keyRequired: boolean, filesTranslation: boolean, supportedFilesFormat: string[] }} Settings */
/**
 * @typedef {object} DocumentProgress
 * @property {string} id
 * @property {string} name
 * @property {"queued" | "translating" | "done" | "error"} state
 * @property {number} sentences
 * @property {number} translated
 * @property {string} [message] why there is no translation
 */
/** @typedef {{ name: "segment", data: Segment & { segment_index: number } } | { name: "text", data: TextResult }} StreamEvent */

const KEY_NAME = "regard.key";

/** A request that failed. */
export class ServerError extends Error {
  /**
   * @param {string} code the server's, or "offline"
   * @param {string} message
   * @param {number | null} [retryAfter] in seconds
   */
  constructor(code, message, retryAfter = null) {
    super(message);
    this.code = code;
    this.retryAfter = retryAfter;
  }
}

/** Return the API key of this browser tab. */
export function readKey() {
  try {
    return sessionStorage.getItem(KEY_NAME) ?? "";
  } catch {
    return "";
  }
}

/** @param {string} key empty: forget it */
export function storeKey(key) {
  try {
    if (key) sessionStorage.setItem(KEY_NAME, key);
    else sessionStorage.removeItem(KEY_NAME);
  } catch {
    // without storage the key is asked for again
  }
}

/** @returns {Promise<Language[]>} */
export const fetchLanguages = async () => (await getJson("/api/languages")).languages;

/** @returns {Promise<Model[]>} */
export const fetchModels = async () => (await getJson("/api/models")).models;

/** @returns {Promise<Settings>} */
export const fetchSettings = () => getJson("/frontend/settings");

/**
 * Translate one text and return the result.
 * @param {object} body
 * @param {AbortSignal} [signal]
 * @returns {Promise<TextResult>}
 */
export async function translate(body, signal) {
  const answer = await readJson(await post(body, "application/json", signal));
  return answer.translations[0];
}

/**
 * Translate one text and yield its sentences as they are finished, then the whole.
 * @param {object} body
 * @param {AbortSignal} signal
 * @returns {AsyncGenerator<StreamEvent>}
 */
export async function* streamTranslation(body, signal) {
  const response = await post(body, "text/event-stream", signal);
  if (!response.ok || !response.body) return void (await readJson(response));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let isWhole = false;
  for (;;) {
    const { done, value } = await reachable(reader.read());
    const blocks = (rest + (value ?? "")).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const [name, data] = parseEvent(block);
      if (name === "error") throw toServerError(data);
      if (name === "done") isWhole = true;
      else yield /** @type {StreamEvent} */ ({ name, data });
    }
    if (done && isWhole) return;
    if (done) throw new ServerError("offline", "the connection broke off");
  }
}

/**
 * Send a document to be translated.
 * @param {File} file
 * @param {{ source: string, target: string, glossary: [string, string][] }} options
 * @returns {Promise<DocumentProgress>}
 */
export async function uploadDocument(file, { source, target, glossary }) {
  const form = new FormData();
  form.append("source", source);
  form.append("target", target);
  form.append("glossary", JSON.stringify(glossary));
  form.append("file", file, file.name);
  return readJson(await reachable(fetch("/api/documents", { method: "POST", headers: authorization(), body: form })));
}

/** @param {string} id @returns {Promise<DocumentProgress>} */
export const fetchProgress = (id) => getJson(`/api/documents/${encodeURIComponent(id)}`);

/** @param {string} block lines of one server-sent event @returns {[string, any]} */
function parseEvent(block) {
  const lines = block.split("\n");
  const field = (/** @type {string} */ name) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? "";
  return [field("event"), JSON.parse(field("data") || "null")];
}

/** @param {string} address */
async function getJson(address) {
  return readJson(await reachable(fetch(address, { headers: authorization() })));
}

/** @param {object} body @param {string} accept @param {AbortSignal} [signal] */
function post(body, accept, signal) {
  const headers = { "Content-Type": "application/json", Accept: accept, ...authorization() };
  return reachable(fetch("/api/translate", { method: "POST", headers, body: JSON.stringify(body), signal }));
}

/** @returns {Record<string, string>} */
function authorization() {
  const key = readKey();
  return key ? { Authorization: `Bearer ${key}` } : {};
}

/** @template T @param {Promise<T>} answer @returns {Promise<T>} */
async function reachable(answer) {
  try {
    return await answer;
  } catch (problem) {
    if (problem instanceof DOMException && problem.name === "AbortError") throw problem;
    throw new ServerError("offline", "the server cannot be reached");
  }
}

/** @param {Response} response */
async function readJson(response) {
  const body = await response.json().catch(() => null);
  if (response.ok && body) return body;
  const seconds = Number(response.headers.get("Retry-After") ?? NaN);
  throw toServerError(body, Number.isFinite(seconds) ? seconds : null, `the server answered ${response.status}`);
}

/** @param {any} body @param {number | null} [retryAfter] @param {string} [fallback] */
function toServerError(body, retryAfter = null, fallback = "the translation failed") {
  const error = body?.error;
  const message = typeof error === "string" ? error : error?.message;
  return new ServerError(error?.code ?? "failed", message ?? fallback, retryAfter);
}
