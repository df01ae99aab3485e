import pytest

from regard.text.tokenizer import Tokenizer, learn_tokenizer
from regard.translation.long_text import split_long_texts

TEXTS = ["the cat sees the dog.", "the dog sees a bird.", "a bird sings."] * 3


@pytest.fixture(scope="module")
def tokenizer():
    return learn_tokenizer(TEXTS, 300)


def test_a_text_that_fits_is_its_own_portion(tokenizer):
    whole, blank = split_long_texts(["  the cat ", " \t"], tokenizer, 9, "split")
    assert (whole.parts, whole.status, whole.message) == (["the cat"], "whole", "")
    assert whole.ids == tokenizer.tokenize(["the cat"])
    assert (blank.parts, blank.ids, blank.status) == ([], [], "whole")


def test_every_part_of_a_long_text_fits_and_none_is_lost(tokenizer):
    text = "The cat sees the dog, the dog sees a bird and a bird sings. A bird sees. " * 9 + "x" * 50
    (found,) = split_long_texts([text], tokenizer, 7, "split")
    assert found.status == "split"
    assert "".join(found.parts).replace(" ", "") == text.replace(" ", "")
    assert all(0 < len(row) <= 7 for row in found.ids)
    assert list(found.ids) == tokenizer.tokenize(found.parts)


@pytest.mark.parametrize("long", ["split", "cut", "skip"])
def test_no_more_of_a_huge_text_is_tokenized_than_could_fit(tokenizer, monkeypatch, long):
    sizes, tokenize = [], Tokenizer.tokenize

    def watched(self, texts):
        sizes.extend(map(len, texts))
        return tokenize(self, texts)

    monkeypatch.setattr(Tokenizer, "tokenize", watched)
    split_long_texts(["the cat " * 20_000], tokenizer, 10, long)
    assert max(sizes) <= 640
