"""No translation has what is forbidden, whatever pieces it is written in, and nothing else is lost by it."""

import pytest
import torch

from regard.inference.engine import UNSATISFIABLE
from regard.model.transformer import Transformer
from regard.search.config import Sampling, SearchConfig
from regard.search.constraints import Constraints
from regard.search.hypothesis import Hypothesis
from regard.text.tokenizer import SPECIAL_TOKENS, learn_tokenizer
from regard.translation.constraint_compiler import (
    MAX_SEARCHES,
    ConstraintCompiler,
    ForbiddenPhraseSearch,
    sentence_case_variants,
)
from regard.translation.options import TranslateOptions
from regard.translation.translator import Translator

TEXTS = ["the cat sees the dogs.", "a doghouse is near the dog.", "cats sing, category by category."] * 3


@pytest.fixture(scope="module")
def tokenizer():
    return learn_tokenizer(TEXTS, 320)


class Row:
    """Offers given translations in order: the first that has no forbidden pieces is the answer."""

    def __init__(self, offers):
        self.offers, self.asked = offers, []

    def __call__(self, numbers, wishes):
        self.asked.append(list(numbers))
        return [[self.best(self.offers[n], wish)] for n, wish in zip(numbers, wishes, strict=True)]

    def best(self, offers, wish):
        def has(ids, bad):
            return any(ids[k : k + len(bad)] == bad for k in range(len(wish.prefix), len(ids)))

        fine = (ids for ids in offers if not any(has(ids, bad) for bad in wish.forbidden))
        return Hypothesis(next(fine, ()), -1.0, -1.0)


def byte_by_byte(text):
    return tuple(len(SPECIAL_TOKENS) + byte for byte in text.encode())


def kept_out(tokenizer, phrases, offers, prefix=()):
    row = Row(offers)
    forbidden = ConstraintCompiler(tokenizer, TranslateOptions(forbidden=tuple(phrases))).forbidden_search
    found = forbidden.search([Constraints(prefix)] * len(offers), row)
    return [tokenizer.detokenize([each[0].tokens])[0] for each in found], row


def test_a_word_is_found_in_whatever_pieces_it_is_written(tokenizer):
    def ids(text):
        return tuple(tokenizer.tokenize([text])[0])

    spelled = ids("the") + byte_by_byte(" dog")
    assert tokenizer.detokenize([spelled]) == ["the dog"]
    assert spelled != ids("the dog")
    found, row = kept_out(tokenizer, ["dog"], [[ids("the dog"), spelled, ids("the cat")], [ids("the cat")]])
    assert found == ["the cat", "the cat"]
    assert row.asked == [[0, 1], [0], [0]]  # and what is clean is not searched for again


@pytest.mark.parametrize("text", ["a doghouse", "the dogs.", "hotdog"])
def test_longer_words_are_nobodys_business(tokenizer, text):
    found, row = kept_out(tokenizer, ["dog"], [[tuple(tokenizer.tokenize([text])[0])]])
    assert found == [text]
    assert len(row.asked) == 1


@pytest.mark.parametrize("text", ["the dog.", "Dog", "cat-dog", "(dog)", "dog, cat"])
def test_signs_and_capitals_do_not_hide_a_word(tokenizer, text):
    found, _ = kept_out(tokenizer, ["dog"], [[tuple(tokenizer.tokenize([text])[0])]])
    assert found == [""]


def test_a_forced_beginning_is_nobodys_fault(tokenizer):
    prefix = tuple(tokenizer.tokenize(["the dog"])[0])
    once, twice = prefix + byte_by_byte("."), prefix + byte_by_byte(" dog")
    found, _ = kept_out(tokenizer, ["dog"], [[twice, once]], prefix)
    assert found == [tokenizer.detokenize([once])[0]]


def test_what_cannot_be_kept_out_is_not_given(tokenizer):
    dog, cat = (Hypothesis(tuple(tokenizer.tokenize([text])[0]), -1.0, -1.0) for text in ("dog", "cat"))
    calls = []

    def deaf(numbers, _wishes):
        calls.append(numbers)
        return [[dog, cat], [dog]][: len(numbers)] if len(numbers) > 1 else [[dog]]

    forbidden = ForbiddenPhraseSearch(tokenizer, ["dog"], [])
    assert forbidden.search([Constraints(), Constraints()], deaf) == [[cat], [UNSATISFIABLE]]
    assert len(calls) == MAX_SEARCHES + 1


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("猫", "犬と猫が"),
        ("แมว", "ฉันเห็นแมวดำ"),
        ("ແມວ", "ຂ້ອຍເຫັນແມວດຳ"),
        ("ឆ្មា", "ខ្ញុំឃើញឆ្មាខ្មៅ"),
        ("B", "猫B猫"),
    ],
)
def test_a_forbidden_phrase_is_found_inside_a_run_of_a_script_without_spaces(tokenizer, phrase, text):
    found, _ = kept_out(tokenizer, [phrase], [[tuple(tokenizer.tokenize([text])[0])]])
    assert found == [""]


@pytest.mark.parametrize(
    "search",
    [
        SearchConfig(),
        SearchConfig(beam=1),
        SearchConfig(n_best=4),
        SearchConfig(n_best=3, sampling=Sampling(seed=5)),
    ],
)
def test_no_translation_of_a_model_has_what_is_forbidden(micro, tokenizer, search):
    torch.manual_seed(0)
    model = Transformer(micro.__class__(**{**vars(micro), "vocab_size": tokenizer.vocab_size})).eval()
    translator = Translator.from_model(model, tokenizer)
    free = translator.translate_detailed(TEXTS[:3], search)
    checked = 0
    for text, found in zip(TEXTS, free, strict=False):
        for word in set(found.text.split()):
            (other,) = translator.translate_detailed([text], search, TranslateOptions(forbidden=(word,)))
            said = {part for each in (other, *other.alternatives) for part in each.text.split()}
            assert not said & set(sentence_case_variants(word))
            checked += 1
    assert checked
