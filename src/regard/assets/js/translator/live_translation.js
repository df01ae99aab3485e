// Live translation: follows the query, aborts the request before it, waits where the server says so.

import { effect, signal } from "regard/signals.js";
import { ServerError, streamTranslation } from "regard/translator/api.js";
import { countCharacters } from "regard/translator/words.js";

/** @typedef {import("regard/translator/api.js").Segment} Segment */
/** @typedef {import("regard/translator/api.js").StreamEvent} StreamEvent */
/** @template T @typedef {import("regard/signals.js").Signal<T>} Signal */
/**
 * @typedef {object} Query
 * @property {string} text
 * @property {string} source language, or "auto"
 * @property {string} target
 * @property {[string, string][]} glossary
 * @property {boolean} isDirect whether one model translates it, which knows words and glossary
 * @property {number} limit in characters
 */
/**
 * @typedef {object} Result what is known of the translation
 * @property {Query} query
 * @property {(Segment | null)[]} segments null: not finished
 * @property {string | null} text of all sentences; null: not finished
 * @property {string} source
 * @property {boolean} isDetected
 */
/** @typedef {"idle" | "typing" | "translating" | "done" | "busy" | "starting" | "offline" | "too_long" | "unsure" | "key" | "problem"} StatusKind */
/** @typedef {{ kind: StatusKind, message?: string, seconds?: number }} Status */
/** @typedef {{ result: Signal<Result | null>, status: Signal<Status>, retryNow: () => void }} LiveTranslation */

const PAUSE = 300;
/** In milliseconds after the last key. */
const FIRST_WAIT = 1;
const LONGEST_WAIT = 30;
/** In seconds, while the server cannot be reached. */
const KEY_CODES = new Set(["key", "key_required", "unknown_key"]);
const START_CODES = new Set(["unavailable", "translation_failed"]);
const WAIT_CODES = new Set(["overloaded", "rate_exceeded"]);

/**
 * @param {() => Query | null} readQuery reads signals; null: nothing can be translated yet
 * @returns {LiveTranslation}
 */
export function liveTranslation(readQuery) {
  const result = signal(/** @type {Result | null} */ (null));
  const status = signal(/** @type {Status} */ ({ kind: "idle" }));
  let pending = new AbortController();
  let timer = 0;
  let lastKey = "";
  let query = /** @type {Query | null} */ (null);

  effect(() => {
    const next = readQuery();
    const key = JSON.stringify(next);
    if (key === lastKey) return;
    const isTyping = query !== null && next !== null && query.text !== next.text;
    lastKey = key;
    query = next;
    stop();
    if (!next || !next.text.trim()) {
      result.value = null;
      status.value = { kind: "idle" };
    } else if (countCharacters(next.text) > next.limit) {
      result.value = null;
      status.value = { kind: "too_long" };
    } else {
      status.value = { kind: "typing" };
      timer = setTimeout(() => send(next, true, FIRST_WAIT), isTyping ? PAUSE : 0);
    }
  });

  function stop() {
    pending.abort();
    clearTimeout(timer);
  }

  /** @param {Query} sent @param {boolean} withWords @param {number} wait in seconds if there is no connection */
  async function send(sent, withWords, wait) {
    stop();
    const controller = (pending = new AbortController());
    status.value = { kind: "translating" };
    /** @type {Result} */
    let latest = { query: sent, segments: [], text: null, source: sent.source, isDetected: false };
    try {
      for await (const event of streamTranslation(requestBody(sent, withWords), controller.signal)) {
        if (controller !== pending) return;
        result.value = latest = addEvent(latest, event);
      }
      if (controller !== pending) return;
      status.value = { kind: "done" };
    } catch (problem) {
      if (controller !== pending || controller.signal.aborted) return;
      if (!(problem instanceof ServerError)) throw problem;
      if (withWords && !sent.isDirect && problem.code === "invalid_request") return void send(sent, false, wait);
      fail(sent, problem, withWords, wait);
    }
  }

  /** @param {Query} sent @param {ServerError} problem @param {boolean} withWords @param {number} wait */
  function fail(sent, problem, withWords, wait) {
    const kind = failureKind(problem);
    if (kind === "busy" || kind === "starting" || kind === "offline") {
      const seconds = Math.max(1, problem.retryAfter ?? wait);
      return countDown(kind, seconds, () => send(sent, withWords, Math.min(LONGEST_WAIT, 2 * wait)));
    }
    result.value = null;
    status.value = { kind, message: problem.message };
  }

  /** @param {StatusKind} kind @param {number} seconds @param {() => void} then */
  function countDown(kind, seconds, then) {
    if (seconds <= 0) return then();
    status.value = { kind, seconds };
    timer = setTimeout(() => countDown(kind, seconds - 1, then), 1000);
  }

  function retryNow() {
    if (query?.text.trim() && status.value.kind !== "too_long") send(query, true, FIRST_WAIT);
  }

  addEventListener("online", () => status.value.kind === "offline" && retryNow());
  return { result, status, retryNow };
}

/** @param {ServerError} problem @returns {StatusKind} */
function failureKind({ code }) {
  if (WAIT_CODES.has(code)) return "busy";
  if (START_CODES.has(code)) return "starting";
  if (KEY_CODES.has(code)) return "key";
  if (code === "unsure_language") return "unsure";
  return code === "offline" ? "offline" : "problem";
}

/** @param {Result} result @param {StreamEvent} event @returns {Result} */
function addEvent(result, event) {
  if (event.name === "segment") {
    const segments = [...result.segments];
    while (segments.length <= event.data.segment_index) segments.push(null);
    segments[event.data.segment_index] = event.data;
    return { ...result, segments };
  }
  const { text, source, detected, segments } = event.data;
  return { ...result, text, source, isDetected: Boolean(detected), segments: segments ?? result.segments };
}

/** @param {Query} query @param {boolean} withWords @returns {object} */
function requestBody({ text, source, target, glossary }, withWords) {
  const words = { alignments: true, confidences: true, glossary };
  return { text, source, target, segments: "sentences", sentences: true, ...(withWords ? words : {}) };
}
