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

from benchmark_setting import Found, Setting
from claim_task import Learning, Rows, learn
from convolutional_baseline import Convolutional
from parameter_matching import Build, like_size, parameters
from recurrent_baseline import Kind, Recurrent
from regard.model.config import ModelConfig
from report_figures import Chart, chart, table
from synthetic_data import FIRST, recall, seeded

KINDS = 16
VOCAB = FIRST + KINDS
CONFIG = ModelConfig(
    vocab_size=VOCAB, d_model=64, heads=4, d_ff=128, encoder_layers=2, decoder_layers=2, dropout=0.0
)
UNDRAWN = ("RNN, attention", "GRU, attention")
"""As the LSTM with attention, for a picture."""
LEAST = 1e-20
"""A gradient that is less of another is none."""


def measure(setting: Setting) -> Found:
    distances = setting.choose((5, 10, 20, 40, 80), (4, 8))
    found: Found = {"distances": list(distances), "kinds": KINDS, "models": {}}
    for name, build in like_size(CONFIG, _builds()).items():
        alone = [_learnt(build, _at(distance), 300, setting) for distance in distances]
        mixed = _learnt(build, _up_to(distances[-1]), 600, setting)
        torch.manual_seed(1)
        fresh = build().to(setting.device)
        found["models"][name] = {
            "parameters": parameters(fresh),
            "alone": [accuracy(model, at, setting) for model, at in zip(alone, distances, strict=True)],
            "mixed": [accuracy(mixed, distance, setting) for distance in distances],
            "gradient_before": [reach(fresh, distance, setting) for distance in distances],
            "gradient_after": [reach(mixed, distance, setting) for distance in distances],
        }
    return found


def tables(found: Found) -> list[str]:
    models, distances = found["models"], [str(each) for each in found["distances"]]
    return [
        *(
            table(
                [f"right answers, %, {how}", *distances],
                [[name, *(f"{100 * each:.0f}" for each in row[which])] for name, row in models.items()],
            )
            for which, how in (("alone", "each distance learnt alone"), ("mixed", "all learnt together"))
        ),
        *(
            table(
                [f"gradient at the first symbol over that at the last, {when} training", *distances],
                [[name, *(_power(each) for each in row[f"gradient_{when}"])] for name, row in models.items()],
            )
            for when in ("before", "after")
        ),
    ]


def charts(found: Found) -> list[Chart]:
    models = {name: row for name, row in found["models"].items() if name not in UNDRAWN}
    distances = found["distances"]
    right = {name: [100 * each for each in row["alone"]] for name, row in models.items()}
    reached = {name: [_log(each) for each in row["gradient_before"]] for name, row in models.items()}
    label = "distance of the first symbol"
    return [
        chart("distance", "Right answers, %, each distance learnt alone", label, distances, right),
        chart(
            "gradient",
            "Gradient at the first symbol, power of ten",
            label,
            distances,
            reached,
            from_zero=False,
        ),
    ]


def accuracy(model: nn.Module, distance: int, setting: Setting) -> float:
    """On sequences that it has not seen."""
    rows = recall(512, distance, KINDS, seed=1).to(setting.device)
    model.eval()
    with torch.no_grad():
        return float((model(rows.source, rows.target_in).argmax(-1) == rows.target_out).float().mean())


def reach(model: nn.Module, distance: int, setting: Setting) -> float:
    """The gradient of the answer's loss at the vector of the first symbol, over that at the last."""
    rows = recall(64, distance, KINDS, seed=2).to(setting.device)
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


def _builds() -> dict[str, Build]:
    def recurrent(kind: Kind, attention: bool) -> Build:
        return lambda width: Recurrent(kind, VOCAB, width, 1, attention, both_ways=False)

    kinds: tuple[Kind, ...] = ("RNN", "GRU", "LSTM")
    builds: dict[str, Build] = {kind: recurrent(kind, attention=False) for kind in kinds}
    builds |= {f"{kind}, attention": recurrent(kind, attention=True) for kind in kinds}
    return builds | {"convolution": lambda width: Convolutional(VOCAB, width, 2)}


def _learnt(
    build: Callable[[], nn.Module], draw: Callable[[int], Rows], steps: int, setting: Setting
) -> nn.Module:
    torch.manual_seed(1)
    model = build()
    learn(Learning(model, draw, [draw(0)], setting.device), setting.choose(steps, 3))
    return model


def _at(distance: int) -> Callable[[int], Rows]:
    return seeded(lambda seed: recall(64, distance, KINDS, seed), 1)


def _up_to(longest: int) -> Callable[[int], Rows]:
    """One length a batch, twice as long half as often: short ones are learnt first."""
    return seeded(lambda seed: recall(64, _length(longest, seed), KINDS, seed), 1)


def _length(longest: int, seed: int) -> int:
    return round(2 * (longest / 2) ** (seed % 1000 / 999))


def _power(value: float) -> str:
    if value <= LEAST:
        return "0"
    return f"{value:.2f}" if value >= 0.01 else f"1e{_log(value):.0f}"


def _log(value: float) -> float:
    return math.log10(max(value, LEAST))
