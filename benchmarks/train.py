"""Training speed of regard, torch.nn.Transformer and Marian of Hugging Face with the same model.

    python benchmarks/train.py --shape small --device cpu --precision fp32 --threads 1
    python benchmarks/train.py --shape base --device cuda --precision bf16

Each system runs in a separate process, and they take turns (on a CPU after every batch), so that a busy
machine slows all of them equally: the ratio is the result. One step: forward pass, cross-entropy with label
smoothing, backward pass, Adam; dropout 0.1. Sentences have log-normal lengths and are batched by length; the
others get padded batches, regard packs them. Speed is target tokens per second without padding; with one
thread, per second of CPU time, which other processes affect least. Prints one JSON line.
"""

import argparse
import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from regard.data.batch import BatchShape, PairBatch, make_pair_batch, pad_rows
from regard.data.pairs import RaggedIds, concatenate_rows
from regard.model import config as presets
from regard.model.config import ModelConfig
from regard.model.position import paper_position_table
from regard.model.transformer import Transformer
from regard.runtime import keep_freed_memory
from regard.text.tokenizer import BOS, EOS, PAD
from regard.training.cuda_graph_step import CudaGraphStep
from regard.training.device import autocast_to
from regard.training.optimizer import OptimizerConfig, build_optimizer
from regard.training.step import EagerStep, Learner, TrainStep
from regard.training.task import BatchCounts
from regard.translation.task import pair_loss


class Shape(NamedTuple):
    """A model size with a distribution of sentence lengths and a batch size."""

    model: ModelConfig
    mean: float
    spread: float
    tokens: int


SHAPES = {
    "tiny": Shape(replace(presets.TINY, vocab_size=10_000), 14, 0.35, 8192),
    "small": Shape(replace(presets.SMALL, vocab_size=8_000), 14, 0.35, 4096),
    "base": Shape(replace(presets.BASE, vocab_size=32_000), 27, 0.55, 4096),
    "base-gpu": Shape(replace(presets.BASE, vocab_size=32_768), 27, 0.6, 25_600),
}
MAX_SENTENCE_TOKENS = 128
PRECISIONS = {"fp32": torch.float32, "bf16": torch.bfloat16}
Pairs = tuple[RaggedIds, RaggedIds]
Stepper = Callable[[Pairs], None]


def compiled_layers(model: Transformer) -> list[nn.Module]:
    return [model.source_embedding, model.target_embedding, *model.encoder.layers, *model.decoder.layers]


class TorchTransformer(nn.Module):
    """torch.nn.Transformer with embeddings and output layer, as in its tutorial."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.register_buffer("positions", paper_position_table(config.max_length, config.d_model))
        self.dropout = nn.Dropout(config.dropout)
        self.core = nn.Transformer(
            config.d_model,
            config.heads,
            config.encoder_layers,
            config.decoder_layers,
            config.d_ff,
            config.dropout,
            batch_first=True,
        )
        self.output = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.output.weight = self.embedding.weight
        self.scale = math.sqrt(config.d_model)

    def forward(self, source: Tensor, target_in: Tensor) -> Tensor:
        length = target_in.shape[1]
        causal = torch.ones(length, length, dtype=torch.bool, device=source.device).triu(1)
        decoded = self.core(
            self._embed(source),
            self._embed(target_in),
            tgt_mask=causal,
            src_key_padding_mask=source == PAD,
            tgt_key_padding_mask=target_in == PAD,
            memory_key_padding_mask=source == PAD,
        )
        return self.output(decoded)

    def _embed(self, tokens: Tensor) -> Tensor:
        return self.dropout(self.embedding(tokens) * self.scale + self.positions[: tokens.shape[1]])


class Marian(nn.Module):
    """MarianMTModel of Hugging Face with the same sizes, with fused or explicit attention."""

    def __init__(self, config: ModelConfig, attention: str = "sdpa") -> None:
        super().__init__()
        from transformers import MarianConfig, MarianMTModel

        self.core = MarianMTModel(
            MarianConfig(
                vocab_size=config.vocab_size,
                d_model=config.d_model,
                encoder_layers=config.encoder_layers,
                decoder_layers=config.decoder_layers,
                encoder_attention_heads=config.heads,
                decoder_attention_heads=config.heads,
                encoder_ffn_dim=config.d_ff,
                decoder_ffn_dim=config.d_ff,
                dropout=config.dropout,
                activation_function="relu",
                scale_embedding=True,
                pad_token_id=PAD,
                max_position_embeddings=config.max_length,
                attn_implementation=attention,
            )
        )

    def forward(self, source: Tensor, target_in: Tensor) -> Tensor:
        return self.core(
            input_ids=source,
            attention_mask=(source != PAD).long(),
            decoder_input_ids=target_in,
            decoder_attention_mask=(target_in != PAD).long(),
            use_cache=False,
        ).logits


def padded_stepper(model: nn.Module, device: torch.device, precision: torch.dtype) -> Stepper:
    """Return a training step of another system, as its tutorials write it."""
    model.to(device).train()
    adam = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)
    cast = nullcontext() if precision == torch.float32 else torch.autocast(device.type, precision)
    padded: dict[int, tuple[Tensor, ...]] = {}

    def rows(ids: RaggedIds, before: Sequence[int], after: Sequence[int]) -> Tensor:
        return pad_rows(
            [np.concatenate([before, ids[i], after]).astype(np.int64) for i in range(len(ids))]
        ).to(device)

    def step(pairs: Pairs) -> None:
        source, target = pairs
        if id(pairs) not in padded:
            padded[id(pairs)] = (rows(source, [], [EOS]), rows(target, [BOS], []), rows(target, [], [EOS]))
        sources, target_in, target_out = padded[id(pairs)]
        adam.zero_grad(set_to_none=True)
        with cast:
            logits = model(sources, target_in)
            loss = nn.functional.cross_entropy(
                logits.flatten(0, 1), target_out.flatten(), ignore_index=PAD, label_smoothing=0.1
            )
        loss.backward()
        adam.step()

    return step


@dataclass(frozen=True)
class BenchmarkTask:
    """The part of a task that a training step needs."""

    model: Transformer
    device: torch.device
    precision: torch.dtype

    def loss(self, batch: PairBatch) -> Tensor:
        with autocast_to(self.precision, self.device):
            return pair_loss(self.model, batch, 0.1)

    def batch_counts(self, batch: PairBatch) -> BatchCounts:
        return BatchCounts(batch.source_tokens, batch.target_tokens)


def regard_stepper(shape: Shape, device: torch.device, precision: torch.dtype) -> Stepper:
    """Return a training step of regard, as in `regard train`."""
    task = BenchmarkTask(Transformer(shape.model).to(device).train(), device, precision)
    learner = Learner(task.model, build_optimizer(task.model, OptimizerConfig()))
    slots = int(1.3 * shape.tokens / shape.mean) + shape.tokens // MAX_SENTENCE_TOKENS
    form = BatchShape(shape.tokens, slots, MAX_SENTENCE_TOKENS) if device.type == "cuda" else None
    packed: dict[int, PairBatch] = {}
    steps: list[TrainStep[PairBatch]] = []

    def step(pairs: Pairs) -> None:
        source, target = pairs
        if id(pairs) not in packed:
            packed[id(pairs)] = make_pair_batch(source, target, np.arange(len(source)), form).to(device)
        batch = packed[id(pairs)]
        if not steps and form is not None:
            example = make_pair_batch(source, target, np.arange(len(source)), form).to(device)
            steps.append(CudaGraphStep(task, learner, 1, None, example, 1, compiled_layers(task.model)))
        elif not steps:
            steps.append(EagerStep(task, learner, 1, None))
        steps[0](1, [batch], 1e-4)

    return step


def sentences(shape: Shape, steps: int, sort: bool) -> list[Pairs]:
    """Return batches of about `shape.tokens` target tokens with the lengths of real translations."""
    random = np.random.default_rng(1)
    middle = math.log(shape.mean) - shape.spread**2 / 2
    drawn = random.standard_normal((2, 40_000))
    drawn[1] = 0.9 * drawn[0] + math.sqrt(1 - 0.81) * drawn[1]
    lengths = np.clip(np.exp(middle + shape.spread * drawn).round().astype(int), 3, 100)
    order = np.lexsort(lengths) if sort else np.arange(lengths.shape[1])
    lengths = lengths[:, order]
    batches, first = [], 0
    while True:
        start = np.cumsum(lengths, axis=1)[:, first - 1] if first else np.zeros(2, int)
        longest = (np.cumsum(lengths, axis=1) - start[:, None]).max(axis=0)
        last = int(np.searchsorted(longest[first:], shape.tokens, side="right")) + first
        if last >= lengths.shape[1]:
            break
        batches.append(lengths[:, first:last])
        first = last
    chosen = [batches[int((i + 0.5) * len(batches) / steps)] for i in range(steps)]
    vocab = shape.model.vocab_size
    return [
        tuple(concatenate_rows([random.integers(3, vocab, n - 1) for n in side]) for side in batch)
        for batch in chosen
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--shape", choices=SHAPES, default="small")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=6, help="batches per turn")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--only", nargs="*", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--worker", choices=SYSTEMS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        serve(options)
        return
    workers = {name: Worker(name) for name in options.only}
    parts = range(1 if options.device == "cuda" else options.steps)
    turns = [
        {name: worker.seconds(part) for name, worker in workers.items()}
        for part in parts
        for _ in range(options.turns)
    ]
    peaks = {name: worker.end() for name, worker in workers.items()}
    speed = {
        name: options.turns * worker.tokens / sum(turn[name] for turn in turns)
        for name, worker in workers.items()
    }
    others = [name for name in speed if name != "regard"]
    print(
        json.dumps(
            {
                "benchmark": "train",
                **{name: getattr(options, name) for name in ("shape", "device", "precision", "threads")},
                "torch": torch.__version__,
                "target_tokens_per_second": {name: round(value) for name, value in speed.items()},
                "peak_gb": peaks,
                **{f"regard_over_{name}": round(speed["regard"] / speed[name], 2) for name in others},
            }
        )
    )


SYSTEMS: dict[str, Callable[[Shape, torch.device, torch.dtype], Stepper]] = {
    "regard": regard_stepper,
    "torch": lambda shape, *rest: padded_stepper(TorchTransformer(shape.model), *rest),
    "marian": lambda shape, *rest: padded_stepper(Marian(shape.model), *rest),
    "marian-explicit": lambda shape, *rest: padded_stepper(Marian(shape.model, "eager"), *rest),
}


class Worker:
    """A system in its own process, warmed up, which waits for its turns."""

    def __init__(self, name: str) -> None:
        command = [sys.executable, *sys.argv, "--worker", name]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.tokens = self.read_answer()

    def read_answer(self) -> float:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def seconds(self, part: int) -> float:
        """Return the duration of a part of the batches."""
        assert self._process.stdin is not None
        print(part, file=self._process.stdin, flush=True)
        return self.read_answer()

    def end(self) -> float:
        """End the process and return its peak memory in GiB."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        return self.read_answer()


def serve(options: argparse.Namespace) -> None:
    """Run a worker: print the number of tokens, then the duration of each part, then the peak memory."""
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    device, precision = torch.device(options.device), PRECISIONS[options.precision]
    shape, gpu = SHAPES[options.shape], options.device == "cuda"
    if options.worker == "regard":
        keep_freed_memory()
    step = SYSTEMS[options.worker](shape, device, precision)
    batches = sentences(shape, options.steps, sort=not (gpu and options.worker == "regard"))
    parts = [batches] if gpu else [[batch] for batch in batches]
    for part in parts:  # warm-up: caches and reused memory are then as in a long training
        measure_seconds(step, part, device, options.threads)
    print(sum(int(target.lengths.sum()) + len(target) for _, target in batches), flush=True)
    for line in sys.stdin:
        print(measure_seconds(step, parts[int(line)], device, options.threads), flush=True)
    peak = (
        torch.cuda.max_memory_allocated()
        if gpu
        else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    )
    print(round(peak / 2**30, 2))


def measure_seconds(step: Stepper, batches: Sequence[Pairs], device: torch.device, threads: int) -> float:
    """Return the duration of the batches: CPU time with one thread, else wall-clock time."""
    now = time.process_time if device.type == "cpu" and threads == 1 else time.perf_counter
    start = now()
    for batch in batches:
        step(batch)
    if device.type == "cuda":
        torch.cuda.synchronize()
    return now() - start


if __name__ == "__main__":
    main()
