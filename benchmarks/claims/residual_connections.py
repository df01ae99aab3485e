"""F4: what becomes of gradients, of the words, and of learning, when nothing is added around the sublayers?

Pre-norm, with which six layers learn in few steps; the norms can be taken away as well.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import cast

import torch
from torch import Tensor, nn

from benchmark_setting import BenchmarkSetting, Measurements
from claim_task import ClaimTask, train_claim_model
from regard.model.config import ModelConfig
from regard.model.layers import ResidualConnection
from regard.model.masks import NO_MASK
from regard.model.transformer import Transformer, position_ids
from report_figures import LineChart, line_chart, markdown_table
from synthetic_data import phrasebook_batches
from transformer_baseline import TransformerBaseline

CONFIG = ModelConfig(d_model=64, heads=4, d_ff=128, dropout=0.0, norm="pre")
VARIANTS = {
    "residuals and norms": (True, True),
    "norms alone": (False, True),
    "residuals alone": (True, False),
    "neither": (False, False),
}


class NoResidual(ResidualConnection):
    """The sublayer's output alone."""

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return self.dropout(sublayer(self.norm(x)))


def remove_residuals(model: Transformer) -> None:
    """Every residual of the model replaced by a `Cut`, with nothing learnt yet in either."""
    _replace_all(model, ResidualConnection, lambda: NoResidual(model.config))


def remove_norms(model: Transformer) -> None:
    _replace_all(model, nn.LayerNorm, nn.Identity)


def _replace_all(model: nn.Module, kind: type[nn.Module], build: Callable[[], nn.Module]) -> None:
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, kind):
                setattr(parent, name, build())


def measure(setting: BenchmarkSetting) -> Measurements:
    book = phrasebook_batches(setting.pick(20_000, 200))
    found: Measurements = {}
    for layers in setting.pick((2, 6), (2,)):
        for name, (residuals, norms) in VARIANTS.items():
            torch.manual_seed(1)
            config = replace(CONFIG, vocab_size=book.vocab, encoder_layers=layers, decoder_layers=layers)
            model = TransformerBaseline(config)
            if not residuals:
                remove_residuals(model.transformer)
            if not norms:
                remove_norms(model.transformer)
            task = ClaimTask(model, book.training_batch, book.valid, setting.device)
            row: Measurements = {
                "layers": layers,
                "gradients": encoder_gradient_norms(task),
                "own": token_specific_share(task),
            }
            if norms:
                lesson = train_claim_model(task, setting.pick(400, 3), peak=3e-3)
                row |= {"loss": lesson.loss, "accuracy": lesson.accuracy, "curve": lesson.curve}
            found[f"{layers}+{layers}, {name}"] = row
    return found


def encoder_gradient_norms(task: ClaimTask) -> list[float]:
    """The length of the gradient in each encoder layer, the first layer first, before any step."""
    batch, _ = next(task.batches({}))
    task.model.zero_grad(set_to_none=True)
    (task.loss(batch) / batch.target_tokens).backward()
    layers = cast(TransformerBaseline, task.model).transformer.encoder.layers
    norms = [
        nn.utils.get_total_norm([each.grad for each in layer.parameters() if each.grad is not None])
        for layer in layers
    ]
    task.model.zero_grad(set_to_none=True)
    return [float(norm) for norm in norms]


@torch.no_grad()
def token_specific_share(task: ClaimTask) -> float:
    """How much of a word's vector, as the encoder leaves it, is not what all words of its sentence share."""
    model = cast(TransformerBaseline, task.model).transformer
    source = next(task.batches({}))[0].source.to(model.device)
    left = model.encode(source, position_ids(source), NO_MASK)
    return float((left - left.mean(dim=1, keepdim=True)).norm() / left.norm())


def tables(found: Measurements) -> list[str]:
    titles = ["layers, and around them", "gradient, first", "last", "a word's own share", "loss", "right, %"]
    rows = [
        [
            name,
            *(f"{row['gradients'][end]:.2g}" for end in (0, -1)),
            f"{row['own']:.1g}",
            *_format_training(row),
        ]
        for name, row in found.items()
    ]
    return [markdown_table(titles, rows)]


def _format_training(row: Measurements) -> list[str]:
    return [f"{row['loss']:.3f}", f"{100 * row['accuracy']:.1f}"] if "loss" in row else ["", ""]


def charts(found: Measurements) -> list[LineChart]:
    depth = max(row["layers"] for row in found.values())
    deep = {
        name.split(", ")[1]: [math.log10(each) for each in row["gradients"]]
        for name, row in found.items()
        if row["layers"] == depth
    }
    trained = {name: row["curve"] for name, row in found.items() if "curve" in row}
    short = {"residuals and norms": "with", "norms alone": "without"}
    curves = {}
    for name, curve in trained.items():
        layers, variant = name.split(", ")
        curves[f"{layers}, {short[variant]}"] = [loss for _, loss in curve]
    steps = [step for step, _ in next(iter(trained.values()))]
    layers = list(range(1, depth + 1))
    title = "Gradient in each encoder layer at the start, power of ten"
    return [
        line_chart("by-layer", title, "layer", layers, deep, from_zero=False),
        line_chart("residual", "Training loss, with and without residuals", "step", steps, curves),
    ]
