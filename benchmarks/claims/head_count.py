"""E5: is one head worse than eight of the same total width, and do the eight attend to different words?"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations
from statistics import fmean, stdev
from typing import cast

import torch
from torch import Tensor

from baseline_models import TransformerBaseline
from benchmark_setting import BenchmarkSetting, Measurements
from claim_task import ClaimTask, ClaimTrainingResult, train_claim_model
from mixing_model import MixingModel
from pointer_tasks import ANSWERS, LENGTH, VOCAB, two_symbols_at_distances
from regard.model.attention import MultiHeadAttention
from regard.model.config import ModelConfig
from regard.model.layers import EncoderLayer
from report_figures import LineChart, line_chart, markdown_table
from synthetic_data import phrasebook_batches, seeded_batches

HEADS = (1, 8)
PEAK = 6e-3
CONFIG = ModelConfig(d_model=64, d_ff=128, encoder_layers=2, decoder_layers=2, dropout=0.0)


def measure(setting: BenchmarkSetting) -> Measurements:
    book = phrasebook_batches(setting.pick(20_000, 200))
    seeds = setting.pick((1, 2, 3), (1,))
    results: Measurements = {}
    for heads in HEADS:
        config = replace(CONFIG, heads=heads, vocab_size=book.vocab)
        trainings, two_position_results, differences, initial_differences = [], [], [], []
        for seed in seeds:
            torch.manual_seed(seed)
            model = TransformerBaseline(config)
            task = ClaimTask(model, book.training_batch, book.valid, setting.device)
            initial_differences.append(head_difference(model, book.valid[0].source.to(setting.device)))
            trainings.append(train_claim_model(task, setting.pick(500, 3), PEAK, seed))
            differences.append(head_difference(model, book.valid[0].source.to(setting.device)))
            two_position_results.append(train_on_two_positions(heads, seed, setting))
        results[str(heads)] = {
            "loss": [training.loss for training in trainings],
            "accuracy": [training.accuracy for training in trainings],
            "two_places": [training.accuracy for training in two_position_results],
            "curve": two_position_results[0].curve,
            "apart_before": initial_differences,
            "apart": differences,
        }
    return results


def train_on_two_positions(heads: int, seed: int, setting: BenchmarkSetting) -> ClaimTrainingResult:
    """Train one attention layer to return the symbols at two positions at once."""
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
    """Return the mean total variation distance between the attention of two heads of an encoder layer."""
    captured: list[Tensor] = []

    def capture(attention: torch.nn.Module, inputs: tuple) -> None:
        captured.append(cast(MultiHeadAttention, attention).weights(*inputs))

    layers = cast(Iterable[EncoderLayer], model.transformer.encoder.layers)
    attentions = [layer.self_attention for layer in layers]
    hooks = [attention.register_forward_pre_hook(capture) for attention in attentions]
    model(source, source[:, :1])
    for hook in hooks:
        hook.remove()
    differences = [
        float((weights[:, one] - weights[:, other]).abs().sum(-1).mean() / 2)
        for weights in captured
        for one, other in combinations(range(weights.shape[1]), 2)
    ]
    return fmean(differences) if differences else 0.0


def tables(results: Measurements) -> list[str]:
    titles = [
        "heads",
        "phrasebook, loss",
        "token accuracy, %",
        "two positions, accuracy, %",
        "difference of heads",
    ]
    rows = [
        [
            heads,
            _format_mean(row["loss"], 1, 3),
            _format_mean(row["accuracy"], 100, 1),
            _format_mean(row["two_places"], 100, 1),
            f"{fmean(row['apart_before']):.2f} to {fmean(row['apart']):.2f}" if heads != "1" else "",
        ]
        for heads, row in results.items()
    ]
    return [markdown_table(titles, rows)]


def charts(results: Measurements) -> list[LineChart]:
    steps = [step for step, _ in results["1"]["curve"]]
    curves = {f"{heads} heads": [loss for _, loss in row["curve"]] for heads, row in results.items()}
    return [line_chart("heads", "Training loss: two positions at once", "step", steps, curves)]


def _format_mean(values: list[float], factor: float, digits: int) -> str:
    """Format the mean, with the standard deviation over several seeds."""
    mean = f"{factor * fmean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ± {factor * stdev(values):.{digits}f}"
