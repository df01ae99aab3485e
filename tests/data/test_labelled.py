from collections import Counter
from itertools import islice

import numpy as np
import pytest
import torch

from regard.data.batch import make_label_batch
from regard.data.mmap_store import open_pair_dataset, write_token_rows
from regard.data.pairs import concatenate_rows
from regard.data.stream import TokenBudget, stream_batches
from regard.data.tokenization import BPEDropout, tokenize_labelled_texts
from regard.text.tokenizer import BOS, learn_tokenizer

TEXTS = ["what is a cat ?", "who was she ?", "where do birds sleep at night ?"]
TOKENIZER = learn_tokenizer(TEXTS * 3, 300)
LABELS = {"thing": 0, "human": 1, "place": 2}
NUMBERED = [(2, (TEXTS[0], "thing")), (3, (TEXTS[1], "human")), (7, (TEXTS[2], "place"))]
LENGTHS = [len(row) for row in TOKENIZER.tokenize(TEXTS)]


def test_a_text_is_its_pieces_and_a_label_its_number():
    found = tokenize_labelled_texts(NUMBERED, TOKENIZER, LABELS, 100, "cut")
    assert (found.source, found.target) == (TOKENIZER.tokenize(TEXTS), [[0], [1], [2]])
    assert (found.line_numbers, found.long_counts) == ([2, 3, 7], Counter())


def test_a_long_text_loses_its_end_or_is_left_out():
    longest = sorted(LENGTHS)[1]
    cut = tokenize_labelled_texts(NUMBERED, TOKENIZER, LABELS, longest, "cut")
    assert cut.source == [row[:longest] for row in TOKENIZER.tokenize(TEXTS)]
    assert cut.long_counts == {"cut": 1}
    dropped = tokenize_labelled_texts(NUMBERED, TOKENIZER, LABELS, longest, "drop")
    kept = [i for i, length in enumerate(LENGTHS) if length <= longest]
    assert dropped.target == [[i] for i in kept]
    assert (len(dropped.source), dropped.line_numbers, dropped.long_counts) == (
        2,
        [NUMBERED[i][0] for i in kept],
        {"dropped": 1},
    )


def test_a_text_in_several_ways_has_its_label_in_each():
    found = tokenize_labelled_texts(
        NUMBERED, TOKENIZER, LABELS, 100, "cut", BPEDropout(0.5, 3, 1), first_index=4
    )
    assert found.target == [[0]] * 3 + [[1]] * 3 + [[2]] * 3
    assert TOKENIZER.detokenize(found.source) == [text for text in TEXTS for _ in range(3)]
    assert found.line_numbers == [2, 3, 7]


def test_an_unknown_label_is_not_taken_for_another():
    with pytest.raises(KeyError):
        tokenize_labelled_texts([(1, ("a", "never seen"))], TOKENIZER, LABELS, 100, "cut")


def test_labelled_texts_are_stored_and_streamed_as_pairs_are(tmp_path):
    many = [(i + 1, (TEXTS[i % 3], ["thing", "human", "place"][i % 3])) for i in range(50)]

    def tokenize(chunk, first):
        return tokenize_labelled_texts(chunk, TOKENIZER, LABELS, 100, "cut", first_index=first)

    facts = write_token_rows(tmp_path, [many], tokenize, TOKENIZER.vocab_size, 100, 1)
    stored = open_pair_dataset(tmp_path, facts, (1.0,))
    seen = []
    for indexes, _after in islice(stream_batches(stored, TokenBudget(40), seed=1), 30):
        batch = make_label_batch(stored.source, stored.target, indexes)
        assert batch.token_count <= 40
        assert batch.labels.tolist() == [i % 3 for i in indexes]
        seen += indexes.tolist()
        if len(seen) == 50:
            break
    assert sorted(seen) == list(range(50))


def test_every_text_of_a_batch_stands_behind_the_class_token():
    batch = make_label_batch(
        concatenate_rows([[5, 6, 7], [8], [9, 9]]), concatenate_rows([[3], [0], [4]]), np.array([2, 0])
    )
    assert batch.texts.tokens.tolist() == [[BOS, 9, 9, BOS, 5, 6, 7]]
    assert batch.texts.positions.tolist() == [[0, 1, 2, 0, 1, 2, 3]]
    assert batch.texts.starts.tolist() == [0, 3, 7]
    assert batch.labels.tolist() == [4, 3]
    assert (batch.max_length, batch.token_count, batch.text_indexes.tolist()) == (4, 7, [2, 0])


def test_a_batch_moves_whole():
    moved = make_label_batch(concatenate_rows([[5]]), concatenate_rows([[3]]), np.array([0])).to(
        torch.device("meta")
    )
    assert all(tensor.device == torch.device("meta") for tensor in (*moved.texts, moved.labels))
