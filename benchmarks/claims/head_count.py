"""E5: is one head of the same width worse than eight, and do eight look at different things?"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations
from statistics import fmean, stdev
from typing import cast

import torch
from torch import Tensor

from benchmark_setting import BenchmarkSetting, Measurements
from claim_task import ClaimTask, ClaimTrainingResult, train_claim_model
from mixing_model import MixingModel
from pointer_tasks import ANSWERS, LENGTH, VOCAB, two_symbols_at_distances
from regard.model.attention import MultiHeadAttention
from regard.model.config import ModelConfig
from regard.model.layers import EncoderLayer
from report_figures import LineChart, line_chart, markdown_table
from synthetic_data import phrasebook_batches, seeded_batches
from transformer_baseline import TransformerBaseline

HEADS = (1, 8)
PEAK = 6e-3
CONFIG = ModelConfig(d_model=64, d_ff=128, encoder_layers=2, decoder_layers=2, dropout=0.0)


def measure(setting: BenchmarkSetting) -> Measurements:
    book = phrasebook_batches(setting.pick(20_000, 200))
    seeds = setting.pick((1, 2, 3), (1,))
    found: Measurements = {}
    for heads in HEADS:
        config = replace(CONFIG, heads=heads, vocab_size=book.vocab)
        lessons, places, apart, before = [], [], [], []
        for seed in seeds:
            torch.manual_seed(seed)
            model = TransformerBaseline(config)
            task = ClaimTask(model, book.training_batch, book.valid, setting.device)
            before.append(head_difference(model, book.valid[0].source.to(setting.device)))
            lessons.append(train_claim_model(task, setting.pick(500, 3), PEAK, seed))
            apart.append(head_difference(model, book.valid[0].source.to(setting.device)))
            places.append(train_on_two_positions(heads, seed, setting))
        found[str(heads)] = {
            "loss": [lesson.loss for lesson in lessons],
            "accuracy": [lesson.accuracy for lesson in lessons],
            "two_places": [lesson.accuracy for lesson in places],
            "curve": places[0].curve,
            "apart_before": before,
            "apart": apart,
        }
    return found


def train_on_two_positions(heads: int, seed: int, setting: BenchmarkSetting) -> ClaimTrainingResult:
    """One layer of attention, asked for two words at once."""
    torch.manual_seed(seed)
    model = MixingModel(replace(CONFIG, heads=heads, vocab_size=VOCAB), LENGTH, ANSWERS, "attention")
    draw = seeded_batches(lambda number: two_symbols_at_distances(64, number), seed)
    return train_claim_model(
        ClaimTask(model, draw, [two_symbols_at_distances(256, 0)], setting.device),
        setting.pick(800, 3),
        seed=seed,
    )


@torch.no_grad()
def head_difference(model: TransformerBaseline, source: Tensor) -> float:
    """How much of their weight two heads of a layer put on different words, from 0 to 1, in the encoder."""
    seen: list[Tensor] = []

    def look(attend: torch.nn.Module, asked: tuple) -> None:
        seen.append(cast(MultiHeadAttention, attend).weights(*asked))

    layers = cast(Iterable[EncoderLayer], model.transformer.encoder.layers)
    attends = [layer.self_attention for layer in layers]
    hooks = [attend.register_forward_pre_hook(look) for attend in attends]
    model(source, source[:, :1])
    for hook in hooks:
        hook.remove()
    found = [
        float((weights[:, one] - weights[:, other]).abs().sum(-1).mean() / 2)
        for weights in seen
        for one, other in combinations(range(weights.shape[1]), 2)
    ]
    return fmean(found) if found else 0.0


def tables(found: Measurements) -> list[str]:
    titles = ["heads", "phrasebook, loss", "right pieces, %", "two words at once, right, %", "heads apart"]
    rows = [
        [
            heads,
            _format_mean(row["loss"], 1, 3),
            _format_mean(row["accuracy"], 100, 1),
            _format_mean(row["two_places"], 100, 1),
            f"{fmean(row['apart_before']):.2f} to {fmean(row['apart']):.2f}" if heads != "1" else "",
        ]
        for heads, row in found.items()
    ]
    return [markdown_table(titles, rows)]


def charts(found: Measurements) -> list[LineChart]:
    steps = [step for step, _ in found["1"]["curve"]]
    curves = {f"{heads} heads": [loss for _, loss in row["curve"]] for heads, row in found.items()}
    return [line_chart("heads", "Training loss: two words at once", "step", steps, curves)]


def _format_mean(values: list[float], factor: float, digits: int) -> str:
    """With its spread over the seeds, where there are several."""
    mean = f"{factor * fmean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ± {factor * stdev(values):.{digits}f}"
