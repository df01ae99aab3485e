"""F4: what becomes of gradients, of the words, and of learning, when nothing is added around the sublayers?

Pre-norm, with which six layers learn in few steps; the norms can be taken away as well.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import cast

import torch
from torch import Tensor, nn

from benchmark_setting import Found, Setting
from claim_task import Learning, learn
from regard.model.config import ModelConfig
from regard.model.layers import Residual
from regard.model.masks import EVERYTHING
from regard.model.transformer import Transformer, positions
from report_figures import Chart, chart, table
from synthetic_data import phrases
from transformer_baseline import Attentive

CONFIG = ModelConfig(d_model=64, heads=4, d_ff=128, dropout=0.0, norm="pre")
VARIANTS = {
    "residuals and norms": (True, True),
    "norms alone": (False, True),
    "residuals alone": (True, False),
    "neither": (False, False),
}


class Cut(Residual):
    """The sublayer's output alone."""

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return self.dropout(sublayer(self.norm(x)))


def without_residuals(model: Transformer) -> None:
    """Every residual of the model replaced by a `Cut`, with nothing learnt yet in either."""
    _replace_all(model, Residual, lambda: Cut(model.config))


def without_norms(model: Transformer) -> None:
    _replace_all(model, nn.LayerNorm, nn.Identity)


def _replace_all(model: nn.Module, kind: type[nn.Module], build: Callable[[], nn.Module]) -> None:
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, kind):
                setattr(parent, name, build())


def measure(setting: Setting) -> Found:
    book = phrases(setting.choose(20_000, 200))
    found: Found = {}
    for layers in setting.choose((2, 6), (2,)):
        for name, (residuals, norms) in VARIANTS.items():
            torch.manual_seed(1)
            config = replace(CONFIG, vocab_size=book.vocab, encoder_layers=layers, decoder_layers=layers)
            model = Attentive(config)
            if not residuals:
                without_residuals(model.transformer)
            if not norms:
                without_norms(model.transformer)
            task = Learning(model, book.draw, book.valid, setting.device)
            row: Found = {"layers": layers, "gradients": gradients(task), "own": own_share(task)}
            if norms:
                lesson = learn(task, setting.choose(400, 3), peak=3e-3)
                row |= {"loss": lesson.loss, "accuracy": lesson.accuracy, "curve": lesson.curve}
            found[f"{layers}+{layers}, {name}"] = row
    return found


def gradients(task: Learning) -> list[float]:
    """The length of the gradient in each encoder layer, the first layer first, before any step."""
    batch, _ = next(task.batches({}))
    task.model.zero_grad(set_to_none=True)
    (task.loss(batch) / batch.target_tokens).backward()
    layers = cast(Attentive, task.model).transformer.encoder.layers
    norms = [
        nn.utils.get_total_norm([each.grad for each in layer.parameters() if each.grad is not None])
        for layer in layers
    ]
    task.model.zero_grad(set_to_none=True)
    return [float(norm) for norm in norms]


@torch.no_grad()
def own_share(task: Learning) -> float:
    """How much of a word's vector, as the encoder leaves it, is not what all words of its sentence share."""
    model = cast(Attentive, task.model).transformer
    source = next(task.batches({}))[0].source.to(model.device)
    left = model.encode(source, positions(source), EVERYTHING)
    return float((left - left.mean(dim=1, keepdim=True)).norm() / left.norm())


def tables(found: Found) -> list[str]:
    titles = ["layers, and around them", "gradient, first", "last", "a word's own share", "loss", "right, %"]
    rows = [
        [name, *(f"{row['gradients'][end]:.2g}" for end in (0, -1)), f"{row['own']:.1g}", *_learnt(row)]
        for name, row in found.items()
    ]
    return [table(titles, rows)]


def _learnt(row: Found) -> list[str]:
    return [f"{row['loss']:.3f}", f"{100 * row['accuracy']:.1f}"] if "loss" in row else ["", ""]


def charts(found: Found) -> list[Chart]:
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
        chart("by-layer", title, "layer", layers, deep, from_zero=False),
        chart("residual", "Training loss, with and without residuals", "step", steps, curves),
    ]
