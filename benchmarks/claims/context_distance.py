"""I2: over which distance can a model recall a symbol, and how much of the gradient gets there?

The task is to recall the first symbol of a sequence, trained at one distance, and with mixed lengths up to
the longest, so that short sequences help with long ones. Encoders are unidirectional: a backward encoder
would end at the first symbol.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from baseline_models import ConvolutionalBaseline, RecurrentBaseline, RecurrentKind
from benchmark_setting import BenchmarkSetting, Measurements
from claim_task import ClaimTask, PaddedPairs, train_claim_model
from parameter_matching import ModelBuilder, count_parameters, match_parameter_count
from regard.model.config import ModelConfig
from report_figures import LineChart, line_chart, markdown_table
from synthetic_data import FIRST_SYMBOL, recall_batch, seeded_batches

SYMBOL_KINDS = 16
VOCAB = FIRST_SYMBOL + SYMBOL_KINDS
CONFIG = ModelConfig(
    vocab_size=VOCAB, d_model=64, heads=4, d_ff=128, encoder_layers=2, decoder_layers=2, dropout=0.0
)
NOT_PLOTTED = ("RNN, attention", "GRU, attention")
"""Models left out of the charts: they are like the LSTM with attention."""
SMALLEST_RATIO = 1e-20
"""Gradient ratios below it count as zero."""


def measure(setting: BenchmarkSetting) -> Measurements:
    distances = setting.pick((5, 10, 20, 40, 80), (4, 8))
    results: Measurements = {"distances": list(distances), "kinds": SYMBOL_KINDS, "models": {}}
    for name, build in match_parameter_count(CONFIG, _builds()).items():
        single_distance_models = [
            _train(build, _batches_at(distance), 300, setting) for distance in distances
        ]
        mixed_model = _train(build, _batches_up_to(distances[-1]), 600, setting)
        torch.manual_seed(1)
        untrained = build().to(setting.device)
        results["models"][name] = {
            "parameters": count_parameters(untrained),
            "alone": [
                recall_accuracy(model, at, setting)
                for model, at in zip(single_distance_models, distances, strict=True)
            ],
            "mixed": [recall_accuracy(mixed_model, distance, setting) for distance in distances],
            "gradient_before": [gradient_ratio(untrained, distance, setting) for distance in distances],
            "gradient_after": [gradient_ratio(mixed_model, distance, setting) for distance in distances],
        }
    return results


def tables(results: Measurements) -> list[str]:
    models, distances = results["models"], [str(each) for each in results["distances"]]
    return [
        *(
            markdown_table(
                [f"accuracy, %, {how}", *distances],
                [[name, *(f"{100 * each:.0f}" for each in row[which])] for name, row in models.items()],
            )
            for which, how in (("alone", "trained at each distance"), ("mixed", "trained on mixed lengths"))
        ),
        *(
            markdown_table(
                [f"gradient at the first symbol relative to the last, {when} training", *distances],
                [
                    [name, *(_format_power(each) for each in row[f"gradient_{when}"])]
                    for name, row in models.items()
                ],
            )
            for when in ("before", "after")
        ),
    ]


def charts(results: Measurements) -> list[LineChart]:
    models = {name: row for name, row in results["models"].items() if name not in NOT_PLOTTED}
    distances = results["distances"]
    accuracies = {name: [100 * each for each in row["alone"]] for name, row in models.items()}
    gradients = {name: [_log10(each) for each in row["gradient_before"]] for name, row in models.items()}
    label = "distance of the first symbol"
    return [
        line_chart("distance", "Accuracy, %, trained at each distance", label, distances, accuracies),
        line_chart(
            "gradient",
            "Gradient at the first symbol, log10",
            label,
            distances,
            gradients,
            from_zero=False,
        ),
    ]


def recall_accuracy(model: nn.Module, distance: int, setting: BenchmarkSetting) -> float:
    """Return the accuracy on sequences of a seed that training does not use."""
    rows = recall_batch(512, distance, SYMBOL_KINDS, seed=1).to(setting.device)
    model.eval()
    with torch.no_grad():
        return float((model(rows.source, rows.target_in).argmax(-1) == rows.target_out).float().mean())


def gradient_ratio(model: nn.Module, distance: int, setting: BenchmarkSetting) -> float:
    """Return the gradient norm at the embedding of the first symbol, relative to the last."""
    rows = recall_batch(64, distance, SYMBOL_KINDS, seed=2).to(setting.device)
    vectors: list[Tensor] = []

    def retain(_: nn.Module, __: object, out: Tensor) -> None:
        if out.shape[1] == distance:
            out.retain_grad()
            vectors.append(out)

    hooks = [each.register_forward_hook(retain) for each in model.modules() if isinstance(each, nn.Embedding)]
    model.train()  # cuDNN's recurrent layers have no backward pass in eval mode
    functional.cross_entropy(
        model(rows.source, rows.target_in).flatten(0, 1), rows.target_out.flatten()
    ).backward()
    model.zero_grad(set_to_none=True)
    for hook in hooks:
        hook.remove()
    gradient = vectors[0].grad
    assert gradient is not None
    norms = gradient.norm(dim=-1).mean(dim=0)
    return float(norms[0] / norms[-1].clamp(min=1e-30))


def _builds() -> dict[str, ModelBuilder]:
    def recurrent(kind: RecurrentKind, attention: bool) -> ModelBuilder:
        return lambda width: RecurrentBaseline(kind, VOCAB, width, 1, attention, bidirectional=False)

    kinds: tuple[RecurrentKind, ...] = ("RNN", "GRU", "LSTM")
    builds: dict[str, ModelBuilder] = {kind: recurrent(kind, attention=False) for kind in kinds}
    builds |= {f"{kind}, attention": recurrent(kind, attention=True) for kind in kinds}
    return builds | {"convolution": lambda width: ConvolutionalBaseline(VOCAB, width, 2)}


def _train(
    build: Callable[[], nn.Module], draw: Callable[[int], PaddedPairs], steps: int, setting: BenchmarkSetting
) -> nn.Module:
    torch.manual_seed(1)
    model = build()
    train_claim_model(ClaimTask(model, draw, [draw(0)], setting.device), setting.pick(steps, 3))
    return model


def _batches_at(distance: int) -> Callable[[int], PaddedPairs]:
    return seeded_batches(lambda seed: recall_batch(64, distance, SYMBOL_KINDS, seed), 1)


def _batches_up_to(longest: int) -> Callable[[int], PaddedPairs]:
    """Return batches of random length, with short ones, which are learned first, more often."""
    return seeded_batches(lambda seed: recall_batch(64, _length(longest, seed), SYMBOL_KINDS, seed), 1)


def _length(longest: int, seed: int) -> int:
    return round(2 * (longest / 2) ** (seed % 1000 / 999))


def _format_power(value: float) -> str:
    if value <= SMALLEST_RATIO:
        return "0"
    return f"{value:.2f}" if value >= 0.01 else f"1e{_log10(value):.0f}"


def _log10(value: float) -> float:
    return math.log10(max(value, SMALLEST_RATIO))
