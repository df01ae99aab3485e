import pytest

from regard.data.config import DataConfig
from regard.errors import ConfigError


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"source": ("a",)}, "data.source has 1 file and data.target 0 files; each source goes with"),
        ({"source": ("",), "target": ("b",)}, "data.source = '' cannot work; it must be the path of a file"),
        ({"pairs": ("a\0",)}, "data.pairs = .* cannot work; it must be the path of a file"),
        ({"pairs": ("a", "b"), "weights": (1.0,)}, "data.weights has 1 for 2 corpora; give one for each"),
        (
            {"pairs": ("a",), "weights": (0.0,)},
            "data.weights = 0.0 cannot work; each must be a number above 0",
        ),
        ({"valid_source": "a"}, "data.valid_source and data.valid_target go together"),
        ({"valid_source": "a", "valid_target": "b", "valid_pairs": "c"}, "data.valid_pairs takes the place"),
        ({"batch_tokens": 0}, "data.batch_tokens = 0 cannot work"),
    ],
)
def test_invalid_settings_are_rejected(settings, message):
    with pytest.raises(ConfigError, match=message):
        DataConfig(**settings)
