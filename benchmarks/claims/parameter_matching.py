"""Models of like size: each as wide as it must be to have as many parameters as the Transformer."""

from collections.abc import Callable, Iterable

import torch
from torch import nn

from convolutional_baseline import ConvolutionalBaseline
from recurrent_baseline import RecurrentBaseline
from regard.model.config import ModelConfig
from transformer_baseline import TransformerBaseline

INPUT_FEEDING_GRU = "GRU, feeding"
ModelBuilder = Callable[[int], nn.Module]
WIDTHS = (*range(16, 256, 4), *range(256, 2048, 16))
"""In steps that hardware likes, where they are fine enough."""


def baseline_builders(config: ModelConfig) -> dict[str, ModelBuilder]:
    """Ways to build each of them at a width, deep as the Transformer is; none has dropout."""
    vocab, layers = config.vocab_size, config.encoder_layers
    return {
        "RNN": lambda width: RecurrentBaseline("RNN", vocab, width, layers),
        "GRU": lambda width: RecurrentBaseline("GRU", vocab, width, layers),
        "LSTM": lambda width: RecurrentBaseline("LSTM", vocab, width, layers),
        INPUT_FEEDING_GRU: lambda width: RecurrentBaseline("GRU", vocab, width, layers, input_feeding=True),
        "convolution": lambda width: ConvolutionalBaseline(vocab, width, layers, longest=config.max_length),
    }


def match_parameter_count(
    config: ModelConfig, builds: dict[str, ModelBuilder] | None = None
) -> dict[str, Callable[[], nn.Module]]:
    """The Transformer first, then its rivals, each to be built when its turn comes."""
    wanted = count_parameters(build_on_meta_device(lambda: TransformerBaseline(config)))
    found: dict[str, Callable[[], nn.Module]] = {"Transformer": lambda: TransformerBaseline(config)}
    for name, build in (baseline_builders(config) if builds is None else builds).items():
        width = matching_width(build, wanted)
        found[name] = lambda build=build, width=width: build(width)
    return found


def matching_width(build: ModelBuilder, wanted: int, widths: Iterable[int] = WIDTHS) -> int:
    """The width at which the count of parameters comes nearest; it only grows."""
    before = None
    for width in widths:
        count = count_parameters(build_on_meta_device(lambda width=width: build(width)))
        if count >= wanted:
            return width if before is None or count - wanted <= wanted - before[1] else before[0]
        before = (width, count)
    raise ValueError(f"no width gives {wanted} parameters")


def build_on_meta_device(build: Callable[[], nn.Module]) -> nn.Module:
    """The shapes without the numbers."""
    with torch.device("meta"):
        return build()


def count_parameters(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())
