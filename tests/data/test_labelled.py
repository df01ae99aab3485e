from collections import Counter
from itertools import islice

import numpy as np
import pytest
import torch

from regard.data.batch import label_batch
from regard.data.mmap_store import open_pairs, write_rows
from regard.data.pairs import flatten
from regard.data.stream import BatchPlan, stream
from regard.data.tokenization import PieceDropout, tokenize_labelled
from regard.text.tokenizer import BOS, learn_tokenizer

TEXTS = ["what is a cat ?", "who was she ?", "where do birds sleep at night ?"]
TOKENIZER = learn_tokenizer(TEXTS * 3, 300)
LABELS = {"thing": 0, "human": 1, "place": 2}
NUMBERED = [(2, (TEXTS[0], "thing")), (3, (TEXTS[1], "human")), (7, (TEXTS[2], "place"))]
LENGTHS = [len(row) for row in TOKENIZER.tokenize(TEXTS)]


def test_a_text_is_its_pieces_and_a_label_its_number():
    found = tokenize_labelled(NUMBERED, TOKENIZER, LABELS, 100, "cut")
    assert (found.source, found.target) == (TOKENIZER.tokenize(TEXTS), [[0], [1], [2]])
    assert (found.lines, found.long) == ([2, 3, 7], Counter())


def test_a_long_text_loses_its_end_or_is_left_out():
    longest = sorted(LENGTHS)[1]
    cut = tokenize_labelled(NUMBERED, TOKENIZER, LABELS, longest, "cut")
    assert cut.source == [row[:longest] for row in TOKENIZER.tokenize(TEXTS)]
    assert cut.long == {"cut": 1}
    dropped = tokenize_labelled(NUMBERED, TOKENIZER, LABELS, longest, "drop")
    kept = [i for i, length in enumerate(LENGTHS) if length <= longest]
    assert dropped.target == [[i] for i in kept]
    assert (len(dropped.source), dropped.lines, dropped.long) == (
        2,
        [NUMBERED[i][0] for i in kept],
        {"dropped": 1},
    )


def test_a_text_in_several_ways_has_its_label_in_each():
    found = tokenize_labelled(NUMBERED, TOKENIZER, LABELS, 100, "cut", PieceDropout(0.5, 3, 1), first=4)
    assert found.target == [[0]] * 3 + [[1]] * 3 + [[2]] * 3
    assert TOKENIZER.detokenize(found.source) == [text for text in TEXTS for _ in range(3)]
    assert found.lines == [2, 3, 7]


def test_an_unknown_label_is_not_taken_for_another():
    with pytest.raises(KeyError):
        tokenize_labelled([(1, ("a", "never seen"))], TOKENIZER, LABELS, 100, "cut")


def test_labelled_texts_are_stored_and_streamed_as_pairs_are(tmp_path):
    many = [(i + 1, (TEXTS[i % 3], ["thing", "human", "place"][i % 3])) for i in range(50)]

    def tokenize(chunk, first):
        return tokenize_labelled(chunk, TOKENIZER, LABELS, 100, "cut", first=first)

    facts = write_rows(tmp_path, [many], tokenize, TOKENIZER.vocab_size, 100, 1)
    stored = open_pairs(tmp_path, facts, (1.0,))
    seen = []
    for indexes, _after in islice(stream(stored, BatchPlan(40), seed=1), 30):
        batch = label_batch(stored.source, stored.target, indexes)
        assert batch.tokens <= 40
        assert batch.labels.tolist() == [i % 3 for i in indexes]
        seen += indexes.tolist()
        if len(seen) == 50:
            break
    assert sorted(seen) == list(range(50))


def test_every_text_of_a_batch_stands_behind_the_class_token():
    batch = label_batch(flatten([[5, 6, 7], [8], [9, 9]]), flatten([[3], [0], [4]]), np.array([2, 0]))
    assert batch.texts.tokens.tolist() == [[BOS, 9, 9, BOS, 5, 6, 7]]
    assert batch.texts.at.tolist() == [[0, 1, 2, 0, 1, 2, 3]]
    assert batch.texts.starts.tolist() == [0, 3, 7]
    assert batch.labels.tolist() == [4, 3]
    assert (batch.longest, batch.tokens, batch.rows.tolist()) == (4, 7, [2, 0])


def test_a_batch_moves_whole():
    moved = label_batch(flatten([[5]]), flatten([[3]]), np.array([0])).to(torch.device("meta"))
    assert all(tensor.device == torch.device("meta") for tensor in (*moved.texts, moved.labels))
