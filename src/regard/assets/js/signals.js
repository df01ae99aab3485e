// A value, its readers, and one redraw per frame.

/** @typedef {{ wake: () => void, sources: Set<Set<Reader>> }} Reader */
/** @template T @typedef {{ value: T, peek: () => T }} Signal */

/** @type {Reader | null} */
let reading = null;
/** @type {Set<() => void>} */
const due = new Set();
/** @type {(() => void)[] | null} */
let owned = null;
let asked = false;

/**
 * A value that tells whoever has read it when it becomes another.
 * @template T
 * @param {T} value
 * @returns {Signal<T>}
 */
export function signal(value) {
  /** @type {Set<Reader>} */
  const readers = new Set();
  return {
    get value() {
      note(readers);
      return value;
    },
    set value(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const reader of [...readers]) reader.wake();
    },
    peek: () => value,
  };
}

/**
 * A value made of others, made again only when it is asked for after one of them changed.
 * @template T
 * @param {() => T} make
 * @returns {{ readonly value: T }}
 */
export function computed(make) {
  /** @type {Set<Reader>} */
  const readers = new Set();
  let stale = true;
  /** @type {T} */
  let value;
  /** @type {Reader} */
  const self = {
    sources: new Set(),
    wake() {
      if (stale) return;
      stale = true;
      for (const reader of [...readers]) reader.wake();
    },
  };
  owned?.push(() => {
    forget(self); // else the signals that it read would keep it, and the page it belongs to
    stale = true;
  });
  return {
    get value() {
      note(readers);
      if (stale) {
        value = read(self, make);
        stale = false;
      }
      return value;
    },
  };
}

/**
 * Runs now, and once in the next frame after anything that it read has changed; what began in it ends before.
 * @param {() => void} run
 * @returns {() => void} ends it
 */
export function effect(run) {
  let over = false;
  /** @type {(() => void)[]} */
  const begun = [];
  const again = () => {
    if (over) return;
    begun.splice(0).forEach((stop) => stop());
    const before = owned;
    owned = begun;
    try {
      read(self, run);
    } finally {
      owned = before;
    }
  };
  /** @type {Reader} */
  const self = { sources: new Set(), wake: () => schedule(again) };
  const end = () => {
    over = true;
    begun.splice(0).forEach((stop) => stop());
    forget(self);
  };
  owned?.push(end);
  again();
  return end;
}

/**
 * What `make` returns, and a way to end every effect that it began.
 * @template T
 * @param {() => T} make
 * @returns {[T, () => void]}
 */
export function scope(make) {
  const [before, mine] = [owned, /** @type {(() => void)[]} */ ([])];
  owned = mine;
  try {
    const made = untracked(make);
    return [made, () => mine.splice(0).forEach((end) => end())];
  } finally {
    owned = before;
  }
}

/**
 * What `make` returns, without becoming one of its readers.
 * @template T
 * @param {() => T} make
 * @returns {T}
 */
export function untracked(make) {
  const before = reading;
  reading = null;
  try {
    return make();
  } finally {
    reading = before;
  }
}

/** @param {Set<Reader>} readers */
function note(readers) {
  if (!reading) return;
  readers.add(reading);
  reading.sources.add(readers);
}

/**
 * @template T
 * @param {Reader} reader
 * @param {() => T} run
 * @returns {T}
 */
function read(reader, run) {
  forget(reader);
  const before = reading;
  reading = reader;
  try {
    return run();
  } finally {
    reading = before;
  }
}

/** @param {Reader} reader */
function forget(reader) {
  for (const readers of reader.sources) readers.delete(reader);
  reader.sources.clear();
}

/** @param {() => void} run */
function schedule(run) {
  due.add(run);
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    const now = [...due];
    due.clear();
    for (const each of now) each();
  });
}
