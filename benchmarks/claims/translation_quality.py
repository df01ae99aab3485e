"""I1, I4: quality and training time of each model on the phrasebook, with the same loop and steps.

Each model is trained at three learning rates, and the best one counts, since models need different rates.
"""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import nn

from benchmark_setting import BenchmarkSetting, Measurements
from claim_task import ClaimTask, train_claim_model
from parameter_matching import INPUT_FEEDING_GRU, baseline_builders, count_parameters, match_parameter_count
from regard.model.config import ModelConfig
from report_figures import LineChart, line_chart, markdown_table
from synthetic_data import phrasebook_batches

CONFIG = ModelConfig(d_model=64, heads=4, d_ff=128, encoder_layers=2, decoder_layers=2, dropout=0.0)
PEAKS = (5e-3, 1e-2, 2e-2)


def measure(setting: BenchmarkSetting) -> Measurements:
    config = replace(CONFIG, vocab_size=phrasebook_batches(setting.pick(20_000, 200)).vocab)
    builds = {name: build for name, build in baseline_builders(config).items() if name != INPUT_FEEDING_GRU}
    results: Measurements = {}
    for name, build in match_parameter_count(config, builds).items():
        trials = [_train(build, peak, setting) for peak in PEAKS]
        results[name] = min(trials, key=lambda each: each["loss"])
    return results


def _train(build: Callable[[], nn.Module], peak: float, setting: BenchmarkSetting) -> Measurements:
    book = phrasebook_batches(setting.pick(20_000, 200))
    torch.manual_seed(1)
    model, start = build(), setting.seconds()
    training = train_claim_model(
        ClaimTask(model, book.training_batch, book.valid, setting.device), setting.pick(500, 3), peak
    )
    return {
        "parameters": count_parameters(model),
        "peak": peak,
        "loss": training.loss,
        "accuracy": training.accuracy,
        "seconds": setting.seconds() - start,
        "curve": training.curve,
    }


def tables(results: Measurements) -> list[str]:
    titles = ["phrasebook", "parameters", "learning rate", "validation loss", "token accuracy, %", "seconds"]
    rows = [
        [
            name,
            f"{row['parameters']:,}",
            f"{row['peak']:g}",
            f"{row['loss']:.3f}",
            f"{100 * row['accuracy']:.1f}",
            f"{row['seconds']:.0f}",
        ]
        for name, row in results.items()
    ]
    return [markdown_table(titles, rows)]


def charts(results: Measurements) -> list[LineChart]:
    steps = [step for step, _ in results["Transformer"]["curve"]]
    curves = {name: [loss for _, loss in row["curve"]] for name, row in results.items()}
    return [line_chart("translating", "Training loss on the phrasebook", "step", steps, curves)]
