"""I1, I4: the same phrasebook, the same loop, as many steps: how good is each model, and after how long?

Each is trained at three learning rates, and the best one counts: what suits one kind does not suit another.
"""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import nn

from benchmark_setting import Found, Setting
from claim_task import Learning, learn
from parameter_matching import FEEDING, like_size, parameters, rivals
from regard.model.config import ModelConfig
from report_figures import Chart, chart, table
from synthetic_data import phrases

CONFIG = ModelConfig(d_model=64, heads=4, d_ff=128, encoder_layers=2, decoder_layers=2, dropout=0.0)
PEAKS = (5e-3, 1e-2, 2e-2)


def measure(setting: Setting) -> Found:
    config = replace(CONFIG, vocab_size=phrases(setting.choose(20_000, 200)).vocab)
    builds = {name: build for name, build in rivals(config).items() if name != FEEDING}
    found: Found = {}
    for name, build in like_size(config, builds).items():
        tried = [_learnt(build, peak, setting) for peak in PEAKS]
        found[name] = min(tried, key=lambda each: each["loss"])
    return found


def _learnt(build: Callable[[], nn.Module], peak: float, setting: Setting) -> Found:
    book = phrases(setting.choose(20_000, 200))
    torch.manual_seed(1)
    model, began = build(), setting.clock()
    lesson = learn(Learning(model, book.draw, book.valid, setting.device), setting.choose(500, 3), peak)
    return {
        "parameters": parameters(model),
        "peak": peak,
        "loss": lesson.loss,
        "accuracy": lesson.accuracy,
        "seconds": setting.clock() - began,
        "curve": lesson.curve,
    }


def tables(found: Found) -> list[str]:
    titles = ["phrasebook", "parameters", "rate", "validation loss", "right pieces, %", "seconds"]
    rows = [
        [
            name,
            f"{row['parameters']:,}",
            f"{row['peak']:g}",
            f"{row['loss']:.3f}",
            f"{100 * row['accuracy']:.1f}",
            f"{row['seconds']:.0f}",
        ]
        for name, row in found.items()
    ]
    return [table(titles, rows)]


def charts(found: Found) -> list[Chart]:
    steps = [step for step, _ in found["Transformer"]["curve"]]
    curves = {name: [loss for _, loss in row["curve"]] for name, row in found.items()}
    return [chart("translating", "Training loss on the phrasebook", "step", steps, curves)]
