import pytest
import torch

from oracles import segments
from regard.model.attention import attention
from regard.model.masks import CAUSAL, EVERYTHING, Visible, packed, padded

CPU = torch.device("cpu")


def test_a_causal_query_sees_itself_and_what_came_before():
    expected = [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert CAUSAL.matrix(3, 3, CPU)[0].int().tolist() == expected


def test_everything_hides_nothing():
    assert EVERYTHING.matrix(2, 5, CPU).all()


def test_padding_is_seen_by_nobody_on_either_side():
    keep = torch.tensor([[True, True, False], [False, True, True]])
    for row, visible in zip(keep, padded(keep).matrix(3, 3, CPU).expand(2, 3, 3), strict=True):
        for query in visible:
            assert query.tolist() == row.tolist()


def test_padded_and_causal_hides_both():
    keep = torch.tensor([[False, True, True]])
    assert padded(keep, causal=True).matrix(3, 3, CPU)[0].int().tolist() == [[0, 0, 0], [0, 1, 0], [0, 1, 1]]


def test_packed_sentences_see_only_themselves():
    both = segments([2, 1])
    assert packed(both, both).matrix(3, 3, CPU)[0].int().tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 1]]


def test_packed_targets_see_their_own_source():
    seen = packed(segments([1, 2]), segments([2, 1])).matrix(3, 3, CPU)
    assert seen[0].int().tolist() == [[1, 1, 0], [0, 0, 1], [0, 0, 1]]


def test_packed_and_causal_is_causal_within_each_sentence():
    both = segments([2, 2])
    expected = [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]]
    assert packed(both, both, causal=True).matrix(4, 4, CPU)[0].int().tolist() == expected


def test_packed_attention_is_attention_with_the_matrix_it_stands_for():
    torch.manual_seed(0)
    queries, keys = segments([3, 1, 4]), segments([2, 5, 1])
    query, key, value = (torch.randn(1, 2, 8, 4) for _ in range(3))
    for visible in (packed(queries, keys), packed(queries, queries, causal=True)):
        explicit = Visible(visible.matrix(8, 8, CPU))
        torch.testing.assert_close(
            attention(query, key, value, visible), attention(query, key, value, explicit)
        )


def test_rows_of_packed_sentences_have_padding_only_where_lengths_differ():
    assert segments([3, 3]).keep() is None
    assert segments([3, 1]).keep().int().tolist() == [[1, 1, 1], [1, 0, 0]]
    assert segments([3, 1]).place().tolist() == [0, 1, 2, 3]
    assert segments([1, 3]).place().tolist() == [0, 3, 4, 5]


def test_causal_is_refused_where_the_kernel_would_misread_it():
    with pytest.raises(ValueError, match="2 queries and 5 keys"):
        CAUSAL.matrix(2, 5, CPU)
    with pytest.raises(ValueError, match="need no keep"):
        packed(segments([3]), segments([3]))._replace(keep=torch.ones(1, 3, 3, dtype=torch.bool)).check(3, 3)
    with pytest.raises(ValueError, match="without keep"):
        Visible(torch.ones(1, 3, 3, dtype=torch.bool), causal=True).matrix(3, 3, CPU)
    x = torch.randn(1, 1, 5, 4)
    with pytest.raises(ValueError, match="2 queries and 5 keys"):
        attention(x[:, :, 3:], x, x, CAUSAL)
