"""I2: how far back can a model look, and how much of the gradient gets there?

The task: so many symbols, which was the first? Learnt at one distance alone, and with all lengths up to the
longest mixed, so that what is learnt on short ones can be carried on to long ones. Encoders read
forwards only: one that reads backwards, too, has the first symbol right before its end.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmark_setting import BenchmarkSetting, Measurements
from claim_task import ClaimTask, PaddedPairs, train_claim_model
from convolutional_baseline import ConvolutionalBaseline
from parameter_matching import ModelBuilder, count_parameters, match_parameter_count
from recurrent_baseline import RecurrentBaseline, RecurrentKind
from regard.model.config import ModelConfig
from report_figures import LineChart, line_chart, markdown_table
from synthetic_data import FIRST_SYMBOL, recall_batch, seeded_batches

SYMBOL_KINDS = 16
VOCAB = FIRST_SYMBOL + SYMBOL_KINDS
CONFIG = ModelConfig(
    vocab_size=VOCAB, d_model=64, heads=4, d_ff=128, encoder_layers=2, decoder_layers=2, dropout=0.0
)
NOT_PLOTTED = ("RNN, attention", "GRU, attention")
"""As the LSTM with attention, for a picture."""
SMALLEST_RATIO = 1e-20
"""A gradient that is less of another is none."""


def measure(setting: BenchmarkSetting) -> Measurements:
    distances = setting.pick((5, 10, 20, 40, 80), (4, 8))
    found: Measurements = {"distances": list(distances), "kinds": SYMBOL_KINDS, "models": {}}
    for name, build in match_parameter_count(CONFIG, _builds()).items():
        alone = [_train(build, _batches_at(distance), 300, setting) for distance in distances]
        mixed = _train(build, _batches_up_to(distances[-1]), 600, setting)
        torch.manual_seed(1)
        fresh = build().to(setting.device)
        found["models"][name] = {
            "parameters": count_parameters(fresh),
            "alone": [
                recall_accuracy(model, at, setting) for model, at in zip(alone, distances, strict=True)
            ],
            "mixed": [recall_accuracy(mixed, distance, setting) for distance in distances],
            "gradient_before": [gradient_ratio(fresh, distance, setting) for distance in distances],
            "gradient_after": [gradient_ratio(mixed, distance, setting) for distance in distances],
        }
    return found


def tables(found: Measurements) -> list[str]:
    models, distances = found["models"], [str(each) for each in found["distances"]]
    return [
        *(
            markdown_table(
                [f"right answers, %, {how}", *distances],
                [[name, *(f"{100 * each:.0f}" for each in row[which])] for name, row in models.items()],
            )
            for which, how in (("alone", "each distance learnt alone"), ("mixed", "all learnt together"))
        ),
        *(
            markdown_table(
                [f"gradient at the first symbol over that at the last, {when} training", *distances],
                [
                    [name, *(_format_power(each) for each in row[f"gradient_{when}"])]
                    for name, row in models.items()
                ],
            )
            for when in ("before", "after")
        ),
    ]


def charts(found: Measurements) -> list[LineChart]:
    models = {name: row for name, row in found["models"].items() if name not in NOT_PLOTTED}
    distances = found["distances"]
    right = {name: [100 * each for each in row["alone"]] for name, row in models.items()}
    reached = {name: [_log10(each) for each in row["gradient_before"]] for name, row in models.items()}
    label = "distance of the first symbol"
    return [
        line_chart("distance", "Right answers, %, each distance learnt alone", label, distances, right),
        line_chart(
            "gradient",
            "Gradient at the first symbol, power of ten",
            label,
            distances,
            reached,
            from_zero=False,
        ),
    ]


def recall_accuracy(model: nn.Module, distance: int, setting: BenchmarkSetting) -> float:
    """On sequences that it has not seen."""
    rows = recall_batch(512, distance, SYMBOL_KINDS, seed=1).to(setting.device)
    model.eval()
    with torch.no_grad():
        return float((model(rows.source, rows.target_in).argmax(-1) == rows.target_out).float().mean())


def gradient_ratio(model: nn.Module, distance: int, setting: BenchmarkSetting) -> float:
    """The gradient of the answer's loss at the vector of the first symbol, over that at the last."""
    rows = recall_batch(64, distance, SYMBOL_KINDS, seed=2).to(setting.device)
    vectors: list[Tensor] = []

    def keep(_: nn.Module, __: object, out: Tensor) -> None:
        if out.shape[1] == distance:
            out.retain_grad()
            vectors.append(out)

    hooks = [each.register_forward_hook(keep) for each in model.modules() if isinstance(each, nn.Embedding)]
    model.train()  # cuDNN's recurrent layers have no way back otherwise
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
    """One length a batch, twice as long half as often: short ones are learnt first."""
    return seeded_batches(lambda seed: recall_batch(64, _length(longest, seed), SYMBOL_KINDS, seed), 1)


def _length(longest: int, seed: int) -> int:
    return round(2 * (longest / 2) ** (seed % 1000 / 999))


def _format_power(value: float) -> str:
    if value <= SMALLEST_RATIO:
        return "0"
    return f"{value:.2f}" if value >= 0.01 else f"1e{_log10(value):.0f}"


def _log10(value: float) -> float:
    return math.log10(max(value, SMALLEST_RATIO))
