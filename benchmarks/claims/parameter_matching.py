"""Baseline models with the parameter count of the Transformer, reached by their width."""

from collections.abc import Callable, Iterable

import torch
from torch import nn

from baseline_models import ConvolutionalBaseline, RecurrentBaseline, TransformerBaseline
from regard.model.config import ModelConfig

INPUT_FEEDING_GRU = "GRU, feeding"
ModelBuilder = Callable[[int], nn.Module]
WIDTHS = (*range(16, 256, 4), *range(256, 2048, 16))
"""Widths that are tried: multiples of 4, then of 16, which suit the hardware."""


def baseline_builders(config: ModelConfig) -> dict[str, ModelBuilder]:
    """Return functions that build each baseline at a width, as deep as the Transformer, without dropout."""
    vocab, layers = config.vocab_size, config.encoder_layers
    return {
        "RNN": lambda width: RecurrentBaseline("RNN", vocab, width, layers),
        "GRU": lambda width: RecurrentBaseline("GRU", vocab, width, layers),
        "LSTM": lambda width: RecurrentBaseline("LSTM", vocab, width, layers),
        INPUT_FEEDING_GRU: lambda width: RecurrentBaseline("GRU", vocab, width, layers, input_feeding=True),
        "convolution": lambda width: ConvolutionalBaseline(vocab, width, layers, longest=config.max_length),
    }


def match_parameter_count(
    config: ModelConfig, builders: dict[str, ModelBuilder] | None = None
) -> dict[str, Callable[[], nn.Module]]:
    """Return functions that build the Transformer and the baselines with about as many parameters."""
    target = count_parameters(build_on_meta_device(lambda: TransformerBaseline(config)))
    models: dict[str, Callable[[], nn.Module]] = {"Transformer": lambda: TransformerBaseline(config)}
    for name, build in (baseline_builders(config) if builders is None else builders).items():
        width = matching_width(build, target)
        models[name] = lambda build=build, width=width: build(width)
    return models


def matching_width(build: ModelBuilder, target: int, widths: Iterable[int] = WIDTHS) -> int:
    """Return the width with the parameter count nearest to `target`; the count grows with the width."""
    previous = None
    for width in widths:
        count = count_parameters(build_on_meta_device(lambda width=width: build(width)))
        if count >= target:
            return width if previous is None or count - target <= target - previous[1] else previous[0]
        previous = (width, count)
    raise ValueError(f"no width gives {target} parameters")


def build_on_meta_device(build: Callable[[], nn.Module]) -> nn.Module:
    """Build a model without allocating its weights."""
    with torch.device("meta"):
        return build()


def count_parameters(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())
