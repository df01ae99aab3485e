import pytest

from regard.errors import ConfigError
from regard.search.config import Sampling, SearchConfig


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"beam": 0}, "beam = 0"),
        ({"alpha": -1.0}, "alpha = -1.0"),
        ({"n_best": 0}, "n_best = 0"),
        ({"n_best": 5}, "n_best = 5 cannot work; a beam of 4 finds at most 4; widen it"),
        ({"min_length": -1}, "min_length = -1"),
        ({"max_length": 0}, "max_length = 0"),
        ({"min_length": 9, "max_length": 8}, "min_length = 9 cannot work; max_length is 8"),
        ({"no_repeat_ngram": 0}, "no_repeat_ngram = 0"),
    ],
)
def test_what_cannot_work_is_refused(wrong, said):
    with pytest.raises(ConfigError, match=said):
        SearchConfig(**wrong)


def test_any_number_can_be_drawn():
    assert SearchConfig(n_best=50, sampling=Sampling()).n_best == 50
