"""Models of like size: each as wide as it must be to have as many parameters as the Transformer."""

from collections.abc import Callable, Iterable

import torch
from torch import nn

from convolutional_baseline import Convolutional
from recurrent_baseline import Recurrent
from regard.model.config import ModelConfig
from transformer_baseline import Attentive

FEEDING = "GRU, feeding"
Build = Callable[[int], nn.Module]
WIDTHS = (*range(16, 256, 4), *range(256, 2048, 16))
"""In steps that hardware likes, where they are fine enough."""


def rivals(config: ModelConfig) -> dict[str, Build]:
    """Ways to build each of them at a width, deep as the Transformer is; none has dropout."""
    vocab, layers = config.vocab_size, config.encoder_layers
    return {
        "RNN": lambda width: Recurrent("RNN", vocab, width, layers),
        "GRU": lambda width: Recurrent("GRU", vocab, width, layers),
        "LSTM": lambda width: Recurrent("LSTM", vocab, width, layers),
        FEEDING: lambda width: Recurrent("GRU", vocab, width, layers, feeding=True),
        "convolution": lambda width: Convolutional(vocab, width, layers, longest=config.max_length),
    }


def like_size(
    config: ModelConfig, builds: dict[str, Build] | None = None
) -> dict[str, Callable[[], nn.Module]]:
    """The Transformer first, then its rivals, each to be built when its turn comes."""
    wanted = parameters(on_paper(lambda: Attentive(config)))
    found: dict[str, Callable[[], nn.Module]] = {"Transformer": lambda: Attentive(config)}
    for name, build in (rivals(config) if builds is None else builds).items():
        width = nearest(build, wanted)
        found[name] = lambda build=build, width=width: build(width)
    return found


def nearest(build: Build, wanted: int, widths: Iterable[int] = WIDTHS) -> int:
    """The width at which the count of parameters comes nearest; it only grows."""
    before = None
    for width in widths:
        count = parameters(on_paper(lambda width=width: build(width)))
        if count >= wanted:
            return width if before is None or count - wanted <= wanted - before[1] else before[0]
        before = (width, count)
    raise ValueError(f"no width gives {wanted} parameters")


def on_paper(build: Callable[[], nn.Module]) -> nn.Module:
    """The shapes without the numbers."""
    with torch.device("meta"):
        return build()


def parameters(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())
