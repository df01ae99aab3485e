import random
from collections import Counter

import numpy as np
import pytest

from regard.data.mmap_store import CHUNK_PAIRS, open_pair_dataset, write_token_ids
from regard.data.tokenization import BPEDropout, PairTokenization, split_pair_sentences
from regard.text.tokenizer import Tokenizer, learn_tokenizer


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return learn_tokenizer(["the cat sleeps .", "le chat dort ."] * 5, 300)


def texts(pairs):
    draw = random.Random(pairs)
    return [(" ".join(draw.choices("abcdef", k=draw.randint(1, 9))), f"le chat {i}") for i in range(pairs)]


def test_written_pairs_are_read_back_in_order(tmp_path, tokenizer):
    corpora = [texts(CHUNK_PAIRS + 3), texts(2), []]
    numbered = [enumerate(each, start=1) for each in corpora]
    facts = write_token_ids(tmp_path, numbered, PairTokenization(tokenizer, 100, "drop"))
    pairs = open_pair_dataset(tmp_path, facts, (1.0, 2.0, 1.0))
    assert (pairs.corpus_sizes, pairs.weights, len(pairs)) == (
        (CHUNK_PAIRS + 3, 2, 0),
        (1.0, 2.0, 1.0),
        CHUNK_PAIRS + 5,
    )
    pairs_in_order = [pair for each in corpora for pair in each]
    for side, name in ((0, "source"), (1, "target")):
        expected = tokenizer.tokenize([pair[side] for pair in pairs_in_order])
        stored = getattr(pairs, name)
        for i in (0, 1, CHUNK_PAIRS - 1, CHUNK_PAIRS, CHUNK_PAIRS + 2, CHUNK_PAIRS + 3, CHUNK_PAIRS + 4):
            assert stored[i].tolist() == expected[i]
        assert stored.flat.itemsize == 2
        assert (stored.compact_lengths == stored.lengths).all()
        assert stored.compact_lengths.itemsize == 2


def test_every_pair_keeps_its_line_number(tmp_path, tokenizer):
    numbered = [(3 * place + 2, pair) for place, pair in enumerate(texts(CHUNK_PAIRS + 3))]
    facts = write_token_ids(
        tmp_path, [iter(numbered), iter(numbered[:2])], PairTokenization(tokenizer, 100, "drop")
    )
    pairs = open_pair_dataset(tmp_path, facts, (1.0, 1.0))
    assert pairs.line_numbers.tolist() == [line for line, _ in numbered] + [2, 5]
    assert isinstance(pairs.line_numbers.base, np.memmap)


def test_parts_and_variants_of_a_pair_have_its_line_number(tmp_path, tokenizer):
    corpora = [[(2, ("a", "b")), (5, LONG), (9, ("c", "d"))], [], [(1, ("e", "f")), (4, ("a b " * 9, "g"))]]
    facts = write_token_ids(tmp_path, corpora, PairTokenization(tokenizer, 8, "split", BPEDropout(0.1, 2, 1)))
    pairs = open_pair_dataset(tmp_path, facts, (1.0, 1.0, 1.0))
    assert facts["long"] == {"split": 1, "parts": 3, "dropped": 1}
    texts = {}
    for index in range(len(pairs.source)):
        [(corpus, [line])] = pairs.line_numbers_of(np.array([index])).items()
        texts.setdefault((corpus, line), []).append(tokenizer.detokenize([pairs.source[index].tolist()])[0])
    assert texts == {
        (0, 2): ["a"] * 2,
        (0, 9): ["c"] * 2,
        (0, 5): ["a b."] * 2 + ["c d."] * 2 + ["e f."] * 2,
        (2, 1): ["e"] * 2,
    }


def test_ids_of_a_large_vocabulary_are_stored_in_32_bits(tmp_path, tokenizer, monkeypatch):
    monkeypatch.setattr(Tokenizer, "vocab_size", 70_000)
    monkeypatch.setattr(Tokenizer, "tokenize", lambda _, texts: [[69_999] for _ in texts])
    facts = write_token_ids(
        tmp_path, [enumerate(texts(3), start=1)], PairTokenization(tokenizer, 100, "drop")
    )
    assert open_pair_dataset(tmp_path, facts, (1.0,)).source[2].tolist() == [69_999]


def test_long_lengths_are_stored_in_32_bits(tmp_path, tokenizer, monkeypatch):
    monkeypatch.setattr(Tokenizer, "tokenize", lambda _, texts: [[7] * 70_000 for _ in texts])
    facts = write_token_ids(
        tmp_path, [enumerate(texts(2), start=1)], PairTokenization(tokenizer, 2**17, "drop")
    )
    assert open_pair_dataset(tmp_path, facts, (1.0,)).source.lengths_of(np.array([1])).tolist() == [70_000]


LONG = ("a b. c d. e f.", "u v! w x? y z")


@pytest.mark.parametrize(
    ("policy", "pairs", "counts"),
    [
        ("drop", [("a", "b")], {"dropped": 2}),
        ("cut", [("a", "b"), ("a b.", "u v!"), ("a b c", "d")], {"cut": 2}),
        (
            "split",
            [("a", "b"), ("a b.", "u v!"), ("c d.", "w x?"), ("e f.", "y z")],
            {"dropped": 1, "split": 1, "parts": 3},
        ),
    ],
)
def test_long_pairs_are_dropped_cut_or_split_and_counted(tokenizer, policy, pairs, counts):
    texts = [("a", "b"), LONG, ("a b c d e f g", "d")]
    max_length = max(len(row) for row in tokenizer.tokenize(["a b.", "u v!", "y z", "a b c"]))
    tokenize = PairTokenization(tokenizer, max_length, policy)
    source, target, lines, long_counts = tokenize(list(enumerate(texts, start=1)))
    assert long_counts == Counter(counts)
    assert lines == {"drop": [1], "cut": [1, 2, 3], "split": [1, 2, 2, 2]}[policy]
    if policy == "cut":
        assert all(len(row) <= max_length for row in source + target)
        assert len(source) == len(target) == 3
    else:
        assert [source, target] == [tokenizer.tokenize([pair[side] for pair in pairs]) for side in (0, 1)]


def test_sides_with_different_numbers_of_sentences_are_not_split():
    assert split_pair_sentences("One. Two.", "Un et deux.") == [("One. Two.", "Un et deux.")]
    assert split_pair_sentences("Mr. X is in. So!", "M. X est là. Bon !") == [
        ("Mr.", "M."),
        ("X is in.", "X est là."),
        ("So!", "Bon !"),
    ]
    assert split_pair_sentences("你好。再见！", "Hello. Bye!") == [("你好。", "Hello."), ("再见！", "Bye!")]
