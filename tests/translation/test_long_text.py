import pytest

from regard.text.tokenizer import Tokenizer, learn_tokenizer
from regard.translation.long_text import split_long_texts

TEXTS = ["the cat sees the dog.", "the dog sees a bird.", "a bird sings."] * 3


@pytest.fixture(scope="module")
def tokenizer():
    return learn_tokenizer(TEXTS, 300)


def test_a_text_that_fits_is_one_part_and_a_blank_one_has_none(tokenizer):
    whole, blank = split_long_texts(["  the cat ", " \t"], tokenizer, 9, "split")
    assert (whole.parts, whole.status, whole.message) == (["the cat"], "whole", "")
    assert whole.ids == tokenizer.tokenize(["the cat"])
    assert (blank.parts, blank.ids, blank.status) == ([], [], "whole")


def test_every_part_of_a_long_text_fits_and_nothing_is_lost(tokenizer):
    text = "The cat sees the dog, the dog sees a bird and a bird sings. A bird sees. " * 9 + "x" * 50
    (split,) = split_long_texts([text], tokenizer, 7, "split")
    assert split.status == "split"
    assert "".join(split.parts).replace(" ", "") == text.replace(" ", "")
    assert all(0 < len(ids) <= 7 for ids in split.ids)
    assert list(split.ids) == tokenizer.tokenize(split.parts)


@pytest.mark.parametrize("mode", ["split", "cut", "skip"])
def test_a_huge_text_is_tokenized_only_as_far_as_it_could_fit(tokenizer, monkeypatch, mode):
    sizes, tokenize = [], Tokenizer.tokenize

    def record_sizes(self, texts):
        sizes.extend(map(len, texts))
        return tokenize(self, texts)

    monkeypatch.setattr(Tokenizer, "tokenize", record_sizes)
    split_long_texts(["the cat " * 20_000], tokenizer, 10, mode)
    assert max(sizes) <= 640
