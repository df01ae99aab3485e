import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.search.topk import VOCAB_CHUNK, log_normalizer, stable_argmax, stable_topk, topk_continuations

values = st.sampled_from([-math.inf, -1.5, -0.0, 0.0, 0.25, 2.0, math.inf])


@given(st.lists(st.lists(values, min_size=5, max_size=5), min_size=1, max_size=4), st.integers(1, 5))
def test_topk_is_sorted_and_ties_are_in_index_order(rows, count):
    scores, indexes = stable_topk(torch.tensor(rows), count)
    expected = [sorted(range(5), key=lambda index: -row[index])[:count] for row in rows]
    assert indexes.tolist() == expected
    assert scores.tolist() == [
        [row[index] for index in order] for row, order in zip(rows, expected, strict=True)
    ]


def test_nan_is_never_in_the_topk():
    scores, indexes = stable_topk(torch.tensor([[math.nan, -5.0, -math.nan]]), 2)
    assert (scores.tolist(), indexes.tolist()) == ([[-5.0, -math.inf]], [[1, 0]])


@pytest.mark.parametrize("vocab", [3, VOCAB_CHUNK, 2 * VOCAB_CHUNK, 2 * VOCAB_CHUNK + 1, 5 * VOCAB_CHUNK - 1])
@pytest.mark.parametrize("levels", [2, 50, None])
@pytest.mark.parametrize("count", [1, 4])
def test_chunked_topk_equals_topk_over_the_whole_vocabulary(vocab, levels, count):
    torch.manual_seed(vocab)
    logits = torch.randn(3, 4, vocab)
    if levels is not None:  # many ties
        logits = (logits * levels).round() / levels
    norm, score = torch.randn(3, 4), torch.randn(3, 4)
    score[1, 2:] = -math.inf
    all_scores = (logits - norm[:, :, None]) + score[:, :, None]
    expected, indexes = stable_topk(all_scores.flatten(1), count)
    best, slot, token = topk_continuations(logits.clone(), norm, score, count)
    assert torch.equal(best, expected)
    assert torch.equal(slot * vocab + token, indexes)


@given(st.integers(0, 10**6), st.sampled_from([0.0, 1.0, 30.0, 1e4]))
def test_no_probability_is_above_one(seed, scale):
    """The stopping rule of beam search depends on it."""
    random = torch.Generator().manual_seed(seed)
    logits = torch.randn(20, 7, generator=random) * scale
    logits[:, 0] += scale * 5
    norm = log_normalizer(logits)
    assert (logits - norm[:, None] <= 0).all()
    torch.testing.assert_close(norm, logits.logsumexp(dim=1))


def test_no_token_is_outside_the_vocabulary_even_if_too_few_are_possible():
    logits = torch.full((1, 1, 2 * VOCAB_CHUNK + 3), -math.inf)
    logits[:, :, 5] = 0.0
    zero = torch.zeros(1, 1)
    best, _, token = topk_continuations(logits, zero, zero, 2)
    assert token.max() < logits.shape[2]
    assert (best[0, 0], token[0, 0]) == (0.0, 5)


@pytest.mark.parametrize(
    "vocab", [3, 2 * VOCAB_CHUNK - 1, 2 * VOCAB_CHUNK, 2 * VOCAB_CHUNK + 1, 5 * VOCAB_CHUNK - 1]
)
@pytest.mark.parametrize("levels", [1, 50, None])
def test_argmax_returns_the_first_of_ties(vocab, levels):
    torch.manual_seed(vocab)
    logits = torch.randn(40, vocab)
    if levels is not None:  # many ties
        logits = (logits * levels).round() / levels
    logits[0] = -math.inf
    expected = [row.index(max(row)) for row in logits.tolist()]
    assert stable_argmax(logits).tolist() == expected
