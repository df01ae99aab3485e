"""The shapes that are compared with a file before a model is built are those of the model."""

from dataclasses import replace

import pytest

from regard.model.config import ModelConfig
from regard.model.transformer import Transformer
from regard.model.transformer_classifier import (
    ClassifierConfig,
    TransformerClassifier,
    classifier_weight_shapes,
)
from regard.model.transformer_forecaster import (
    ForecasterConfig,
    TransformerForecaster,
    forecaster_weight_shapes,
)
from regard.model.weight_shapes import transformer_weight_shapes


def named_shapes(network):
    return {name: tuple(weight.shape) for name, weight in network.named_parameters()}


VARIANTS = [
    {},
    {"norm": "pre"},
    {"norm": "literal", "activation": "gelu"},
    {"position": "learned"},
    {"position": "none"},
    {"d_k": 6},
    {"encoder_layers": 3, "decoder_layers": 1},
]


@pytest.mark.parametrize("tied", ["all", "target", "none"])
@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_the_shapes_of_a_transformer_are_those_of_its_weights(micro: ModelConfig, changes, tied):
    config = replace(micro, tied=tied, **changes)
    assert dict(transformer_weight_shapes(config)) == named_shapes(Transformer(config))


@pytest.mark.parametrize("changes", [{}, {"norm": "pre"}, {"position": "learned"}, {"d_k": 3}], ids=str)
def test_the_shapes_of_a_classifier_are_those_of_its_weights(changes):
    config = ClassifierConfig(d_model=8, heads=2, d_ff=12, vocab_size=20, max_length=9, **changes)
    assert dict(classifier_weight_shapes(config, 3)) == named_shapes(TransformerClassifier(config, 3, 0))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"decoding": "steps"},
        {"calendar": 4, "channels": 3},
        {"norm": "post", "position": "paper"},
        {"encoder_layers": 0, "quantiles": ()},
        {"patch": 5, "stride": 2, "horizon": 7},
    ],
    ids=str,
)
def test_the_shapes_of_a_forecaster_are_those_of_its_weights(changes):
    small = {"d_model": 8, "heads": 2, "d_ff": 12, "history": 12, "horizon": 6, "patch": 3, "stride": 3}
    config = ForecasterConfig(**{**small, **changes})
    assert dict(forecaster_weight_shapes(config)) == named_shapes(TransformerForecaster(config))
