import pytest
import torch

from oracles import make_packed_sequences
from regard.model.attention import attention
from regard.model.masks import CAUSAL_MASK, NO_MASK, AttentionMask, make_packed_mask, make_padding_mask

CPU = torch.device("cpu")


def test_a_causal_query_attends_to_itself_and_earlier_keys():
    expected = [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert CAUSAL_MASK.to_matrix(3, 3, CPU)[0].int().tolist() == expected


def test_no_mask_keeps_every_key():
    assert NO_MASK.to_matrix(2, 5, CPU).all()


def test_padding_on_either_side_is_masked():
    keep = torch.tensor([[True, True, False], [False, True, True]])
    for row, mask in zip(keep, make_padding_mask(keep).to_matrix(3, 3, CPU).expand(2, 3, 3), strict=True):
        for query in mask:
            assert query.tolist() == row.tolist()


def test_a_causal_padding_mask_masks_both():
    keep = torch.tensor([[False, True, True]])
    assert make_padding_mask(keep, causal=True).to_matrix(3, 3, CPU)[0].int().tolist() == [
        [0, 0, 0],
        [0, 1, 0],
        [0, 1, 1],
    ]


def test_packed_sequences_attend_to_themselves_only():
    sequences = make_packed_sequences([2, 1])
    assert make_packed_mask(sequences, sequences).to_matrix(3, 3, CPU)[0].int().tolist() == [
        [1, 1, 0],
        [1, 1, 0],
        [0, 0, 1],
    ]


def test_packed_targets_attend_to_their_own_source():
    keep = make_packed_mask(make_packed_sequences([1, 2]), make_packed_sequences([2, 1])).to_matrix(3, 3, CPU)
    assert keep[0].int().tolist() == [[1, 1, 0], [0, 0, 1], [0, 0, 1]]


def test_a_causal_packed_mask_is_causal_within_each_sequence():
    sequences = make_packed_sequences([2, 2])
    expected = [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]]
    assert (
        make_packed_mask(sequences, sequences, causal=True).to_matrix(4, 4, CPU)[0].int().tolist() == expected
    )


def test_packed_attention_equals_attention_with_the_explicit_matrix():
    torch.manual_seed(0)
    queries, keys = make_packed_sequences([3, 1, 4]), make_packed_sequences([2, 5, 1])
    query, key, value = (torch.randn(1, 2, 8, 4) for _ in range(3))
    for mask in (make_packed_mask(queries, keys), make_packed_mask(queries, queries, causal=True)):
        explicit = AttentionMask(mask.to_matrix(8, 8, CPU))
        torch.testing.assert_close(attention(query, key, value, mask), attention(query, key, value, explicit))


def test_padded_rows_of_packed_sequences_have_padding_only_if_lengths_differ():
    assert make_packed_sequences([3, 3]).keep() is None
    assert make_packed_sequences([3, 1]).keep().int().tolist() == [[1, 1, 1], [1, 0, 0]]
    assert make_packed_sequences([3, 1]).padded_indices().tolist() == [0, 1, 2, 3]
    assert make_packed_sequences([1, 3]).padded_indices().tolist() == [0, 3, 4, 5]


def test_masks_that_the_fused_kernel_would_misread_are_refused():
    with pytest.raises(ValueError, match="2 queries and 5 keys"):
        CAUSAL_MASK.to_matrix(2, 5, CPU)
    with pytest.raises(ValueError, match="take no keep"):
        make_packed_mask(make_packed_sequences([3]), make_packed_sequences([3]))._replace(
            keep=torch.ones(1, 3, 3, dtype=torch.bool)
        ).check(3, 3)
    with pytest.raises(ValueError, match="without keep"):
        AttentionMask(torch.ones(1, 3, 3, dtype=torch.bool), causal=True).to_matrix(3, 3, CPU)
    x = torch.randn(1, 1, 5, 4)
    with pytest.raises(ValueError, match="2 queries and 5 keys"):
        attention(x[:, :, 3:], x, x, CAUSAL_MASK)
