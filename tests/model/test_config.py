from dataclasses import FrozenInstanceError

import pytest
import torch

from regard.errors import ConfigError
from regard.model.config import BASE, BIG, SMALL, TINY, ModelConfig
from regard.model.transformer import Transformer


def parameter_count(config: ModelConfig) -> int:
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in Transformer(config).parameters())


def test_base_has_the_parameter_count_of_table_3():
    assert parameter_count(BASE) == 63_082_496  # Table 3: 65 million


def test_big_has_the_parameter_count_of_table_3():
    assert parameter_count(BIG) == 214_245_376  # Table 3: 213 million


def test_presets_have_the_numbers_of_table_3():
    def row(config):
        return (
            config.encoder_layers,
            config.decoder_layers,
            config.d_model,
            config.d_ff,
            config.heads,
            config.head_width,
            config.dropout,
        )

    assert row(BASE) == (6, 6, 512, 2048, 8, 64, 0.1)
    assert row(BIG) == (6, 6, 1024, 4096, 16, 64, 0.3)
    assert row(SMALL)[:5] == (3, 3, 256, 1024, 4)
    assert row(TINY)[:5] == (4, 4, 128, 256, 4)


def test_the_defaults_are_the_base_model():
    assert ModelConfig() == BASE
    assert ModelConfig().head_width == ModelConfig().d_model // ModelConfig().heads == 64


def test_a_config_is_immutable():
    with pytest.raises(FrozenInstanceError):
        BASE.heads = 3  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"d_model": 512, "heads": 10},
            "model.d_model = 512 does not divide into model.heads = 10; .* is 510",
        ),
        ({"d_model": 4, "heads": 10}, "the nearest that does is 10"),
        ({"heads": 0}, "model.heads = 0 cannot work; it must be at least 1"),
        ({"encoder_layers": 0}, "model.encoder_layers = 0"),
        ({"dropout": 1.0}, "model.dropout = 1.0 cannot work; it must be at least 0 and less than 1"),
        ({"d_k": 0}, "model.d_k = 0"),
        ({"max_length": 1}, "model.max_length = 1"),
        ({"norm_epsilon": 0.0}, "model.norm_epsilon"),
        ({"attention_scale": -1.0}, "model.attention_scale"),
    ],
)
def test_invalid_settings_are_refused_with_advice(changes, message):
    with pytest.raises(ConfigError, match=message):
        ModelConfig(**changes)


def test_heads_need_not_divide_d_model_if_d_k_is_set():
    config = ModelConfig(vocab_size=9, d_model=10, heads=3, d_k=4, d_ff=8, encoder_layers=1, decoder_layers=1)
    logits = Transformer(config)(
        torch.zeros(1, 2, dtype=torch.long),
        torch.ones(1, 2, dtype=torch.bool),
        torch.zeros(1, 3, dtype=torch.long),
    )
    assert logits.shape == (1, 3, 9)
