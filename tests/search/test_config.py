import pytest

from regard.errors import ConfigError
from regard.search.config import Sampling, SearchConfig


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"beam": 0}, "beam = 0"),
        ({"alpha": -1.0}, "alpha = -1.0"),
        ({"n_best": 0}, "n_best = 0"),
        ({"n_best": 5}, "n_best = 5 cannot work; a beam of 4 finds at most 4; raise beam"),
        ({"min_length": -1}, "min_length = -1"),
        ({"max_length": 0}, "max_length = 0"),
        (
            {"min_length": 9, "max_length": 8},
            "min_length = 9 cannot work; it must be at most max_length = 8",
        ),
        ({"no_repeat_ngram": 0}, "no_repeat_ngram = 0"),
    ],
)
def test_invalid_settings_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        SearchConfig(**settings)


def test_the_number_of_samples_is_not_limited_by_the_beam():
    assert SearchConfig(n_best=50, sampling=Sampling()).n_best == 50
