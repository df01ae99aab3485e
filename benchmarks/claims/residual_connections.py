"""F4: what happens to gradients, token representations and training without residual connections?

Pre-norm, with which six layers learn in few steps; the norms can be removed, too.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import cast

import torch
from torch import Tensor, nn

from baseline_models import TransformerBaseline
from benchmark_setting import BenchmarkSetting, Measurements
from claim_task import ClaimTask, train_claim_model
from regard.model.config import ModelConfig
from regard.model.layers import ResidualConnection
from regard.model.masks import NO_MASK
from regard.model.transformer import Transformer, position_ids
from report_figures import LineChart, line_chart, markdown_table
from synthetic_data import phrasebook_batches

CONFIG = ModelConfig(d_model=64, heads=4, d_ff=128, dropout=0.0, norm="pre")
VARIANTS = {
    "residuals and norms": (True, True),
    "norms alone": (False, True),
    "residuals alone": (True, False),
    "neither": (False, False),
}


class NoResidual(ResidualConnection):
    """Returns the output of the sublayer, without the residual connection."""

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return self.dropout(sublayer(self.norm(x)))


def remove_residuals(model: Transformer) -> None:
    """Replace every residual connection of an untrained model by a `NoResidual`."""
    _replace_all(model, ResidualConnection, lambda: NoResidual(model.config))


def remove_norms(model: Transformer) -> None:
    """Replace every layer norm by the identity."""
    _replace_all(model, nn.LayerNorm, nn.Identity)


def _replace_all(model: nn.Module, kind: type[nn.Module], build: Callable[[], nn.Module]) -> None:
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, kind):
                setattr(parent, name, build())


def measure(setting: BenchmarkSetting) -> Measurements:
    book = phrasebook_batches(setting.pick(20_000, 200))
    results: Measurements = {}
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
                training = train_claim_model(task, setting.pick(400, 3), peak=3e-3)
                row |= {"loss": training.loss, "accuracy": training.accuracy, "curve": training.curve}
            results[f"{layers}+{layers}, {name}"] = row
    return results


def encoder_gradient_norms(task: ClaimTask) -> list[float]:
    """Return the gradient norm of each encoder layer before training."""
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
    """Return the share of the encoder output that differs between the tokens of a sentence."""
    model = cast(TransformerBaseline, task.model).transformer
    source = next(task.batches({}))[0].source.to(model.device)
    encoded = model.encode(source, position_ids(source), NO_MASK)
    return float((encoded - encoded.mean(dim=1, keepdim=True)).norm() / encoded.norm())


def tables(results: Measurements) -> list[str]:
    titles = [
        "layers, variant",
        "gradient, first layer",
        "last layer",
        "token-specific share",
        "loss",
        "accuracy, %",
    ]
    rows = [
        [
            name,
            *(f"{row['gradients'][end]:.2g}" for end in (0, -1)),
            f"{row['own']:.1g}",
            *_format_training(row),
        ]
        for name, row in results.items()
    ]
    return [markdown_table(titles, rows)]


def _format_training(row: Measurements) -> list[str]:
    return [f"{row['loss']:.3f}", f"{100 * row['accuracy']:.1f}"] if "loss" in row else ["", ""]


def charts(results: Measurements) -> list[LineChart]:
    depth = max(row["layers"] for row in results.values())
    deepest = {
        name.split(", ")[1]: [math.log10(each) for each in row["gradients"]]
        for name, row in results.items()
        if row["layers"] == depth
    }
    training_curves = {name: row["curve"] for name, row in results.items() if "curve" in row}
    labels = {"residuals and norms": "with", "norms alone": "without"}
    curves = {}
    for name, curve in training_curves.items():
        layers, variant = name.split(", ")
        curves[f"{layers}, {labels[variant]}"] = [loss for _, loss in curve]
    steps = [step for step, _ in next(iter(training_curves.values()))]
    layers = list(range(1, depth + 1))
    title = "Gradient of each encoder layer before training, log10"
    return [
        line_chart("by-layer", title, "layer", layers, deepest, from_zero=False),
        line_chart("residual", "Training loss, with and without residuals", "step", steps, curves),
    ]
