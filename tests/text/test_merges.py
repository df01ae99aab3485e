import time
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text.bpe import BytePairEncoder
from regard.text.tokenizer import learn_tokenizer

TOKENIZER = learn_tokenizer(["banana bandana ananas", "cabana nana"] * 9, 300)
MERGES = BytePairEncoder(TOKENIZER)


def join_one_by_one(merges, symbols, dropout, random):
    """Algorithm 1 to the letter: list the merges that are possible, drop some, apply the first, again."""
    ids = list(symbols)
    while True:
        possible = sorted(
            (*merges._merged[ids[i], ids[i + 1]], i)
            for i in range(len(ids) - 1)
            if (ids[i], ids[i + 1]) in merges._merged
        )
        possible.sort(key=lambda merge: (merge[0], merge[2]))
        chosen = next((merge for merge in possible if random() >= dropout), None)
        if chosen is None:
            return ids
        _, new, at = chosen
        ids[at : at + 2] = [new]


@given(st.text("abcdns ", max_size=30), st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]), st.integers(0, 9))
def test_joining_is_algorithm_1(word, dropout, seed):
    symbols = MERGES.split_characters(word)
    expected = join_one_by_one(MERGES, symbols, dropout, Random(seed).random)
    assert MERGES.apply_merges(symbols, dropout, Random(seed).random) == expected


@given(st.text("bands", min_size=1, max_size=30))
def test_without_dropout_it_is_the_librarys(word):
    assert MERGES.segment(" " + word) == TOKENIZER.tokenize([word])[0]


def test_a_character_without_a_piece_is_spelled_in_bytes():
    assert [TOKENIZER.id_to_token(id) for id in MERGES.split_characters("a€")] == [
        "a",
        "<0xE2>",
        "<0x82>",
        "<0xAC>",
    ]


@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_a_word_ten_times_as_long_takes_about_ten_times_as_long(dropout):
    def seconds(word):
        symbols, started = MERGES.split_characters(word), time.process_time()
        MERGES.apply_merges(symbols, dropout, Random(0).random)
        return time.process_time() - started

    short = min(seconds("banana" * 200) for _ in range(3))
    assert min(seconds("banana" * 2000) for _ in range(3)) < 30 * short
