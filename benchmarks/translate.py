"""How fast is translation, next to HF's MarianMTModel.generate and CTranslate2 called directly?

    python benchmarks/translate.py --shape base --threads 1
    python benchmarks/translate.py --shape base --threads 2 --only ctranslate2 direct
    python benchmarks/translate.py --shape base --device cuda --only torch marian --batches 1 64 256

All take turns, each in a process of its own as its users run it: a busy machine slows all alike, and the
ratio is what counts. Random weights, about 25 tokens in and 24 out, the end mark among them: our model
ends there by itself, because its position says so, and Marian is told to. With one thread the clock is
the CPU time of the process, which others on the machine hardly change; with more, CTranslate2 has as many
workers of one thread, its best setting for many sentences, and the clock is the wall's, as it is on a
GPU, where both compute in half precision. Ours keep freed memory, as the commands of regard do; with
--alike the others, too. Prints one JSON line: milliseconds for each batch and beam, and how many times as
fast each engine of ours is as the others.
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
OUT = 24
"""Tokens written, the end mark included."""


class Where(NamedTuple):
    """What computes."""

    device: str
    threads: int


Ids = Sequence[Sequence[int]]
Translate = Callable[[Ids, int], list[int]]
"""Sources and a beam in, the length of each translation out, its end mark counted."""


def ours(name: str) -> Callable[[Path, ModelConfig, Where], Translate]:
    """An engine of regard's: to add one, add a case here and its name to `ENTRANTS`."""

    def make(folder: Path, model: ModelConfig, where: Where) -> Translate:
        match name:
            case "ctranslate2" | "ctranslate2-fp32":
                from regard.inference.ctranslate2 import CTranslate2Engine

                precision = "int8" if name == "ctranslate2" else "fp32"
                engine = CTranslate2Engine(folder, model, precision, where.threads)
            case "torch" | "torch-int8":
                from regard.inference.cuda_graphs import CudaGraphEngine
                from regard.inference.eager import EagerEngine
                from regard.inference.incremental import IncrementalDecoder

                transformer = loaded(folder, model, where)
                if where.device == "cuda":
                    engine = CudaGraphEngine(IncrementalDecoder(transformer, "fp16"))
                else:
                    engine = EagerEngine(
                        IncrementalDecoder(transformer, "int8" if name == "torch-int8" else "fp32")
                    )
            case _:
                raise ValueError(name)
        return lambda sources, beam: [
            len(found[0].tokens) + 1 for found in engine.translate(sources, SearchConfig(beam))
        ]

    return make


def loaded(folder: Path, model: ModelConfig, where: Where):
    """The model, for engines that compute with torch."""
    import torch

    from regard.model.transformer import Transformer
    from regard.train.weights import load_weights

    torch.set_num_threads(where.threads)
    transformer = Transformer(model).eval()
    load_weights(folder, transformer)
    return transformer.to(where.device)


def direct(precision: str) -> Callable[[Path, ModelConfig, Where], Translate]:
    """CTranslate2 with the same weights, called as its users call it: no scores, one hypothesis."""

    def make(folder: Path, model: ModelConfig, where: Where) -> Translate:
        import ctranslate2

        from regard.inference.ctranslate2 import COMPUTE_TYPES
        from regard.inference.ctranslate2_convert import cached_conversion

        translator = ctranslate2.Translator(
            str(cached_conversion(folder, model, precision)),
            compute_type=COMPUTE_TYPES[precision],
            inter_threads=where.threads,
            intra_threads=1,
        )

        def translate(sources: Ids, beam: int) -> list[int]:
            words = [[str(id) for id in row] for row in sources]
            share = -(-len(words) // where.threads)
            answers = translator.translate_batch(words, beam_size=beam, max_batch_size=share)
            return [len([int(word) for word in answer.hypotheses[0]]) + 1 for answer in answers]

        return translate

    return make


def marian(_folder: Path, model: ModelConfig, where: Where) -> Translate:
    """HF's MarianMTModel of the same shape."""
    import torch
    from transformers import MarianConfig, MarianMTModel

    torch.set_num_threads(where.threads)
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
    peer = peer.half().cuda() if where.device == "cuda" else peer
    peer.generation_config.forced_eos_token_id = peer.generation_config.bad_words_ids = None

    def translate(sources: Ids, beam: int) -> list[int]:
        longest = max(map(len, sources)) + 1
        rows = torch.tensor([[*row, EOS, *[PAD] * (longest - len(row) - 1)] for row in sources])
        rows = rows.to(where.device)
        with torch.inference_mode():
            found = peer.generate(
                input_ids=rows,
                attention_mask=(rows != PAD).long(),
                num_beams=beam,
                do_sample=False,
                min_new_tokens=OUT,
                max_new_tokens=OUT,
            )
        return [len(row) - 1 for row in found]

    return translate


ENTRANTS: dict[str, Callable[[Path, ModelConfig, Where], Translate]] = {
    "ctranslate2": ours("ctranslate2"),
    "ctranslate2-fp32": ours("ctranslate2-fp32"),
    "torch": ours("torch"),
    "torch-int8": ours("torch-int8"),
    "direct": direct("int8"),
    "direct-fp32": direct("fp32"),
    "marian": marian,
}
PEERS = ("direct", "direct-fp32", "marian")


def write_model(folder: Path, model: ModelConfig) -> None:
    """Random weights that write tokens until the position before the last, and there the end mark.

    Every sublayer adds little, so that what the position says reaches the output. Before the last place
    it points away from the end mark's vector, there straight to it.
    """
    import torch

    from regard.model.position import paper_position_table
    from regard.model.transformer import Transformer
    from regard.train.weights import save_weights

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
        table[OUT - 1] = 10 * width * end
        transformer.output.weight[EOS] = 2 * end

    def fill(place: Path) -> dict[str, object]:
        save_weights(place, transformer)
        return {}

    write_folder_atomically(folder, fill)


def sources(count: int, vocab: int) -> list[list[int]]:
    draw = random.Random(0)
    return [[draw.randrange(4, vocab) for _ in range(draw.randint(20, 29))] for _ in range(count)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--shape", choices=SHAPES, default="base")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batches", type=int, nargs="*", default=[1, 32, 64])
    parser.add_argument("--beams", type=int, nargs="*", default=[1, 4])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument(
        "--seconds", type=float, default=1.0, help="how long a turn repeats one batch, at least"
    )
    parser.add_argument("--alike", action="store_true", help="others keep freed memory as ours do")
    parser.add_argument("--only", nargs="*", choices=ENTRANTS, default=list(ENTRANTS))
    parser.add_argument("--alone", nargs=2, metavar=("NAME", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        print(json.dumps(measure(options)))
        return
    results: dict[str, list[dict[str, float]]] = {name: [] for name in options.only}
    with tempfile.TemporaryDirectory() as temporary:
        folder = str(Path(temporary) / "model")
        write_model(Path(folder), SHAPES[options.shape])
        for _ in range(options.turns):
            for name, turns in results.items():
                command = [sys.executable, *sys.argv, "--alone", name, folder]
                turns.append(json.loads(subprocess.run(command, check=True, stdout=-1).stdout))
    print(json.dumps(report(options, results)))


def report(options: argparse.Namespace, results: dict[str, list[dict[str, float]]]) -> dict[str, object]:
    cells = [f"{batch}x{beam}" for batch in options.batches for beam in options.beams]
    spent = {
        name: {cell: statistics.median(turn[cell] for turn in turns) for cell in cells}
        for name, turns in results.items()
    }
    ratios = {
        f"{name}_over_{peer}": {cell: round(spent[peer][cell] / spent[name][cell], 2) for cell in cells}
        for name in spent
        for peer in spent
        if name not in PEERS and peer in PEERS
    }
    return {
        "benchmark": "translate",
        "shape": options.shape,
        "device": options.device,
        "threads": options.threads,
        "clock": "cpu" if by_cpu_time(options) else "wall",
        "cells": "batch x beam",
        "milliseconds": {
            name: {cell: round(ms, 1) for cell, ms in row.items()} for name, row in spent.items()
        },
        **ratios,
    }


def by_cpu_time(options: argparse.Namespace) -> bool:
    return options.threads == 1 and options.device == "cpu"


def measure(options: argparse.Namespace) -> dict[str, float]:
    """One of them in a process of its own: milliseconds of each batch."""
    name, folder = options.alone
    model = SHAPES[options.shape]
    if options.alike or name not in PEERS:
        keep_freed_memory()
    translate = ENTRANTS[name](Path(folder), model, Where(options.device, options.threads))
    now = time.process_time if by_cpu_time(options) else time.perf_counter
    spent = {}
    for batch in options.batches:
        rows = sources(batch, model.vocab_size)
        for beam in options.beams:
            lengths = translate(rows, beam)  # for warming up
            assert set(lengths) == {OUT}, f"{name} wrote {lengths}"
            start, runs = now(), 0
            while runs == 0 or now() - start < options.seconds:
                translate(rows, beam)
                runs += 1
            spent[f"{batch}x{beam}"] = 1000 * (now() - start) / runs
    return spent


if __name__ == "__main__":
    main()
