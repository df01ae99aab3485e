// Numbers of a trace: unpacking, attention matrices, labels, alignment, descriptions. No drawing.

/** @typedef {import("regard/types").Trace} Trace */
/** @typedef {import("regard/types").Pack} Pack */
/** @typedef {import("regard/types").Kind} Kind */
/** @typedef {import("regard/types").Token} Token */
/** @typedef {{ data: Float32Array, shape: number[] }} Tensor */
/** @typedef {{ rows: number, columns: number, values: Float32Array }} Matrix */
/** @typedef {{ text: string, tokens: number[], special: boolean }} Label */

/** @type {WeakMap<Pack, Tensor>} */
const unpacked = new WeakMap();

/**
 * Unpack an array to floats; each pack is unpacked once.
 * @param {Pack} pack
 * @returns {Tensor}
 */
export function unpack(pack) {
  let tensor = unpacked.get(pack);
  if (!tensor) {
    tensor = { data: floats(pack.dtype, bytes(pack.data)), shape: pack.shape };
    unpacked.set(pack, tensor);
  }
  return tensor;
}

/** @param {string} text @returns {Uint8Array} */
function bytes(text) {
  const raw = atob(text);
  const out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out;
}

/** @param {Pack["dtype"]} dtype @param {Uint8Array} raw @returns {Float32Array} */
function floats(dtype, raw) {
  const view = new DataView(raw.buffer);
  const size = { u8: 1, u16: 2, f16: 2, f32: 4 }[dtype];
  const out = new Float32Array(raw.length / size);
  for (let i = 0; i < out.length; i++) {
    if (dtype === "u8") out[i] = raw[i] / 255;
    else if (dtype === "u16") out[i] = view.getUint16(2 * i, true) / 65535;
    else if (dtype === "f16") out[i] = float16(view.getUint16(2 * i, true));
    else out[i] = view.getFloat32(4 * i, true);
  }
  return out;
}

/** @param {number} bits */
function float16(bits) {
  const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 0) return sign * 2 ** -24 * fraction;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * 2 ** (exponent - 15) * (1 + fraction / 1024);
}

/**
 * Return the matrix of the last two axes at given indices of the others.
 * @param {Tensor} tensor
 * @param {...number} places
 * @returns {Matrix}
 */
export function matrixAt(tensor, ...places) {
  const [rows, columns] = tensor.shape.slice(-2);
  let at = 0;
  places.forEach((place, axis) => (at = at * tensor.shape[axis] + place));
  return { rows, columns, values: tensor.data.subarray(at * rows * columns, (at + 1) * rows * columns) };
}

/**
 * Return the attention weights of a head, or the mean over heads (head 0); layers and heads count from 1.
 * @param {Trace} trace
 * @param {Kind} kind
 * @param {number} layer
 * @param {number} head
 * @returns {Matrix}
 */
export function attentionWeights(trace, kind, layer, head) {
  const tensor = unpack(trace.attention[kind]);
  if (head) return matrixAt(tensor, layer - 1, head - 1);
  const heads = tensor.shape[1];
  return meanMatrix(Array.from({ length: heads }, (_, h) => matrixAt(tensor, layer - 1, h)));
}

/** @param {Matrix[]} matrices @returns {Matrix} */
export function meanMatrix(matrices) {
  const { rows, columns } = matrices[0];
  const values = new Float32Array(rows * columns);
  for (const matrix of matrices) matrix.values.forEach((value, i) => (values[i] += value / matrices.length));
  return { rows, columns, values };
}

/** @param {Matrix} b @param {Matrix} a @returns {Matrix | null} b - a, or null if the shapes differ */
export function subtractMatrices(b, a) {
  if (a.rows !== b.rows || a.columns !== b.columns) return null;
  return { ...a, values: b.values.map((value, i) => value - a.values[i]) };
}

/**
 * Multiply each weight by the norm of its value vector and normalize the rows.
 * @param {Matrix} matrix
 * @param {Float32Array} norms
 * @returns {Matrix}
 */
export function weighByNorms(matrix, norms) {
  const values = matrix.values.map((value, i) => value * norms[i % matrix.columns]);
  return normalizeRows({ ...matrix, values });
}

/** @param {Matrix} matrix @returns {Matrix} rows with sum 1; rows of zeros stay zero */
export function normalizeRows(matrix) {
  const values = Float32Array.from(matrix.values);
  for (let row = 0; row < matrix.rows; row++) {
    const part = values.subarray(row * matrix.columns, (row + 1) * matrix.columns);
    const sum = part.reduce((a, b) => a + b, 0);
    if (sum > 0) part.forEach((value, i) => (part[i] = value / sum));
  }
  return { ...matrix, values };
}

/**
 * Sum the columns and average the rows over the tokens of each label.
 * @param {Matrix} matrix
 * @param {Label[]} rows
 * @param {Label[]} columns
 * @returns {Matrix}
 */
export function groupTokens(matrix, rows, columns) {
  const values = new Float32Array(rows.length * columns.length);
  rows.forEach((row, r) =>
    columns.forEach((column, c) => {
      let sum = 0;
      for (const i of row.tokens) for (const j of column.tokens) sum += matrix.values[i * matrix.columns + j];
      values[r * columns.length + c] = sum / row.tokens.length;
    }),
  );
  return { rows: rows.length, columns: columns.length, values };
}

/**
 * Keep the fewest weights of each row that reach a share of its mass; set the others to 0.
 * @param {Matrix} matrix
 * @param {number} share from 0 to 1
 * @returns {Matrix}
 */
export function keepTopMass(matrix, share) {
  const values = new Float32Array(matrix.values.length);
  for (let row = 0; row < matrix.rows; row++) {
    const first = row * matrix.columns;
    const order = Array.from({ length: matrix.columns }, (_, i) => first + i);
    order.sort((a, b) => matrix.values[b] - matrix.values[a]);
    const whole = order.reduce((sum, i) => sum + matrix.values[i], 0);
    let sum = 0;
    for (const i of order) {
      if (sum >= share * whole - 1e-6) break;
      values[i] = matrix.values[i];
      sum += matrix.values[i];
    }
  }
  return { ...matrix, values };
}

/**
 * Mean normalized entropy of the rows: 0 is a single key, 1 is uniform. Rows with one visible key are skipped.
 * @param {Matrix} matrix
 * @param {(row: number, column: number) => boolean} [hidden]
 * @returns {number}
 */
export function meanEntropy(matrix, hidden) {
  let [sum, counted] = [0, 0];
  for (let row = 0; row < matrix.rows; row++) {
    const part = matrix.values.subarray(row * matrix.columns, (row + 1) * matrix.columns);
    let free = 0;
    for (let column = 0; column < matrix.columns; column++) free += hidden?.(row, column) ? 0 : 1;
    if (free < 2) continue;
    const whole = part.reduce((a, b) => a + b, 0); // nearly 1: weights are quantized
    sum -= part.reduce((a, p) => a + (p > 0 ? (p / whole) * Math.log(p / whole) : 0), 0) / Math.log(free);
    counted++;
  }
  return sum / Math.max(1, counted);
}

/**
 * Return a function that tells masked cells: later tokens in the decoder, hidden source tokens; undefined if there are none.
 * @param {Trace} trace
 * @param {Kind} kind
 * @param {Label[]} rows
 * @param {Label[]} columns
 * @returns {((row: number, column: number) => boolean) | undefined}
 */
export function maskedCells(trace, kind, rows, columns) {
  const causal = trace.model.causal ?? true;
  if (kind === "decoder") return causal ? (r, c) => columns[c].tokens[0] > Math.max(...rows[r].tokens) : undefined;
  const hidden = new Set(trace.request.interventions.flatMap((each) => (each.type === "mask_source" ? each.positions : [])));
  return hidden.size ? (_, c) => columns[c].tokens.every((token) => hidden.has(token)) : undefined;
}

const SPECIAL_NAMES = { bos: "<s>", eos: "</s>", unk: "<unk>", pad: "<pad>" };

/** The decoder input before the first token. @type {Token} */
const BOS_TOKEN = { id: -1, piece: SPECIAL_NAMES.bos, text: "", start: null, end: null, word: null, special: "bos" };

/** @param {Token} token @returns {string} its label */
export function tokenLabel(token) {
  if (token.special) return SPECIAL_NAMES[token.special] ?? token.piece;
  return token.text.trim() || "␣";
}

/** @param {Token} token @returns {boolean} */
export function isSpecialOrPunctuation(token) {
  return Boolean(token.special) || /^[\p{P}\p{S}\s]*$/u.test(token.text);
}

/**
 * Return the labels of rows and columns. Row i of a decoder reads target input i and predicts token i.
 * @param {Trace} trace
 * @param {Kind} kind
 * @param {{ words?: boolean, plain?: boolean, read?: boolean }} how
 * @returns {{ rows: Label[], columns: Label[] }}
 */
export function axisLabels(trace, kind, how = {}) {
  const group = how.words ? labelWords : labelTokens;
  const filtered = (/** @type {Label[]} */ all) => (how.plain ? all.filter((label) => !label.special) : all);
  const source = filtered(group(trace.source.tokens, trace.source.text));
  if (kind === "encoder") return { rows: source, columns: source };
  if (trace.model.task === "forecasting") {
    const queries = filtered(group(trace.target.tokens, trace.target.text));
    return { rows: queries, columns: kind === "cross" ? source : queries };
  }
  const reads = group([BOS_TOKEN, ...trace.target.tokens.slice(0, -1)], trace.target.text);
  const rows = group(trace.target.tokens, trace.target.text).map((label) => {
    const read = reads.find((each) => each.tokens.includes(label.tokens[0]))?.text;
    return { ...label, text: how.read ? `${read}` : `${read} → ${label.text}` };
  });
  return { rows: filtered(rows), columns: kind === "cross" ? source : filtered(reads) };
}

/** @param {Token[]} tokens @returns {Label[]} */
function labelTokens(tokens) {
  return tokens.map((token, i) => ({ text: tokenLabel(token), tokens: [i], special: isSpecialOrPunctuation(token) }));
}

/** @param {Token[]} tokens @param {string} text of the tokens @returns {Label[]} */
function labelWords(tokens, text) {
  const letters = Array.from(text);
  /** @type {Label[]} */
  const out = [];
  let last = /** @type {number | null | undefined} */ (undefined);
  tokens.forEach((token, i) => {
    const joins = out.length && !token.special && token.word !== null && token.word === last;
    if (joins) {
      const label = out[out.length - 1];
      label.tokens.push(i);
      label.special &&= isSpecialOrPunctuation(token);
      label.text = letters.slice(tokens[label.tokens[0]].start ?? 0, token.end ?? 0).join("").trim();
    } else out.push({ text: tokenLabel(token), tokens: [i], special: isSpecialOrPunctuation(token) });
    last = token.special ? undefined : token.word;
  });
  return out;
}

/**
 * Return the alignment of target to source tokens: mean over the heads of one layer, without special tokens.
 * @param {Trace} trace
 * @returns {Matrix}
 */
export function alignment(trace) {
  const layers = trace.model.decoder_layers;
  const matrix = attentionWeights(trace, "cross", layers > 2 ? layers - 1 : layers, 0);
  const values = matrix.values.map((value, i) =>
    trace.source.tokens[i % matrix.columns].special ? 0 : value,
  );
  return normalizeRows({ ...matrix, values });
}

const FAINT_WEIGHT = 0.15;

/**
 * Describe an attention matrix in words, for screen readers.
 * @param {Matrix} matrix
 * @param {Label[]} columns
 * @param {(row: number, column: number) => boolean} [hidden]
 */
export function describeMatrix(matrix, columns, hidden) {
  const entropy = meanEntropy(matrix, hidden);
  const mass = columns.map((_, c) => {
    let sum = 0;
    for (let row = 0; row < matrix.rows; row++) sum += matrix.values[row * matrix.columns + c];
    return sum / Math.max(1, matrix.rows);
  });
  const most = mass.indexOf(Math.max(...mass));
  const how = entropy < 0.35 ? "each row attends mainly to one token" : entropy < 0.7 ? "rows attend to several tokens" : "rows attend to all tokens nearly equally";
  const where = mass[most] > 0.3 ? `; ${Math.round(100 * mass[most])}% of all weight goes to “${columns[most].text}”` : "";
  const largest = matrix.values.reduce((a, b) => Math.max(a, b), 0);
  const faint = largest < FAINT_WEIGHT ? `; the largest weight is ${largest.toFixed(3)}: stretch the scale to see them` : "";
  return `${how}; mean entropy ${entropy.toFixed(2)}${where}${faint}`;
}

/**
 * Describe the mean of some rows by the three keys with the most weight.
 * @param {Matrix} matrix
 * @param {number[]} rows
 * @param {Label[]} labels row labels
 * @param {Label[]} columns
 */
export function describeRows(matrix, rows, labels, columns) {
  const mass = columns.map((_, c) => rows.reduce((sum, r) => sum + matrix.values[r * matrix.columns + c], 0) / rows.length);
  const order = mass.map((_, c) => c).sort((a, b) => mass[b] - mass[a]).slice(0, 3);
  const who = rows.map((row) => `“${labels[row].text}”`).join(" and ");
  const where = order.filter((c) => mass[c] > 0).map((c) => `“${columns[c].text}” ${mass[c].toFixed(3)}`);
  return `${who} ${rows.length > 1 ? "attend, on average," : "attends"} to ${where.join(", ")}`;
}
