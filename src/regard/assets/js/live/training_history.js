// What a run's metrics say of its training: its plan, its steps and validations, and the charts of them.

/** @typedef {import("regard/live/line_chart.js").Chart} Chart */
/** @typedef {import("regard/live/line_chart.js").Line} Line */
/** @typedef {import("regard/live/line_chart.js").Point} Point */
/** @typedef {Record<string, any>} Row */
/** @typedef {"step" | "tokens" | "hours"} Axis */
/** @typedef {{ name: string, facts: Row, train: Row[], valid: Row[], mean: Row | null, data: Row | null }} History `mean` is that of the last checkpoints */

/** The charts, in the order they are shown in. */
export const NAMES = ["loss", "scores", "rate", "speed", "norm", "padding", "memory", "lengths", "by-length"];
const POINTS = 600;
/** The shape of the mean's mark, whatever colour its run has. */
const MEAN = 3;
/** The part of a training, one in so many, over which the loss falls too steeply to scale the rest by. */
const SETTLING = 30;

/** @param {string} name @returns {History} */
export const begun = (name) => ({ name, facts: {}, train: [], valid: [], mean: null, data: null });

/**
 * The history with more rows. A training that was resumed writes steps again: the new ones count.
 * @param {History} history
 * @param {Row[]} rows
 * @returns {History}
 */
export function added(history, rows) {
  const out = { ...history, train: [...history.train], valid: [...history.valid] };
  for (const row of rows) {
    if (row.kind === "run") out.facts = row;
    if (row.kind === "mean") out.mean = row;
    if (row.kind !== "train" && row.kind !== "valid") continue;
    const list = /** @type {Row[]} */ (out[/** @type {"train" | "valid"} */ (row.kind)]);
    while (list.length && list[list.length - 1].step >= row.step) list.pop();
    list.push(row);
  }
  return out;
}

/** @param {History} history @returns {Row | undefined} the validation that the training called its best, or the one with the lowest loss */
export function best({ valid }) {
  return valid.findLast((row) => row.best === true) ?? valid.filter((row) => Number.isFinite(row.loss)).sort((a, b) => a.loss - b.loss)[0];
}

/**
 * The charts of some runs over one axis; those without data are left out.
 * @param {History[]} runs
 * @param {Axis} axis
 * @returns {Chart[]}
 */
export function charts(runs, axis) {
  const end = Math.max(0, ...runs.flatMap((run) => [run.train, run.valid]).map((rows) => rows.at(-1)?.time_s ?? 0));
  const minutes = axis === "hours" && end < 7200;
  const across = { step: "step", tokens: "target tokens seen", hours: minutes ? "minutes" : "hours" }[axis];
  const x = (/** @type {Row} */ row) => (axis === "hours" ? row.time_s / (minutes ? 60 : 3600) : row[axis]);
  const all = [loss, scores, rate, speed, norm, padding, memory].map((make) => ({ x: across, ...make(runs, x, axis) }));
  return [...all, lengths(runs), byLength(runs)].filter((chart) => chart.lines.some((line) => tells(line, chart.name)));
}

/** @param {Line} line @param {string} name whether there is anything to see: packed batches have no padding at all */
const tells = ({ points }, name) => points.some(([, y]) => Number.isFinite(y) && (name !== "padding" || y > 0));

/** @typedef {(runs: History[], x: (row: Row) => number, axis: Axis) => Omit<Chart, "x">} Make */

/** The floor that label smoothing sets is dotted, so that nobody waits for 0. @type {Make} */
function loss(runs, x) {
  const several = runs.length > 1;
  /** @type {NonNullable<Chart["levels"]>} */
  const levels = [];
  /** @type {NonNullable<Chart["spots"]>} */
  const spots = [];
  const lines = runs.flatMap((run, i) => {
    const floor = Number(run.facts.loss_floor ?? 0);
    if (floor && !levels.some((level) => level.y === floor)) levels.push({ y: floor, label: `training cannot go below ${floor.toFixed(2)}`, tone: i, left: true });
    const top = best(run);
    if (top) spots.push({ x: x(top), y: top.loss, label: several ? "" : `best ${top.loss.toFixed(3)}`, tone: tone(runs, i, 1) });
    return [...noisy(runs, i, x, "loss", "training", { settling: SETTLING }), validated(runs, i, x, "loss", "validation", 1), ...averaged(runs, i, x, "loss")];
  });
  const smoothed = runs.some((run) => run.facts.label_smoothing);
  return { name: "loss", title: "Loss, nats per target token", lines, levels, spots, caption: smoothed ? "validation is without label smoothing" : "" };
}

/** @type {Make} */
function scores(runs, x) {
  const lines = runs.flatMap((_, i) => [validated(runs, i, x, "bleu", "BLEU", 1), validated(runs, i, x, "chrf", "chrF", 2), ...averaged(runs, i, x, "bleu")]);
  const signatures = new Set(runs.flatMap((run) => run.valid.map((row) => row.signature).filter(Boolean)));
  return { name: "scores", title: "BLEU and chrF of the validation part", lines, caption: [...signatures].sort().join(" / ") };
}

/** @type {Make} */
function rate(runs, x, axis) {
  const several = runs.length > 1;
  /** @type {NonNullable<Chart["spots"]>} */
  const spots = [];
  const lines = runs.flatMap((run, i) => {
    const actual = { points: thin(points(run.train, x, "lr")), tone: tone(runs, i, 0), label: named(runs, i, "actual"), dash: several ? i : 0 };
    if (axis !== "step") return [actual];
    const planned = /** @type {Point[]} */ (run.facts.planned ?? []);
    const end = Math.max(planned.at(-1)?.[0] ?? 0, run.train.at(-1)?.step ?? 0);
    if (run.facts.warmup && run.facts.warmup <= end && !several) spots.push({ x: run.facts.warmup, y: null, label: "warm-up ends", tone: -1 });
    return [actual, { points: planned, tone: several ? i : -1, label: named(runs, i, "planned"), weight: /** @type {const} */ ("fine") }];
  });
  return { name: "rate", title: "Learning rate", lines, spots, zero: true };
}

/** @type {Make} */
function speed(runs, x) {
  const lines = runs.flatMap((_, i) => noisy(runs, i, x, "tokens_per_s", "tokens/s"));
  const bands = runs.length > 1 ? [] : pauses(runs[0], x);
  const caption = bands.length ? "grey: validations" : "";
  return { name: "speed", title: "Source and target tokens per second, without padding", lines, bands, zero: true, caption };
}

/** @type {Make} */
function norm(runs, x) {
  /** @type {NonNullable<Chart["levels"]>} */
  const levels = [];
  const lines = runs.flatMap((run, i) => {
    const clip = Number(run.facts.clip ?? 0);
    if (clip && !levels.some((level) => level.y === clip)) levels.push({ y: clip, label: `clipped at ${clip}`, tone: i });
    return noisy(runs, i, x, "grad_norm", "norm", { settling: SETTLING });
  });
  return { name: "norm", title: "Gradient norm", lines, levels, zero: true };
}

/** @type {Make} */
function padding(runs, x) {
  const lines = runs.flatMap((_, i) => noisy(runs, i, x, "pad_fraction", "padding", { factor: 100 }));
  return { name: "padding", title: "Padding, % of computed tokens", lines, zero: true };
}

/** @type {Make} */
function memory(runs, x) {
  const lines = runs.map((run, i) => ({ points: thin(points(run.train, x, "memory_mb", 1 / 1024)), tone: tone(runs, i, 0), label: named(runs, i, "memory"), dash: runs.length > 1 ? i : 0 }));
  return { name: "memory", title: "Peak memory, GiB", lines, zero: true };
}

/** How long the sentences are that were learnt from. @param {History[]} runs @returns {Chart} */
function lengths(runs) {
  const lines = runs.flatMap((run, i) =>
    /** @type {const} */ (["source", "target"]).map((side, k) => ({
      points: histogram(run.data?.lengths?.[side], "counts"), tone: tone(runs, i, k), label: named(runs, i, side), dash: k, bars: true,
    })),
  );
  return { name: "lengths", title: "Sentences by length", x: "pieces in a sentence", lines, zero: true, caption: runs.map((run, i) => named(runs, i, learntFrom(run))).join(". ") };
}

/** Whether long sentences are translated worse: of the validation that was the best. @param {History[]} runs @returns {Chart} */
function byLength(runs) {
  const rows = runs.map(best);
  const lines = runs.map((_, i) => ({ points: histogram(rows[i]?.bleu_by_length, "bleu"), tone: tone(runs, i, 1), label: named(runs, i, "BLEU"), dash: runs.length > 1 ? i : 0, bars: true }));
  const [row] = rows;
  const caption = runs.length === 1 && row?.bleu_by_length ? `validation at step ${row.step.toLocaleString("en")}; from left to right ${row.bleu_by_length.pairs?.join(", ")} sentences` : "";
  return { name: "by-length", title: "BLEU by source length", x: "source tokens", lines, zero: true, caption };
}

/** @param {History} history what was learnt from, and what was left out, in words */
function learntFrom({ data }) {
  if (!data?.train) return "";
  const { pairs, left_out: left = {} } = data.train;
  const dropped = Object.entries(left).map(([why, count]) => `${Number(count).toLocaleString("en")} ${why}`);
  return [
    `${pairs.toLocaleString("en")} pairs`,
    `left out: ${dropped.join(", ") || "none"}`,
    Number.isFinite(data.ratio) && `target : source ${data.ratio.toFixed(2)}`,
    data.pieces && `${data.pieces.occur.toLocaleString("en")} of ${data.pieces.all.toLocaleString("en")} pieces occur, ${(100 * data.pieces.bytes).toFixed(2)}% bytes`,
  ].filter(Boolean).join("; ");
}

/** @param {Row | undefined} given `bins` has the edges, or where each bar begins @param {string} heights @returns {Point[]} down to 0 at the end */
function histogram(given, heights) {
  const [bins, counts] = [given?.bins ?? [], given?.[heights] ?? []];
  if (!counts.length || bins.length < counts.length) return [];
  const end = bins[counts.length] ?? bins[counts.length - 1] + (counts.length > 1 ? bins[counts.length - 1] - bins[counts.length - 2] : 1);
  return [...counts.map((/** @type {number} */ count, /** @type {number} */ i) => /** @type {Point} */ ([bins[i], count])), [end, 0]];
}

/** @param {History[]} runs @param {number} place @param {string} label with the run's name where there are several */
const named = (runs, place, label) => (runs.length > 1 ? `${runs[place].name}, ${label}` : label);

/** @param {History[]} runs @param {number} place @param {number} kind a colour for each run; of one run only, for each kind of line */
const tone = (runs, place, kind) => (runs.length > 1 ? place : kind);

/**
 * The figures under a name; a row that was left out in thinning has none, one that was no number is a gap.
 * @param {Row[]} rows
 * @param {(row: Row) => number} x
 * @param {string} name
 * @param {number} [factor]
 * @returns {Point[]}
 */
function points(rows, x, name, factor = 1) {
  return rows.filter((row) => name in row).map((row) => [x(row), typeof row[name] === "number" ? row[name] * factor : NaN]);
}

/** @param {History[]} runs @param {number} i @param {(row: Row) => number} x @param {string} name @param {string} label @param {number} kind @returns {Line} */
function validated(runs, i, x, name, label, kind) {
  return { points: thin(points(runs[i].valid, x, name)), tone: tone(runs, i, kind), label: named(runs, i, label), dash: runs.length > 1 ? i : 0, marks: runs.length === 1 || kind === 1 };
}

/** The mean of the last checkpoints is a mark of its own: at no step was the model like it. @param {History[]} runs @param {number} i @param {(row: Row) => number} x @param {string} name @returns {Line[]} */
function averaged(runs, i, x, name) {
  const { mean } = runs[i];
  if (!mean) return [];
  return [{ points: points([mean], x, name), tone: tone(runs, i, 3), label: named(runs, i, runs.length > 1 ? "mean" : `mean of ${mean.checkpoints} checkpoints`), marks: true, shape: MEAN }];
}

/**
 * Raw and thin (of one run only: several would hide each other), smooth and thick.
 * @param {History[]} runs
 * @param {number} i
 * @param {(row: Row) => number} x
 * @param {string} name
 * @param {string} label
 * @param {{ factor?: number, settling?: number }} [how] with `settling`, neither noise nor the start scales the axis
 * @returns {Line[]}
 */
function noisy(runs, i, x, name, label, { factor = 1, settling = 0 } = {}) {
  const raw = points(runs[i].train, x, name, factor);
  const line = { tone: tone(runs, i, 0), label: named(runs, i, label) };
  const few = thin(smooth(raw));
  const thick = { ...line, points: few, dash: runs.length > 1 ? i : 0, unscaled: settling && Math.floor(few.length / settling) };
  if (runs.length > 1) return [thick];
  const seen = thin(raw);
  return [{ ...line, points: seen, label: `${label}, raw`, weight: "thin", unscaled: settling ? seen.length : 0 }, thick];
}

/** @param {History} run @param {(row: Row) => number} x @returns {Point[]} from the last step before each validation to its end */
function pauses({ train, valid }, x) {
  return valid.flatMap((row) => {
    const before = train.findLast((each) => each.step <= row.step);
    return before ? [/** @type {Point} */ ([x(before), x(row)])] : [];
  });
}

/**
 * Few points that keep every peak: of each part the lowest, the highest, and a gap.
 * @param {Point[]} all
 * @returns {Point[]}
 */
export function thin(all, most = POINTS) {
  if (all.length <= most) return all;
  const parts = Math.floor(most / 3);
  return Array.from({ length: parts }, (_, p) => {
    const part = all.slice(Math.floor((p * all.length) / parts), Math.floor(((p + 1) * all.length) / parts));
    const known = part.filter(([, y]) => !Number.isNaN(y));
    const kept = new Set([part.find(([, y]) => Number.isNaN(y))]);
    if (known.length) {
      kept.add(known.reduce((a, b) => (b[1] < a[1] ? b : a)));
      kept.add(known.reduce((a, b) => (b[1] > a[1] ? b : a)));
    }
    return part.filter((point) => kept.has(point));
  }).flat();
}

/**
 * The mean of the fiftieth part of the series around each point; what is no number counts for nothing.
 * @param {Point[]} all
 * @returns {Point[]}
 */
export function smooth(all) {
  const half = Math.floor(all.length / 100);
  const [sums, counts] = [[0], [0]];
  all.forEach(([, y], i) => {
    sums.push(sums[i] + (Number.isNaN(y) ? 0 : y));
    counts.push(counts[i] + (Number.isNaN(y) ? 0 : 1));
  });
  return all.map(([x, y], i) => {
    const [first, last] = [Math.max(0, i - half), Math.min(all.length, i + half + 1)];
    return [x, Number.isNaN(y) ? NaN : (sums[last] - sums[first]) / (counts[last] - counts[first])];
  });
}

/** @typedef {{ source: string, reference: string, rows: { step: number, before: string | null, now: string }[] }} Watched */

/**
 * Each watched sentence, and each step at which its translation was another.
 * @param {History} history
 * @returns {Watched[]}
 */
export function watched({ valid }) {
  /** @type {Map<string, Watched>} */
  const found = new Map();
  for (const { step, samples } of valid) {
    for (const { source, reference, hypothesis } of samples ?? []) {
      const key = JSON.stringify([source, reference]);
      const seen = found.get(key) ?? /** @type {Watched} */ ({ source, reference, rows: [] });
      found.set(key, seen);
      const before = seen.rows.at(-1)?.now ?? null;
      if (hypothesis !== before) seen.rows.push({ step, before, now: hypothesis });
    }
  }
  return [...found.values()];
}
