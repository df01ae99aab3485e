import pytest
import torch

from oracles import make_packed_sequences
from regard.model.attention import attention
from regard.model.masks import CAUSAL_MASK, NO_MASK, AttentionMask, make_packed_mask, make_padding_mask

CPU = torch.device("cpu")


def test_a_causal_query_sees_itself_and_what_came_before():
    expected = [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert CAUSAL_MASK.to_matrix(3, 3, CPU)[0].int().tolist() == expected


def test_everything_hides_nothing():
    assert NO_MASK.to_matrix(2, 5, CPU).all()


def test_padding_is_seen_by_nobody_on_either_side():
    keep = torch.tensor([[True, True, False], [False, True, True]])
    for row, visible in zip(keep, make_padding_mask(keep).to_matrix(3, 3, CPU).expand(2, 3, 3), strict=True):
        for query in visible:
            assert query.tolist() == row.tolist()


def test_padded_and_causal_hides_both():
    keep = torch.tensor([[False, True, True]])
    assert make_padding_mask(keep, causal=True).to_matrix(3, 3, CPU)[0].int().tolist() == [
        [0, 0, 0],
        [0, 1, 0],
        [0, 1, 1],
    ]


def test_packed_sentences_see_only_themselves():
    both = make_packed_sequences([2, 1])
    assert make_packed_mask(both, both).to_matrix(3, 3, CPU)[0].int().tolist() == [
        [1, 1, 0],
        [1, 1, 0],
        [0, 0, 1],
    ]


def test_packed_targets_see_their_own_source():
    seen = make_packed_mask(make_packed_sequences([1, 2]), make_packed_sequences([2, 1])).to_matrix(3, 3, CPU)
    assert seen[0].int().tolist() == [[1, 1, 0], [0, 0, 1], [0, 0, 1]]


def test_packed_and_causal_is_causal_within_each_sentence():
    both = make_packed_sequences([2, 2])
    expected = [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]]
    assert make_packed_mask(both, both, causal=True).to_matrix(4, 4, CPU)[0].int().tolist() == expected


def test_packed_attention_is_attention_with_the_matrix_it_stands_for():
    torch.manual_seed(0)
    queries, keys = make_packed_sequences([3, 1, 4]), make_packed_sequences([2, 5, 1])
    query, key, value = (torch.randn(1, 2, 8, 4) for _ in range(3))
    for visible in (make_packed_mask(queries, keys), make_packed_mask(queries, queries, causal=True)):
        explicit = AttentionMask(visible.to_matrix(8, 8, CPU))
        torch.testing.assert_close(
            attention(query, key, value, visible), attention(query, key, value, explicit)
        )


def test_rows_of_packed_sentences_have_padding_only_where_lengths_differ():
    assert make_packed_sequences([3, 3]).keep() is None
    assert make_packed_sequences([3, 1]).keep().int().tolist() == [[1, 1, 1], [1, 0, 0]]
    assert make_packed_sequences([3, 1]).padded_indices().tolist() == [0, 1, 2, 3]
    assert make_packed_sequences([1, 3]).padded_indices().tolist() == [0, 3, 4, 5]


def test_causal_is_refused_where_the_kernel_would_misread_it():
    with pytest.raises(ValueError, match="2 queries and 5 keys"):
        CAUSAL_MASK.to_matrix(2, 5, CPU)
    with pytest.raises(ValueError, match="need no keep"):
        make_packed_mask(make_packed_sequences([3]), make_packed_sequences([3]))._replace(
            keep=torch.ones(1, 3, 3, dtype=torch.bool)
        ).check(3, 3)
    with pytest.raises(ValueError, match="without keep"):
        AttentionMask(torch.ones(1, 3, 3, dtype=torch.bool), causal=True).to_matrix(3, 3, CPU)
    x = torch.randn(1, 1, 5, 4)
    with pytest.raises(ValueError, match="2 queries and 5 keys"):
        attention(x[:, :, 3:], x, x, CAUSAL_MASK)
