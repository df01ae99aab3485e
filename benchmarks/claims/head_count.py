"""E5: is one head of the same width worse than eight, and do eight look at different things?"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations
from statistics import fmean, stdev
from typing import cast

import torch
from torch import Tensor

from benchmark_setting import Found, Setting
from claim_task import Learning, Lesson, learn
from mixing_model import Mixing
from pointer_tasks import ANSWERS, LENGTH, VOCAB, both
from regard.model.attention import MultiHeadAttention
from regard.model.config import ModelConfig
from regard.model.layers import EncoderLayer
from report_figures import Chart, chart, table
from synthetic_data import phrases, seeded
from transformer_baseline import Attentive

HEADS = (1, 8)
PEAK = 6e-3
CONFIG = ModelConfig(d_model=64, d_ff=128, encoder_layers=2, decoder_layers=2, dropout=0.0)


def measure(setting: Setting) -> Found:
    book = phrases(setting.choose(20_000, 200))
    seeds = setting.choose((1, 2, 3), (1,))
    found: Found = {}
    for heads in HEADS:
        config = replace(CONFIG, heads=heads, vocab_size=book.vocab)
        lessons, places, apart, before = [], [], [], []
        for seed in seeds:
            torch.manual_seed(seed)
            model = Attentive(config)
            task = Learning(model, book.draw, book.valid, setting.device)
            before.append(difference(model, book.valid[0].source.to(setting.device)))
            lessons.append(learn(task, setting.choose(500, 3), PEAK, seed))
            apart.append(difference(model, book.valid[0].source.to(setting.device)))
            places.append(two_places(heads, seed, setting))
        found[str(heads)] = {
            "loss": [lesson.loss for lesson in lessons],
            "accuracy": [lesson.accuracy for lesson in lessons],
            "two_places": [lesson.accuracy for lesson in places],
            "curve": places[0].curve,
            "apart_before": before,
            "apart": apart,
        }
    return found


def two_places(heads: int, seed: int, setting: Setting) -> Lesson:
    """One layer of attention, asked for two words at once."""
    torch.manual_seed(seed)
    model = Mixing(replace(CONFIG, heads=heads, vocab_size=VOCAB), LENGTH, ANSWERS, "attention")
    draw = seeded(lambda number: both(64, number), seed)
    return learn(Learning(model, draw, [both(256, 0)], setting.device), setting.choose(800, 3), seed=seed)


@torch.no_grad()
def difference(model: Attentive, source: Tensor) -> float:
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


def tables(found: Found) -> list[str]:
    titles = ["heads", "phrasebook, loss", "right pieces, %", "two words at once, right, %", "heads apart"]
    rows = [
        [
            heads,
            _mean(row["loss"], 1, 3),
            _mean(row["accuracy"], 100, 1),
            _mean(row["two_places"], 100, 1),
            f"{fmean(row['apart_before']):.2f} to {fmean(row['apart']):.2f}" if heads != "1" else "",
        ]
        for heads, row in found.items()
    ]
    return [table(titles, rows)]


def charts(found: Found) -> list[Chart]:
    steps = [step for step, _ in found["1"]["curve"]]
    curves = {f"{heads} heads": [loss for _, loss in row["curve"]] for heads, row in found.items()}
    return [chart("heads", "Training loss: two words at once", "step", steps, curves)]


def _mean(values: list[float], factor: float, digits: int) -> str:
    """With its spread over the seeds, where there are several."""
    mean = f"{factor * fmean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ± {factor * stdev(values):.{digits}f}"
