// Training history of a run from its metrics, and the charts of it.

/** @typedef {import("regard/live/line_chart.js").Chart} Chart */
/** @typedef {import("regard/live/line_chart.js").Line} Line */
/** @typedef {import("regard/live/line_chart.js").Point} Point */
/** @typedef {Record<string, any>} Row */
/** @typedef {"step" | "tokens" | "hours"} Axis */
/** @typedef {{ name: string, facts: Row, train: Row[], valid: Row[], mean: Row | null, data: Row | null }} History `mean` is that of the last checkpoints */

/** The charts in display order. */
export const CHART_NAMES = ["loss", "scores", "rate", "speed", "norm", "padding", "memory", "lengths", "by-length"];
const MAX_POINTS = 600;
/** Mark shape of the checkpoint mean, in any colour. */
const MEAN_MARK = 3;
/** The first 1/30 of a training does not scale the y axis: there the loss falls too steeply. */
const SETTLING_PART = 30;

/** @param {string} name @returns {History} */
export const emptyHistory = (name) => ({ name, facts: {}, train: [], valid: [], mean: null, data: null });

/**
 * Append rows to a history. A resumed training writes some steps again; the newer rows count.
 * @param {History} history
 * @param {Row[]} rows
 * @returns {History}
 */
export function appendRows(history, rows) {
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

/** @param {History} history @returns {Row | undefined} the validation marked as best, or the one with the lowest loss */
export function bestValidation({ valid }) {
  return valid.findLast((row) => row.best === true) ?? valid.filter((row) => Number.isFinite(row.loss)).sort((a, b) => a.loss - b.loss)[0];
}

/**
 * Return the charts of some runs over one axis, without those that have no data.
 * @param {History[]} runs
 * @param {Axis} axis
 * @returns {Chart[]}
 */
export function trainingCharts(runs, axis) {
  const end = Math.max(0, ...runs.flatMap((run) => [run.train, run.valid]).map((rows) => rows.at(-1)?.time_s ?? 0));
  const minutes = axis === "hours" && end < 7200;
  const across = { step: "step", tokens: "target tokens seen", hours: minutes ? "minutes" : "hours" }[axis];
  const x = (/** @type {Row} */ row) => (axis === "hours" ? row.time_s / (minutes ? 60 : 3600) : row[axis]);
  const all = [lossChart, scoreChart, learningRateChart, speedChart, gradientNormChart, paddingChart, memoryChart].map((make) => ({ x: across, ...make(runs, x, axis) }));
  return [...all, lengthChart(runs), bleuByLengthChart(runs)].filter((chart) => chart.lines.some((line) => hasData(line, chart.name)));
}

/** @param {Line} line @param {string} name @returns {boolean} whether there is data to show: packed batches have no padding at all */
const hasData = ({ points }, name) => points.some(([, y]) => Number.isFinite(y) && (name !== "padding" || y > 0));

/** @typedef {(runs: History[], x: (row: Row) => number, axis: Axis) => Omit<Chart, "x">} MakeChart */

/** A dotted line shows the lowest loss that label smoothing allows. @type {MakeChart} */
function lossChart(runs, x) {
  const several = runs.length > 1;
  /** @type {NonNullable<Chart["levels"]>} */
  const levels = [];
  /** @type {NonNullable<Chart["spots"]>} */
  const spots = [];
  const lines = runs.flatMap((run, i) => {
    const floor = Number(run.facts.loss_floor ?? 0);
    if (floor && !levels.some((level) => level.y === floor)) levels.push({ y: floor, label: `training cannot go below ${floor.toFixed(2)}`, tone: i, left: true });
    const top = bestValidation(run);
    if (top) spots.push({ x: x(top), y: top.loss, label: several ? "" : `best ${top.loss.toFixed(3)}`, tone: lineTone(runs, i, 1) });
    return [...rawAndSmoothLines(runs, i, x, "loss", "training", { settling: SETTLING_PART }), validationLine(runs, i, x, "loss", "validation", 1), ...meanCheckpointLine(runs, i, x, "loss")];
  });
  const smoothed = runs.some((run) => run.facts.label_smoothing);
  return { name: "loss", title: "Loss, nats per target token", lines, levels, spots, caption: smoothed ? "validation is without label smoothing" : "" };
}

/** @type {MakeChart} */
function scoreChart(runs, x) {
  const lines = runs.flatMap((_, i) => [validationLine(runs, i, x, "bleu", "BLEU", 1), validationLine(runs, i, x, "chrf", "chrF", 2), ...meanCheckpointLine(runs, i, x, "bleu")]);
  const signatures = new Set(runs.flatMap((run) => run.valid.map((row) => row.signature).filter(Boolean)));
  return { name: "scores", title: "BLEU and chrF on the validation data", lines, caption: [...signatures].sort().join(" / ") };
}

/** @type {MakeChart} */
function learningRateChart(runs, x, axis) {
  const several = runs.length > 1;
  /** @type {NonNullable<Chart["spots"]>} */
  const spots = [];
  const lines = runs.flatMap((run, i) => {
    const actual = { points: downsample(metricPoints(run.train, x, "lr")), tone: lineTone(runs, i, 0), label: lineLabel(runs, i, "actual"), dash: several ? i : 0 };
    if (axis !== "step") return [actual];
    const planned = /** @type {Point[]} */ (run.facts.planned ?? []);
    const end = Math.max(planned.at(-1)?.[0] ?? 0, run.train.at(-1)?.step ?? 0);
    if (run.facts.warmup && run.facts.warmup <= end && !several) spots.push({ x: run.facts.warmup, y: null, label: "warm-up ends", tone: -1 });
    return [actual, { points: planned, tone: several ? i : -1, label: lineLabel(runs, i, "planned"), weight: /** @type {const} */ ("fine") }];
  });
  return { name: "rate", title: "Learning rate", lines, spots, zero: true };
}

/** @type {MakeChart} */
function speedChart(runs, x) {
  const lines = runs.flatMap((_, i) => rawAndSmoothLines(runs, i, x, "tokens_per_s", "tokens/s"));
  const bands = runs.length > 1 ? [] : validationPauses(runs[0], x);
  const caption = bands.length ? "grey: validations" : "";
  return { name: "speed", title: "Source and target tokens per second, without padding", lines, bands, zero: true, caption };
}

/** @type {MakeChart} */
function gradientNormChart(runs, x) {
  /** @type {NonNullable<Chart["levels"]>} */
  const levels = [];
  const lines = runs.flatMap((run, i) => {
    const clip = Number(run.facts.clip ?? 0);
    if (clip && !levels.some((level) => level.y === clip)) levels.push({ y: clip, label: `clipped at ${clip}`, tone: i });
    return rawAndSmoothLines(runs, i, x, "grad_norm", "norm", { settling: SETTLING_PART });
  });
  return { name: "norm", title: "Gradient norm", lines, levels, zero: true };
}

/** @type {MakeChart} */
function paddingChart(runs, x) {
  const lines = runs.flatMap((_, i) => rawAndSmoothLines(runs, i, x, "pad_fraction", "padding", { factor: 100 }));
  return { name: "padding", title: "Padding, % of computed tokens", lines, zero: true };
}

/** @type {MakeChart} */
function memoryChart(runs, x) {
  const lines = runs.map((run, i) => ({ points: downsample(metricPoints(run.train, x, "memory_mb", 1 / 1024)), tone: lineTone(runs, i, 0), label: lineLabel(runs, i, "memory"), dash: runs.length > 1 ? i : 0 }));
  return { name: "memory", title: "Peak memory, GiB", lines, zero: true };
}

/** Sentence lengths of the training data. @param {History[]} runs @returns {Chart} */
function lengthChart(runs) {
  const lines = runs.flatMap((run, i) =>
    /** @type {const} */ (["source", "target"]).map((side, k) => ({
      points: histogram(run.data?.lengths?.[side], "counts"), tone: lineTone(runs, i, k), label: lineLabel(runs, i, side), dash: k, bars: true,
    })),
  );
  return { name: "lengths", title: "Sentences by length", x: "tokens", lines, zero: true, caption: runs.map((run, i) => lineLabel(runs, i, describeData(run))).join(". ") };
}

/** BLEU by source length, of the best validation. @param {History[]} runs @returns {Chart} */
function bleuByLengthChart(runs) {
  const rows = runs.map(bestValidation);
  const lines = runs.map((_, i) => ({ points: histogram(rows[i]?.bleu_by_length, "bleu"), tone: lineTone(runs, i, 1), label: lineLabel(runs, i, "BLEU"), dash: runs.length > 1 ? i : 0, bars: true }));
  const [row] = rows;
  const caption = runs.length === 1 && row?.bleu_by_length ? `validation at step ${row.step.toLocaleString("en")}; from left to right ${row.bleu_by_length.pairs?.join(", ")} sentences` : "";
  return { name: "by-length", title: "BLEU by source length", x: "source tokens", lines, zero: true, caption };
}

/** @param {History} history @returns {string} description of the training data and of what was left out */
function describeData({ data }) {
  if (!data?.train) return "";
  const { pairs, left_out: left = {} } = data.train;
  const dropped = Object.entries(left).map(([why, count]) => `${Number(count).toLocaleString("en")} ${why}`);
  return [
    `${pairs.toLocaleString("en")} pairs`,
    `left out: ${dropped.join(", ") || "none"}`,
    Number.isFinite(data.ratio) && `target : source ${data.ratio.toFixed(2)}`,
    data.vocabulary && `${data.vocabulary.used.toLocaleString("en")} of ${data.vocabulary.size.toLocaleString("en")} tokens occur, ${(100 * data.vocabulary.byte_share).toFixed(2)}% bytes`,
  ].filter(Boolean).join("; ");
}

/** @param {Row | undefined} row `bins` has the edges or the starts of the bars @param {string} heights @returns {Point[]} ends at 0 */
function histogram(row, heights) {
  const [bins, counts] = [row?.bins ?? [], row?.[heights] ?? []];
  if (!counts.length || bins.length < counts.length) return [];
  const end = bins[counts.length] ?? bins[counts.length - 1] + (counts.length > 1 ? bins[counts.length - 1] - bins[counts.length - 2] : 1);
  return [...counts.map((/** @type {number} */ count, /** @type {number} */ i) => /** @type {Point} */ ([bins[i], count])), [end, 0]];
}

/** @param {History[]} runs @param {number} place @param {string} label @returns {string} with the run's name if there are several */
const lineLabel = (runs, place, label) => (runs.length > 1 ? `${runs[place].name}, ${label}` : label);

/** @param {History[]} runs @param {number} place @param {number} kind @returns {number} one colour per run, or per kind of line if there is one run */
const lineTone = (runs, place, kind) => (runs.length > 1 ? place : kind);

/**
 * Return the values of a metric; rows without it are skipped, a value that is no number becomes a gap.
 * @param {Row[]} rows
 * @param {(row: Row) => number} x
 * @param {string} name
 * @param {number} [factor]
 * @returns {Point[]}
 */
function metricPoints(rows, x, name, factor = 1) {
  return rows.filter((row) => name in row).map((row) => [x(row), typeof row[name] === "number" ? row[name] * factor : NaN]);
}

/** @param {History[]} runs @param {number} i @param {(row: Row) => number} x @param {string} name @param {string} label @param {number} kind @returns {Line} */
function validationLine(runs, i, x, name, label, kind) {
  return { points: downsample(metricPoints(runs[i].valid, x, name)), tone: lineTone(runs, i, kind), label: lineLabel(runs, i, label), dash: runs.length > 1 ? i : 0, marks: runs.length === 1 || kind === 1 };
}

/** The mean of the last checkpoints is a separate mark: it belongs to no step. @param {History[]} runs @param {number} i @param {(row: Row) => number} x @param {string} name @returns {Line[]} */
function meanCheckpointLine(runs, i, x, name) {
  const { mean } = runs[i];
  if (!mean) return [];
  return [{ points: metricPoints([mean], x, name), tone: lineTone(runs, i, 3), label: lineLabel(runs, i, runs.length > 1 ? "average" : `average of ${mean.checkpoints} checkpoints`), marks: true, shape: MEAN_MARK }];
}

/**
 * Return the raw values as a thin line (only for a single run) and their moving average as a thick one.
 * @param {History[]} runs
 * @param {number} i
 * @param {(row: Row) => number} x
 * @param {string} name
 * @param {string} label
 * @param {{ factor?: number, settling?: number }} [how] with `settling`, neither the raw values nor the start scale the y axis
 * @returns {Line[]}
 */
function rawAndSmoothLines(runs, i, x, name, label, { factor = 1, settling = 0 } = {}) {
  const raw = metricPoints(runs[i].train, x, name, factor);
  const line = { tone: lineTone(runs, i, 0), label: lineLabel(runs, i, label) };
  const smoothed = downsample(smooth(raw));
  const thick = { ...line, points: smoothed, dash: runs.length > 1 ? i : 0, unscaled: settling && Math.floor(smoothed.length / settling) };
  if (runs.length > 1) return [thick];
  const seen = downsample(raw);
  return [{ ...line, points: seen, label: `${label}, raw`, weight: "thin", unscaled: settling ? seen.length : 0 }, thick];
}

/** @param {History} run @param {(row: Row) => number} x @returns {Point[]} from the last step before each validation to its end */
function validationPauses({ train, valid }, x) {
  return valid.flatMap((row) => {
    const before = train.findLast((each) => each.step <= row.step);
    return before ? [/** @type {Point} */ ([x(before), x(row)])] : [];
  });
}

/**
 * Reduce a line to few points that keep its peaks: the lowest, the highest and a gap of each part.
 * @param {Point[]} all
 * @returns {Point[]}
 */
export function downsample(all, most = MAX_POINTS) {
  if (all.length <= most) return all;
  const parts = Math.floor(most / 3);
  return Array.from({ length: parts }, (_, p) => {
    const part = all.slice(Math.floor((p * all.length) / parts), Math.floor(((p + 1) * all.length) / parts));
    const known = part.filter(([, y]) => !Number.isNaN(y));
    const points = new Set([part.find(([, y]) => Number.isNaN(y))]);
    if (known.length) {
      points.add(known.reduce((a, b) => (b[1] < a[1] ? b : a)));
      points.add(known.reduce((a, b) => (b[1] > a[1] ? b : a)));
    }
    return part.filter((point) => points.has(point));
  }).flat();
}

/**
 * Return the moving average over a fiftieth of the series; NaN is ignored.
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

/** @typedef {{ source: string, reference: string, rows: { step: number, before: string | null, now: string }[] }} WatchedSentence */

/**
 * Return each watched sentence with the steps at which its translation changed.
 * @param {History} history
 * @returns {WatchedSentence[]}
 */
export function watchedSentences({ valid }) {
  /** @type {Map<string, WatchedSentence>} */
  const sentences = new Map();
  for (const { step, samples } of valid) {
    for (const { source, reference, hypothesis } of samples ?? []) {
      const key = JSON.stringify([source, reference]);
      const seen = sentences.get(key) ?? /** @type {WatchedSentence} */ ({ source, reference, rows: [] });
      sentences.set(key, seen);
      const before = seen.rows.at(-1)?.now ?? null;
      if (hypothesis !== before) seen.rows.push({ step, before, now: hypothesis });
    }
  }
  return [...sentences.values()];
}
