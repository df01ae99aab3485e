/** The trace, version 1, as src/regard/trace/trace.v1.schema.json describes it. */
export type Kind = "encoder" | "decoder" | "cross";
export type Task = "translation" | "classification" | "forecasting";
export type Special = "bos" | "eos" | "unk" | "pad";
export interface Pack {
  dtype: "u8" | "u16" | "f16" | "f32";
  shape: number[];
  data: string;
}
export interface Token {
  id: number;
  piece: string;
  text: string;
  start: number | null;
  end: number | null;
  word: number | null;
  special?: Special;
  logprob?: number;
}
export interface Candidate {
  id: number;
  text: string;
  logprob: number;
}
export interface Head {
  entropy: number;
  peak: number;
  label: string | null;
  importance: number | null;
}
export type Intervention =
  | { type: "head"; kind: Kind; layer: number; head: number; mode: "zero" | "uniform" }
  | { type: "sublayer"; stack: "encoder" | "decoder"; layer: number; sublayer: "self" | "cross" | "ffn" }
  | { type: "mask_source"; positions: number[] }
  | { type: "positions" };
export interface Request {
  text: string;
  beam: number;
  alpha: number;
  max_extra?: number;
  top_k: number;
  /** Token ids; as text, too, where something is asked for. */
  prefix: number[] | string;
  target: number[] | string | null;
  interventions: Intervention[];
  step?: number | null;
}
export interface Model {
  name: string;
  id: string;
  source_lang: string | null;
  target_lang: string | null;
  step: number | null;
  encoder_layers: number;
  decoder_layers: number;
  heads: number;
  d_model: number;
  d_k: number;
  d_ff: number;
  norm: "post" | "pre" | "literal";
  positions: string;
  vocab: { source: number; target: number };
  shared: boolean;
  parameters: number;
  attention_scale?: number | null;
  /** What the model is for; a translation where it is not said. */
  task?: Task;
  /** Whether the decoder sees earlier places only; so it does where it is not said. */
  causal?: boolean;
}
export interface Residual {
  points: string[];
  stream: Pack;
  update: Pack;
}
export interface Node {
  id: number;
  parent: number | null;
  t: number;
  token: number;
  text: string;
  logprob: number;
  sum: number;
  score: number;
  rank: number;
  state: "kept" | "pruned" | "finished";
}
export interface Beam {
  size: number;
  alpha: number;
  nodes: Node[];
  finished: { node: number; rank: number }[];
  greedy: { tokens: number[]; text: string; score: number; diverges_at: number | null };
}
export interface Trace {
  format: "regard.trace";
  version: 1;
  regard: string;
  id: string;
  model: Model;
  request: Request;
  source: { text: string; tokens: Token[] };
  target: { text: string; score: number; logprob: number; forced: boolean; tokens: Token[]; unlike_training?: boolean | null };
  /** Of the kinds that the model has: a translation has them all. */
  attention: Record<Kind, Pack>;
  value_norm: Record<Kind, Pack>;
  residual: Record<"encoder" | "decoder", Residual>;
  steps: { t: number; entropy: number; rank: number; top: Candidate[] }[];
  logit_lens: { id: number; text: string; prob: number; prob_final: number }[][];
  heads: Record<Kind, Head[][]>;
  beam: Beam | null;
  qkv?: Record<Kind, { layers: number[]; q: Pack; k: Pack; v: Pack }>;
  timing: { decode_ms: number; capture_ms: number };
  vocabulary: Record<string, string>;
  omitted: string[];
}
export interface Line {
  source: Trace["source"];
  target: Trace["target"];
  alignment: number[][];
  n_best: { text: string; score: number; logprob: number }[];
  omitted: string | null;
}
export interface Block {
  id: string;
  stack: string;
  layer: number | null;
  kind: string;
  parameters: number;
  shapes: [string, number[]][];
}
export interface Info {
  regard: string;
  model: Model;
  languages: { source: string | null; target: string | null };
  limits: { max_trace_tokens: number };
  example: string;
  /** How a sentence is searched for when the page does not say. */
  search: { beam: number; alpha: number };
  run: null | { id: string; name: string; mean: boolean; checkpoints: { step: number; best: boolean; model: boolean }[] };
  /** Other runs, to compare the curves with. */
  others?: { id: string; name: string }[];
  blocks: Block[];
}
