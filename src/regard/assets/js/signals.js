// Signals of @preact/signals-core; effects run once a frame and are disposed with the effect that created them.

import { computed, effect as track, signal, untracked } from "regard/vendor/signals-core.js";

export { computed, signal, untracked };

/** @template T @typedef {import("regard/vendor/signals-core.js").Signal<T>} Signal */

/** @type {Set<() => void>} effects that run in the next frame */
const scheduled = new Set();
/** @type {(() => void)[] | null} what disposes the effects of the scope that is being built */
let scopeDisposers = null;

/**
 * Run now, and once in the next frame after a signal that it read has changed.
 * Effects created inside it are disposed before it runs again.
 * @param {() => void} callback
 * @returns {() => void} disposes it
 */
export function effect(callback) {
  let disposed = false;
  let stop = () => {};
  const run = () => {
    if (disposed) return;
    stop();
    let first = true;
    const [untrack, disposeInner] = scope(() =>
      track(() => {
        if (!first) return schedule(run); // reads no signal, so it is not called again
        first = false;
        callback();
      }),
    );
    stop = () => {
      untrack();
      disposeInner();
    };
  };
  const dispose = () => {
    disposed = true;
    stop();
  };
  scopeDisposers?.push(dispose);
  run();
  return dispose;
}

/**
 * Return what `make` returns, and a function that disposes every effect created in it.
 * @template T
 * @param {() => T} make
 * @returns {[T, () => void]}
 */
export function scope(make) {
  const outer = scopeDisposers;
  /** @type {(() => void)[]} */
  const disposers = (scopeDisposers = []);
  try {
    return [untracked(make), () => disposers.splice(0).forEach((dispose) => dispose())];
  } finally {
    scopeDisposers = outer;
  }
}

/** @param {() => void} run */
function schedule(run) {
  if (scheduled.size === 0) requestAnimationFrame(flush);
  scheduled.add(run);
}

function flush() {
  const due = [...scheduled];
  scheduled.clear();
  for (const run of due) run();
}
