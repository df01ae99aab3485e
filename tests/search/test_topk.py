import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.search.topk import VOCAB_CHUNK, log_normalizer, stable_argmax, stable_topk, topk_continuations

values = st.sampled_from([-math.inf, -1.5, -0.0, 0.0, 0.25, 2.0, math.inf])


@given(st.lists(st.lists(values, min_size=5, max_size=5), min_size=1, max_size=4), st.integers(1, 5))
def test_the_highest_come_in_order_and_equals_in_the_order_of_their_places(rows, count):
    scores, where = stable_topk(torch.tensor(rows), count)
    expected = [sorted(range(5), key=lambda at: -row[at])[:count] for row in rows]
    assert where.tolist() == expected
    assert scores.tolist() == [[row[at] for at in order] for row, order in zip(rows, expected, strict=True)]


def test_what_is_not_a_number_is_never_high():
    scores, where = stable_topk(torch.tensor([[math.nan, -5.0, -math.nan]]), 2)
    assert (scores.tolist(), where.tolist()) == ([[-5.0, -math.inf]], [[1, 0]])


@pytest.mark.parametrize("vocab", [3, VOCAB_CHUNK, 2 * VOCAB_CHUNK, 2 * VOCAB_CHUNK + 1, 5 * VOCAB_CHUNK - 1])
@pytest.mark.parametrize("levels", [2, 50, None])
@pytest.mark.parametrize("count", [1, 4])
def test_looking_at_chunks_first_finds_what_looking_at_everything_finds(vocab, levels, count):
    torch.manual_seed(vocab)
    logits = torch.randn(3, 4, vocab)
    if levels is not None:  # many equals
        logits = (logits * levels).round() / levels
    norm, score = torch.randn(3, 4), torch.randn(3, 4)
    score[1, 2:] = -math.inf
    every = (logits - norm[:, :, None]) + score[:, :, None]
    expected, where = stable_topk(every.flatten(1), count)
    found, place, token = topk_continuations(logits.clone(), norm, score, count)
    assert torch.equal(found, expected)
    assert torch.equal(place * vocab + token, where)


@given(st.integers(0, 10**6), st.sampled_from([0.0, 1.0, 30.0, 1e4]))
def test_no_probability_is_above_one(seed, scale):
    """The stop of the beam search rests on it."""
    random = torch.Generator().manual_seed(seed)
    logits = torch.randn(20, 7, generator=random) * scale
    logits[:, 0] += scale * 5
    norm = log_normalizer(logits)
    assert (logits - norm[:, None] <= 0).all()
    torch.testing.assert_close(norm, logits.logsumexp(dim=1))


def test_no_token_is_beyond_the_vocabulary_even_where_too_few_are_possible():
    logits = torch.full((1, 1, 2 * VOCAB_CHUNK + 3), -math.inf)
    logits[:, :, 5] = 0.0
    none = torch.zeros(1, 1)
    best, _, token = topk_continuations(logits, none, none, 2)
    assert token.max() < logits.shape[2]
    assert (best[0, 0], token[0, 0]) == (0.0, 5)


@pytest.mark.parametrize(
    "vocab", [3, 2 * VOCAB_CHUNK - 1, 2 * VOCAB_CHUNK, 2 * VOCAB_CHUNK + 1, 5 * VOCAB_CHUNK - 1]
)
@pytest.mark.parametrize("levels", [1, 50, None])
def test_the_first_of_the_highest_is_found_chunk_by_chunk(vocab, levels):
    torch.manual_seed(vocab)
    logits = torch.randn(40, vocab)
    if levels is not None:  # many equals
        logits = (logits * levels).round() / levels
    logits[0] = -math.inf
    expected = [row.index(max(row)) for row in logits.tolist()]
    assert stable_argmax(logits).tolist() == expected
