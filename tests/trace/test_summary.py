import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.trace.summary import summarize_head


def one_hot_weights(columns, keys=None):
    weights = np.zeros((len(columns), keys or len(columns)))
    weights[range(len(columns)), columns] = 1.0
    return weights


@pytest.mark.parametrize(
    ("kind", "weights", "label"),
    [
        ("encoder", one_hot_weights([0, 0, 1, 2, 3]), "previous"),
        ("encoder", one_hot_weights([0, 1, 2, 3, 4]), "self"),
        ("encoder", one_hot_weights([1, 2, 3, 4, 4]), "next"),
        ("encoder", one_hot_weights([0, 0, 0, 0, 0]), "first"),
        ("encoder", one_hot_weights([4, 4, 4, 4, 4]), "last"),
        ("encoder", np.full((5, 5), 0.2), None),
        ("encoder", one_hot_weights([2, 4, 1, 0, 3]), None),
        ("decoder", one_hot_weights([0, 0, 1, 2, 3]), "previous"),
        ("decoder", one_hot_weights([0, 1, 2, 3, 4]), "self"),
        ("decoder", one_hot_weights([0, 0, 0, 0, 0]), "first"),
        ("decoder", one_hot_weights([0]), None),
        ("cross", one_hot_weights([0, 1, 2, 3, 4]), "alignment"),
        ("cross", one_hot_weights([2, 4, 1, 0, 3, 3], keys=7), None),
        ("cross", one_hot_weights([2, 4, 1, 0, 3, 5, 3], keys=7), "alignment"),
        ("cross", one_hot_weights([0, 0, 0, 1]), "first"),
        ("cross", one_hot_weights([3, 3, 3, 1]), "last"),
        ("cross", one_hot_weights([1, 1, 2, 3]), None),
        ("cross", np.full((4, 6), 1 / 6), None),
    ],
)
def test_a_head_is_labelled_by_its_attended_positions(kind, weights, label):
    assert summarize_head(kind, weights).label == label


def test_a_mean_weight_below_the_threshold_gets_no_label():
    weights = np.full((5, 5), 0.41 / 4)
    np.fill_diagonal(weights, 0.59)
    assert summarize_head("encoder", weights).label is None
    weights = np.full((5, 5), 0.1)
    np.fill_diagonal(weights, 0.6)
    assert summarize_head("encoder", weights).label == "self"


def test_entropy_is_zero_for_one_key_and_one_for_uniform_weights():
    assert summarize_head("encoder", one_hot_weights([1, 0, 2])).entropy == 0.0
    assert summarize_head("cross", np.full((3, 7), 1 / 7)).entropy == pytest.approx(1.0)
    masked = np.tril(np.ones((4, 4))) / np.arange(1, 5)[:, None]
    summary = summarize_head("decoder", masked)
    assert summary.entropy == pytest.approx(1.0)
    assert summary.peak == pytest.approx((1 / 2 + 1 / 3 + 1 / 4) / 3)


def test_entropy_is_relative_to_the_visible_keys():
    two_of_eleven = np.zeros((3, 11))
    two_of_eleven[:, [2, 5]] = 0.5
    assert summarize_head("cross", two_of_eleven, hidden_tokens=9).entropy == pytest.approx(1.0)
    assert summarize_head("encoder", two_of_eleven).entropy == pytest.approx(np.log(2) / np.log(11))
    masked = np.tril(np.ones((4, 4))) / np.arange(1, 5)[:, None]
    assert summarize_head("decoder", masked, hidden_tokens=2) == summarize_head("decoder", masked)
    single_key = summarize_head("cross", one_hot_weights([4, 4, 4], keys=11), hidden_tokens=10)
    assert (single_key.entropy, single_key.peak, single_key.label) == (0.0, 1.0, None)


@given(st.sampled_from(["encoder", "decoder", "cross"]), st.integers(1, 6), st.integers(0, 99))
def test_statistics_are_between_0_and_1(kind, length, seed):
    raw = np.random.default_rng(seed).random((length, length)) ** 8
    raw = np.tril(raw) + 1e-9 * np.tril(np.ones_like(raw)) if kind == "decoder" else raw + 1e-9
    summary = summarize_head(kind, raw / raw.sum(axis=1, keepdims=True))
    assert 0 <= summary.entropy <= 1
    assert 0 < summary.peak <= 1
