import numpy as np
import pytest
import torch

from regard.data.batch import BatchShape, make_label_batch, make_pair_batch, pad_source
from regard.data.pairs import concatenate_rows
from regard.text.tokenizer import BOS, EOS, PAD

SOURCE = concatenate_rows([[5, 6, 7], [8]])
TARGET = concatenate_rows([[9], [10, 11]])
BOTH = np.array([0, 1])
SHAPE = BatchShape(tokens=11, sentences=5, max_length=4)


def test_the_target_is_shifted_right_behind_bos():
    batch = make_pair_batch(SOURCE, TARGET, BOTH)
    assert batch.target_in.tokens.tolist() == [[BOS, 9, BOS, 10, 11]]
    assert batch.target_out.tolist() == [[9, EOS, 10, 11, EOS]]
    assert batch.target_in.positions.tolist() == [[0, 1, 0, 1, 2]]
    assert batch.target_in.starts.tolist() == [0, 2, 5]


def test_the_source_ends_in_eos():
    batch = make_pair_batch(SOURCE, TARGET, BOTH)
    assert batch.source.tokens.tolist() == [[5, 6, 7, EOS, 8, EOS]]
    assert batch.source.positions.tolist() == [[0, 1, 2, 3, 0, 1]]
    assert batch.source.starts.tolist() == [0, 4, 6]
    assert (batch.max_source_length, batch.max_target_length) == (4, 3)


def test_pairs_come_in_the_given_order():
    batch = make_pair_batch(SOURCE, TARGET, np.array([1, 0]))
    assert batch.source.tokens.tolist() == [[8, EOS, 5, 6, 7, EOS]]
    assert batch.pair_indexes.tolist() == [1, 0]


def test_token_counts_include_eos_but_not_padding():
    for shape in (None, SHAPE):
        batch = make_pair_batch(SOURCE, TARGET, BOTH, shape)
        assert (batch.source_tokens, batch.target_tokens) == (6, 5)


def test_a_shape_is_filled_with_sentences_of_padding_then_empty_ones():
    batch = make_pair_batch(SOURCE, TARGET, BOTH, SHAPE)
    assert batch.source.tokens.tolist() == [[5, 6, 7, EOS, 8, EOS] + [PAD] * 5]
    assert batch.source.starts.tolist() == [0, 4, 6, 10, 11, 11]
    assert batch.target_in.tokens.tolist() == [[BOS, 9, BOS, 10, 11] + [PAD] * 6]
    assert batch.target_out.tolist() == [[9, EOS, 10, 11, EOS] + [PAD] * 6]
    assert batch.target_in.starts.tolist() == [0, 2, 5, 9, 11, 11]
    assert batch.max_source_length == batch.max_target_length == 4
    assert batch.computed_tokens == 22


@pytest.mark.parametrize(
    "shape", [SHAPE._replace(tokens=5), SHAPE._replace(sentences=3), SHAPE._replace(max_length=3)]
)
def test_a_batch_that_does_not_fit_its_shape_is_rejected(shape):
    with pytest.raises(ValueError, match="do not fit"):
        make_pair_batch(SOURCE, TARGET, BOTH, shape)


def test_moving_a_pair_batch_moves_all_tensors():
    moved = make_pair_batch(SOURCE, TARGET, BOTH).to(torch.device("meta"))
    tensors = (*moved.source, *moved.target_in, moved.target_out)
    assert all(tensor.device == torch.device("meta") for tensor in tensors)


def test_sources_are_padded_with_the_same_tokens_as_in_training():
    rows = pad_source([[5, 6, 7], [8]])
    assert rows[rows != PAD].tolist() == make_pair_batch(SOURCE, TARGET, BOTH).source.tokens[0].tolist()


def test_each_text_of_a_label_batch_starts_with_bos():
    batch = make_label_batch(
        concatenate_rows([[5, 6, 7], [8], [9, 9]]), concatenate_rows([[3], [0], [4]]), np.array([2, 0])
    )
    assert batch.texts.tokens.tolist() == [[BOS, 9, 9, BOS, 5, 6, 7]]
    assert batch.texts.positions.tolist() == [[0, 1, 2, 0, 1, 2, 3]]
    assert batch.texts.starts.tolist() == [0, 3, 7]
    assert batch.labels.tolist() == [4, 3]
    assert (batch.max_length, batch.token_count, batch.text_indexes.tolist()) == (4, 7, [2, 0])


def test_moving_a_label_batch_moves_all_tensors():
    moved = make_label_batch(concatenate_rows([[5]]), concatenate_rows([[3]]), np.array([0])).to(
        torch.device("meta")
    )
    assert all(tensor.device == torch.device("meta") for tensor in (*moved.texts, moved.labels))
