from collections import Counter
from itertools import islice

import numpy as np
import pytest

from regard.data.batch import make_label_batch
from regard.data.mmap_store import open_pair_dataset, write_token_ids
from regard.data.stream import TokenBudget, stream_batches
from regard.data.tokenization import (
    NO_BPE_DROPOUT,
    BPEDropout,
    LabelledTokenization,
    PairTokenization,
    tokenize_variants,
)
from regard.text.bpe_dropout import BPEDropoutSampler
from regard.text.tokenizer import learn_tokenizer

TEXTS = ["the cat sees the dog.", "the dog sees a bird.", "a cat sings to the birds."] * 5
PAIRS = list(zip(TEXTS, TEXTS[1:] + TEXTS[:1], strict=True))
NUMBERED = list(enumerate(PAIRS, start=1))
TOKENIZER = learn_tokenizer(TEXTS, 300)
DROPOUT = BPEDropout(0.3, 3, 7)

QUESTIONS = ["what is a cat ?", "who was she ?", "where do birds sleep at night ?"]
QUESTION_TOKENIZER = learn_tokenizer(QUESTIONS * 3, 300)
LABELS = ("thing", "human", "place")
LABELLED = [(2, (QUESTIONS[0], "thing")), (3, (QUESTIONS[1], "human")), (7, (QUESTIONS[2], "place"))]
LENGTHS = [len(row) for row in QUESTION_TOKENIZER.tokenize(QUESTIONS)]


def test_each_variant_is_drawn_by_the_sampler():
    variants = tokenize_variants(TEXTS, TOKENIZER, DROPOUT, 4)
    sampler = BPEDropoutSampler(TOKENIZER, 0.3, seed=7)
    for number in range(3):
        assert [rows[number] for rows in variants] == sampler.tokenize(TEXTS, number, 4)
    assert len({tuple(map(tuple, rows)) for rows in variants}) > 3


def test_without_dropout_the_only_variant_is_that_of_the_tokenizer():
    assert tokenize_variants(TEXTS, TOKENIZER, NO_BPE_DROPOUT, 0) == [
        [row] for row in TOKENIZER.tokenize(TEXTS)
    ]


def test_epochs_of_a_stored_corpus_take_the_variants_in_turn(tmp_path):
    facts = write_token_ids(
        tmp_path, [NUMBERED[:10], NUMBERED[10:]], PairTokenization(TOKENIZER, 100, "drop", DROPOUT)
    )
    pairs = open_pair_dataset(tmp_path, facts, (1.0, 1.0))
    assert (len(pairs), pairs.corpus_sizes, pairs.epoch_size) == (15, (10, 5), 15)
    assert len(pairs.source) == len(pairs.target) == 45
    expected = [
        row
        for part in (PAIRS[:10], PAIRS[10:])
        for row in tokenize_variants([a for a, _ in part], TOKENIZER, DROPOUT, 0)
    ]
    for epoch in range(5):
        indexes = pairs.epoch_indexes(epoch, np.arange(15)).tolist()
        assert [pairs.source[i].tolist() for i in indexes] == [rows[epoch % 3] for rows in expected]
        texts = [
            TOKENIZER.detokenize([side[i].tolist() for i in indexes]) for side in (pairs.source, pairs.target)
        ]
        assert list(zip(*texts, strict=True)) == PAIRS


def test_a_pair_that_is_too_long_in_one_variant_is_too_long():
    dropout, max_length = BPEDropout(0.5, 4, 1), 18
    source, target, _, counts = PairTokenization(TOKENIZER, max_length, "drop", dropout)(NUMBERED)
    assert 0 < counts["dropped"] < len(PAIRS)
    assert len(source) == len(target) == 4 * (len(PAIRS) - counts["dropped"])
    assert max(map(len, source + target)) <= max_length
    source, target, _, counts = PairTokenization(TOKENIZER, max_length, "cut", dropout)(NUMBERED)
    assert counts["cut"] > 0
    assert len(source) == 4 * len(PAIRS)
    assert max(map(len, source + target)) <= max_length


def test_the_parts_of_a_split_pair_have_every_variant():
    long_pair = [(7, ("the cat sings. " * 4, "a dog sees. " * 4))]
    source, target, lines, counts = PairTokenization(TOKENIZER, 20, "split", DROPOUT)(long_pair)
    assert counts == {"split": 1, "parts": 4}
    assert len(source) == len(target) == 12
    assert lines == [7] * 4
    assert set(TOKENIZER.detokenize(source)) == {"the cat sings."}


def test_a_text_is_tokenized_and_a_label_becomes_its_id():
    tokenized = LabelledTokenization(QUESTION_TOKENIZER, LABELS, 100, "cut")(LABELLED)
    assert (tokenized.source, tokenized.target) == (QUESTION_TOKENIZER.tokenize(QUESTIONS), [[0], [1], [2]])
    assert (tokenized.line_numbers, tokenized.long_counts) == ([2, 3, 7], Counter())


def test_a_long_text_is_cut_or_dropped():
    max_length = sorted(LENGTHS)[1]
    cut = LabelledTokenization(QUESTION_TOKENIZER, LABELS, max_length, "cut")(LABELLED)
    assert cut.source == [row[:max_length] for row in QUESTION_TOKENIZER.tokenize(QUESTIONS)]
    assert cut.long_counts == {"cut": 1}
    dropped = LabelledTokenization(QUESTION_TOKENIZER, LABELS, max_length, "drop")(LABELLED)
    kept = [i for i, length in enumerate(LENGTHS) if length <= max_length]
    assert dropped.target == [[i] for i in kept]
    assert (len(dropped.source), dropped.line_numbers, dropped.long_counts) == (
        2,
        [LABELLED[i][0] for i in kept],
        {"dropped": 1},
    )


def test_every_variant_of_a_text_has_its_label():
    tokenize = LabelledTokenization(QUESTION_TOKENIZER, LABELS, 100, "cut", BPEDropout(0.5, 3, 1))
    tokenized = tokenize(LABELLED, first_index=4)
    assert tokenized.target == [[0]] * 3 + [[1]] * 3 + [[2]] * 3
    assert QUESTION_TOKENIZER.detokenize(tokenized.source) == [text for text in QUESTIONS for _ in range(3)]
    assert tokenized.line_numbers == [2, 3, 7]


def test_an_unknown_label_is_an_error():
    with pytest.raises(KeyError):
        LabelledTokenization(QUESTION_TOKENIZER, LABELS, 100, "cut")([(1, ("a", "never seen"))])


def test_labelled_texts_are_stored_and_streamed_like_pairs(tmp_path):
    many = [(i + 1, (QUESTIONS[i % 3], ["thing", "human", "place"][i % 3])) for i in range(50)]

    facts = write_token_ids(tmp_path, [many], LabelledTokenization(QUESTION_TOKENIZER, LABELS, 100, "cut"))
    stored = open_pair_dataset(tmp_path, facts, (1.0,))
    streamed = []
    for indexes, _after in islice(stream_batches(stored, TokenBudget(40), seed=1), 30):
        batch = make_label_batch(stored.source, stored.target, indexes)
        assert batch.token_count <= 40
        assert batch.labels.tolist() == [i % 3 for i in indexes]
        streamed += indexes.tolist()
        if len(streamed) == 50:
            break
    assert sorted(streamed) == list(range(50))
