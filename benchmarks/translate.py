"""Translation speed compared with HF's MarianMTModel.generate and with CTranslate2 called directly.

    python benchmarks/translate.py --shape base --threads 1
    python benchmarks/translate.py --shape base --threads 2 --only ctranslate2 direct
    python benchmarks/translate.py --shape base --device cuda --only torch marian --batches 1 64 256

The engines take turns, each run in a process of its own: a busy machine slows all of them alike, and the
ratio is what counts. The model has random weights; sources have about 25 tokens and translations 24, with
the end mark: our model ends there because of its position table, and Marian is told to. With one thread the
clock is the CPU time of the process, which other processes hardly change; with more, CTranslate2 has as
many workers of one thread, its best setting for many sentences, and the clock is wall time, as it is on a
GPU, where both compute in half precision. Ours keep freed memory, as the commands of regard do; with
--keep-memory the others do, too. Prints one JSON line: milliseconds for each batch and beam, and the speed
of each of our engines relative to each of the others.
"""

import argparse
import json
import math
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from regard.checkpoint import write_folder_atomically
from regard.model import config as presets
from regard.model.config import ModelConfig
from regard.runtime import keep_freed_memory
from regard.search.config import SearchConfig
from regard.text.tokenizer import BOS, EOS, PAD

SHAPES = {
    "small": replace(presets.SMALL, position="learned"),
    "base": replace(presets.BASE, vocab_size=32_000, position="learned"),
}
TARGET_TOKENS = 24
"""Tokens of a translation, end mark included."""


class Hardware(NamedTuple):
    """The device and its threads."""

    device: str
    threads: int


Ids = Sequence[Sequence[int]]
Translate = Callable[[Ids, int], list[int]]
"""From sources and a beam to the length of each translation, end mark included."""


def make_engine_runner(name: str) -> Callable[[Path, ModelConfig, Hardware], Translate]:
    """Return a factory of one of our engines; a new one needs a case here and an entry in `RUNNERS`."""

    def make(folder: Path, model: ModelConfig, hardware: Hardware) -> Translate:
        match name:
            case "ctranslate2" | "ctranslate2-fp32":
                from regard.inference.ctranslate2 import CTranslate2Engine

                precision = "int8" if name == "ctranslate2" else "fp32"
                engine = CTranslate2Engine(folder, model, precision, hardware.threads)
            case "torch" | "torch-int8":
                from regard.inference.cuda_graphs import CudaGraphEngine
                from regard.inference.eager import EagerEngine
                from regard.inference.incremental import IncrementalDecoder

                transformer = load_transformer(folder, model, hardware)
                if hardware.device == "cuda":
                    engine = CudaGraphEngine(IncrementalDecoder(transformer, "fp16"))
                else:
                    engine = EagerEngine(
                        IncrementalDecoder(transformer, "int8" if name == "torch-int8" else "fp32")
                    )
            case _:
                raise ValueError(name)
        return lambda sources, beam: [
            len(hypotheses[0].tokens) + 1 for hypotheses in engine.translate(sources, SearchConfig(beam))
        ]

    return make


def load_transformer(folder: Path, model: ModelConfig, hardware: Hardware):
    """Return the model, for engines that compute with torch."""
    import torch

    from regard.model.transformer import Transformer
    from regard.training.weights import load_weights

    torch.set_num_threads(hardware.threads)
    transformer = Transformer(model).eval()
    load_weights(folder, transformer)
    return transformer.to(hardware.device)


def make_ctranslate2_runner(precision: str) -> Callable[[Path, ModelConfig, Hardware], Translate]:
    """Return a factory of CTranslate2 itself with the same weights: no scores, one hypothesis."""

    def make(folder: Path, model: ModelConfig, hardware: Hardware) -> Translate:
        import ctranslate2

        from regard.inference.ctranslate2 import COMPUTE_TYPES
        from regard.inference.ctranslate2_convert import cached_conversion

        translator = ctranslate2.Translator(
            str(cached_conversion(folder, model, precision)),
            compute_type=COMPUTE_TYPES[precision],
            inter_threads=hardware.threads,
            intra_threads=1,
        )

        def translate(sources: Ids, beam: int) -> list[int]:
            texts = [[str(id) for id in row] for row in sources]
            batch_size = -(-len(texts) // hardware.threads)
            results = translator.translate_batch(texts, beam_size=beam, max_batch_size=batch_size)
            return [len([int(token) for token in result.hypotheses[0]]) + 1 for result in results]

        return translate

    return make


def make_marian_runner(_folder: Path, model: ModelConfig, hardware: Hardware) -> Translate:
    """Return HF's MarianMTModel of the same size."""
    import torch
    from transformers import MarianConfig, MarianMTModel

    torch.set_num_threads(hardware.threads)
    torch.manual_seed(0)
    peer = MarianMTModel(
        MarianConfig(
            vocab_size=model.vocab_size,
            d_model=model.d_model,
            encoder_layers=model.encoder_layers,
            decoder_layers=model.decoder_layers,
            encoder_attention_heads=model.heads,
            decoder_attention_heads=model.heads,
            encoder_ffn_dim=model.d_ff,
            decoder_ffn_dim=model.d_ff,
            activation_function="relu",
            scale_embedding=True,
            pad_token_id=PAD,
            bos_token_id=BOS,
            eos_token_id=EOS,
            decoder_start_token_id=BOS,
            forced_eos_token_id=None,
            max_position_embeddings=model.max_length,
        )
    ).eval()
    peer = peer.half().cuda() if hardware.device == "cuda" else peer
    peer.generation_config.forced_eos_token_id = peer.generation_config.bad_words_ids = None

    def translate(sources: Ids, beam: int) -> list[int]:
        longest = max(map(len, sources)) + 1
        rows = torch.tensor([[*row, EOS, *[PAD] * (longest - len(row) - 1)] for row in sources])
        rows = rows.to(hardware.device)
        with torch.inference_mode():
            tokens = peer.generate(
                input_ids=rows,
                attention_mask=(rows != PAD).long(),
                num_beams=beam,
                do_sample=False,
                min_new_tokens=TARGET_TOKENS,
                max_new_tokens=TARGET_TOKENS,
            )
        return [len(row) - 1 for row in tokens]

    return translate


RUNNERS: dict[str, Callable[[Path, ModelConfig, Hardware], Translate]] = {
    "ctranslate2": make_engine_runner("ctranslate2"),
    "ctranslate2-fp32": make_engine_runner("ctranslate2-fp32"),
    "torch": make_engine_runner("torch"),
    "torch-int8": make_engine_runner("torch-int8"),
    "direct": make_ctranslate2_runner("int8"),
    "direct-fp32": make_ctranslate2_runner("fp32"),
    "marian": make_marian_runner,
}
PEERS = ("direct", "direct-fp32", "marian")


def write_model(folder: Path, model: ModelConfig) -> None:
    """Write random weights whose translations have `TARGET_TOKENS` tokens.

    Sublayers contribute little, so that the positional encoding dominates the output: it points away from the
    end mark's embedding, and towards it at the last position.
    """
    import torch

    from regard.model.position import paper_position_table
    from regard.model.transformer import Transformer
    from regard.training.weights import save_weights

    torch.manual_seed(0)
    transformer = Transformer(model)
    end = torch.nn.functional.normalize(torch.randn(model.d_model), dim=0)
    width = math.sqrt(model.d_model)
    with torch.no_grad():
        for name, weight in transformer.named_parameters():
            if name.endswith(("attention.output.weight", "feed_forward.outer.weight")):
                weight.mul_(0.1)
        table = transformer.target_embedding.positions.table
        table.copy_(paper_position_table(*table.shape) - width * end)
        table[TARGET_TOKENS - 1] = 10 * width * end
        transformer.output.weight[EOS] = 2 * end

    def fill(temporary: Path) -> dict[str, object]:
        save_weights(temporary, transformer)
        return {}

    write_folder_atomically(folder, fill)


def random_sources(count: int, vocab: int) -> list[list[int]]:
    rng = random.Random(0)
    return [[rng.randrange(4, vocab) for _ in range(rng.randint(20, 29))] for _ in range(count)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--shape", choices=SHAPES, default="base")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batches", type=int, nargs="*", default=[1, 32, 64])
    parser.add_argument("--beams", type=int, nargs="*", default=[1, 4])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument(
        "--seconds", type=float, default=1.0, help="minimum time for which a turn repeats one batch"
    )
    parser.add_argument("--keep-memory", action="store_true", help="the others keep freed memory, too")
    parser.add_argument("--only", nargs="*", choices=RUNNERS, default=list(RUNNERS))
    parser.add_argument("--run-one", nargs=2, metavar=("NAME", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run_one:
        print(json.dumps(measure(options)))
        return
    results: dict[str, list[dict[str, float]]] = {name: [] for name in options.only}
    with tempfile.TemporaryDirectory() as temporary:
        folder = str(Path(temporary) / "model")
        write_model(Path(folder), SHAPES[options.shape])
        for _ in range(options.turns):
            for name, turns in results.items():
                command = [sys.executable, *sys.argv, "--run-one", name, folder]
                turns.append(json.loads(subprocess.run(command, check=True, stdout=-1).stdout))
    print(json.dumps(summarize(options, results)))


def summarize(options: argparse.Namespace, results: dict[str, list[dict[str, float]]]) -> dict[str, object]:
    cells = [f"{batch}x{beam}" for batch in options.batches for beam in options.beams]
    milliseconds = {
        name: {cell: statistics.median(turn[cell] for turn in turns) for cell in cells}
        for name, turns in results.items()
    }
    ratios = {
        f"{name}_over_{peer}": {
            cell: round(milliseconds[peer][cell] / milliseconds[name][cell], 2) for cell in cells
        }
        for name in milliseconds
        for peer in milliseconds
        if name not in PEERS and peer in PEERS
    }
    return {
        "benchmark": "translate",
        "shape": options.shape,
        "device": options.device,
        "threads": options.threads,
        "clock": "cpu" if uses_cpu_time(options) else "wall",
        "cells": "batch x beam",
        "milliseconds": {
            name: {cell: round(ms, 1) for cell, ms in row.items()} for name, row in milliseconds.items()
        },
        **ratios,
    }


def uses_cpu_time(options: argparse.Namespace) -> bool:
    return options.threads == 1 and options.device == "cpu"


def measure(options: argparse.Namespace) -> dict[str, float]:
    """Return the milliseconds of each batch for one engine, in this process."""
    name, folder = options.run_one
    model = SHAPES[options.shape]
    if options.keep_memory or name not in PEERS:
        keep_freed_memory()
    translate = RUNNERS[name](Path(folder), model, Hardware(options.device, options.threads))
    clock = time.process_time if uses_cpu_time(options) else time.perf_counter
    milliseconds = {}
    for batch in options.batches:
        rows = random_sources(batch, model.vocab_size)
        for beam in options.beams:
            lengths = translate(rows, beam)  # warms up
            assert set(lengths) == {TARGET_TOKENS}, f"{name} wrote {lengths}"
            start, runs = clock(), 0
            while runs == 0 or clock() - start < options.seconds:
                translate(rows, beam)
                runs += 1
            milliseconds[f"{batch}x{beam}"] = 1000 * (clock() - start) / runs
    return milliseconds


if __name__ == "__main__":
    main()
