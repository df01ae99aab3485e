import torch

from regard.data.batch import pair_batch, source_rows
from regard.data.ids import flatten
from regard.text.tokenizer import BOS, EOS, PAD

SOURCE = flatten([[5, 6, 7], [8]])
TARGET = flatten([[9], [10, 11]])


def test_the_target_is_shifted_right_behind_the_begin_mark():
    batch = pair_batch(SOURCE, TARGET, [0, 1])
    assert batch.target_in.tolist() == [[BOS, 9, PAD], [BOS, 10, 11]]
    assert batch.target_out.tolist() == [[9, EOS, PAD], [10, 11, EOS]]


def test_the_source_ends_in_the_end_mark_and_padding_is_not_kept():
    batch = pair_batch(SOURCE, TARGET, [0, 1])
    assert batch.source.tolist() == [[5, 6, 7, EOS], [8, EOS, PAD, PAD]]
    assert batch.source_keep.int().tolist() == [[1, 1, 1, 1], [1, 1, 0, 0]]


def test_tokens_counts_targets_and_end_marks_but_no_padding():
    assert pair_batch(SOURCE, TARGET, [0, 1]).tokens == 5


def test_a_batch_moves_whole():
    moved = pair_batch(SOURCE, TARGET, [0]).to(torch.device("meta"))
    assert moved.source.device == moved.source_keep.device == moved.target_out.device == torch.device("meta")


def test_sources_alone_are_made_as_in_training():
    assert torch.equal(source_rows([[5, 6, 7], [8]]), pair_batch(SOURCE, TARGET, [0, 1]).source)
