import time
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text.bpe import BytePairEncoder, pretokenize
from regard.text.tokenizer import learn_tokenizer

TOKENIZER = learn_tokenizer(["banana bandana ananas", "cabana nana"] * 9, 300)
ENCODER = BytePairEncoder(TOKENIZER)


def merge_one_by_one(encoder, symbols, dropout, random):
    """Algorithm 1 to the letter: list all possible merges, drop some, apply the first, repeat."""
    ids = list(symbols)
    while True:
        possible = sorted(
            (*encoder._merges[ids[i], ids[i + 1]], i)
            for i in range(len(ids) - 1)
            if (ids[i], ids[i + 1]) in encoder._merges
        )
        possible.sort(key=lambda merge: (merge[0], merge[2]))
        selected = next((merge for merge in possible if random() >= dropout), None)
        if selected is None:
            return ids
        _, new, position = selected
        ids[position : position + 2] = [new]


@given(st.text("abcdns ", max_size=30), st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]), st.integers(0, 9))
def test_merging_is_algorithm_1(word, dropout, seed):
    symbols = ENCODER.split_characters(word)
    expected = merge_one_by_one(ENCODER, symbols, dropout, Random(seed).random)
    assert ENCODER.apply_merges(symbols, dropout, Random(seed).random) == expected


@given(st.text("bands", min_size=1, max_size=30))
def test_without_dropout_the_tokens_are_those_of_the_library(word):
    assert ENCODER.segment(" " + word) == TOKENIZER.tokenize([word])[0]


def test_a_character_without_a_token_is_spelled_in_bytes():
    assert [TOKENIZER.id_to_token(id) for id in ENCODER.split_characters("a€")] == [
        "a",
        "<0xE2>",
        "<0x82>",
        "<0xAC>",
    ]


@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_time_grows_about_linearly_with_the_length_of_a_word(dropout):
    def seconds(word):
        symbols, started = ENCODER.split_characters(word), time.process_time()
        ENCODER.apply_merges(symbols, dropout, Random(0).random)
        return time.process_time() - started

    short = min(seconds("banana" * 200) for _ in range(3))
    assert min(seconds("banana" * 2000) for _ in range(3)) < 30 * short


WORDS = learn_tokenizer(["the cat sees the dog.", "l'été 1984"] * 5, 300)


def test_pretokenizing_splits_words_digits_and_punctuation():
    texts = pretokenize(WORDS, ["the cat, 42", "", "the"])
    rows = [[texts.words[k] for k in texts.word_ids[a:b]] for a, b in pairwise(texts.starts)]
    assert rows == [[" the", " cat", ",", " 4", "2"], [], [" the"]]


def test_each_distinct_word_is_stored_once():
    texts = pretokenize(WORDS, ["the cat the cat the"] * 3)
    assert sorted(texts.words) == [" cat", " the"]
    assert len(texts.word_ids) == 15


@given(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"])), max_size=4))
def test_joined_words_are_the_normalized_text(originals):
    texts = pretokenize(WORDS, originals)
    for text, (start, end) in zip(originals, pairwise(texts.starts), strict=True):
        whole = "".join(texts.words[k] for k in texts.word_ids[start:end])
        assert whole.removeprefix(" ") == WORDS.detokenize(WORDS.tokenize([text]))[0]
