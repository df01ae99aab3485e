"""Phrases become token constraints; no translation contains a forbidden phrase in any tokenization."""

import pytest
import torch

from regard.errors import ConfigError
from regard.inference.engine import UNSATISFIABLE
from regard.inference.word_boundaries import find_word_boundaries
from regard.model.transformer import Transformer
from regard.search.config import Sampling, SearchConfig
from regard.search.constraints import Constraints
from regard.search.hypothesis import Hypothesis
from regard.search.required_phrases import RequiredPhrases
from regard.text.tokenizer import SPECIAL_TOKENS, learn_tokenizer
from regard.translation.options import TranslateOptions
from regard.translation.phrases.constraint_compiler import (
    MAX_SEARCHES,
    ConstraintCompiler,
    ForbiddenPhraseSearch,
    sentence_case_variants,
)
from regard.translation.translator import Translator

TEXTS = ["the cat sees the dog.", "the dog sees l'eau.", "(a bird) sings at 10 o'clock."] * 3
DOG_TEXTS = ["the cat sees the dogs.", "a doghouse is near the dog.", "cats sing, category by category."] * 3


@pytest.fixture(scope="module")
def tokenizer():
    return learn_tokenizer(TEXTS, 320)


@pytest.fixture(scope="module")
def dog_tokenizer():
    return learn_tokenizer(DOG_TEXTS, 320)


def token_variants(tokenizer, phrase):
    compiler = ConstraintCompiler(tokenizer, TranslateOptions(required=(phrase,)))
    (variants,) = compiler.compile(is_first_part=True).required
    return variants


@pytest.mark.parametrize("phrase", ["dog", "the dog", "eau", "10", "été", "42 dogs!"])
@pytest.mark.parametrize("before", ["", "the ", "l'", "x-", "sees (", "«", '"', "'"])
def test_a_phrase_at_the_beginning_of_a_word_is_one_of_its_variants(tokenizer, phrase, before):
    (ids,) = tokenizer.tokenize([before + phrase])
    assert any(ids[-len(variant) :] == list(variant) for variant in token_variants(tokenizer, phrase))


@pytest.mark.parametrize("phrase", ["(a bird)", "...", "«"])
@pytest.mark.parametrize("before", ["", "the ", "the"])
def test_a_phrase_that_begins_with_punctuation_may_follow_a_letter(tokenizer, phrase, before):
    (ids,) = tokenizer.tokenize([before + phrase])
    assert any(ids[-len(variant) :] == list(variant) for variant in token_variants(tokenizer, phrase))


@pytest.mark.parametrize("phrase", ["dog", "a", "eau", "été"])
def test_the_middle_of_a_word_is_not_a_variant(tokenizer, phrase):
    (ids,) = tokenizer.tokenize(["the b" + phrase])
    assert not any(ids[-len(variant) :] == list(variant) for variant in token_variants(tokenizer, phrase))


def test_a_variant_is_the_phrase_after_punctuation_or_nothing(tokenizer):
    texts = tokenizer.detokenize(token_variants(tokenizer, "the dog"))
    assert texts == [f"{mark}the dog" for mark in ("", "(", '"', "“", "«", "'", "'", "’", "-")]


@pytest.mark.parametrize(
    ("phrase", "text", "other"),
    [
        ("猫", "犬猫いる。", "犬がいる。"),
        ("แมว", "ฉันเห็นแมวดำ", "ฉันเห็นหมา"),
        ("ແມວ", "ຂ້ອຍເຫັນແມວດຳ", "ຂ້ອຍເຫັນໝາ"),
        ("ឆ្មា", "ខ្ញុំឃើញឆ្មាខ្មៅ", "ខ្ញុំឃើញឆ្កែ"),
        ("ကြောင်", "ကျွန်တော်ကြောင်မြင်တယ်", "ကျွန်တော်ခွေးမြင်တယ်"),
    ],
)
def test_in_a_script_without_spaces_a_phrase_may_stand_anywhere(phrase, text, other):
    tokenizer = learn_tokenizer([*[phrase] * 20, text, other], 300)
    variants = token_variants(tokenizer, phrase)
    required = RequiredPhrases.from_phrases([[variants]], find_word_boundaries(tokenizer))
    for each, missing in ((text, 0), (other, 1)):
        progress = required.initial_progress(1)
        for token in tokenizer.tokenize([each])[0]:
            progress = required.advance(progress, torch.tensor([[token]]))
        assert (int(required.missing_tokens(progress)) > 0) == missing, each


def test_without_phrases_there_are_no_constraints(tokenizer):
    compiler = ConstraintCompiler(tokenizer, TranslateOptions())
    assert not compiler.has_constraints
    assert compiler.compile(is_first_part=True) == Constraints()


def test_prefix_and_required_phrases_apply_to_the_first_part_only(tokenizer):
    compiler = ConstraintCompiler(tokenizer, TranslateOptions(prefix="the", required=("dog",)))
    assert compiler.compile(is_first_part=False) == Constraints()
    first = compiler.compile(is_first_part=True)
    assert first.prefix
    assert len(first.required) == 1


@pytest.mark.parametrize("blank", ["", " "])
@pytest.mark.parametrize("field", ["required", "forbidden"])
def test_a_blank_phrase_is_refused(field, blank):
    with pytest.raises(ConfigError, match="it must contain a visible character"):
        TranslateOptions(**{field: (blank,)})


class RankedOffers:
    """A search over given translations: the first without forbidden tokens is the result."""

    def __init__(self, offers):
        self.offers, self.searched = offers, []

    def __call__(self, indexes, constraints):
        self.searched.append(list(indexes))
        return [[self.best(self.offers[i], each)] for i, each in zip(indexes, constraints, strict=True)]

    def best(self, offers, constraints):
        def contains(ids, forbidden):
            starts = range(len(constraints.prefix), len(ids))
            return any(ids[start : start + len(forbidden)] == forbidden for start in starts)

        allowed = (ids for ids in offers if not any(contains(ids, bad) for bad in constraints.forbidden))
        return Hypothesis(next(allowed, ()), -1.0, -1.0)


def byte_tokens(text):
    return tuple(len(SPECIAL_TOKENS) + byte for byte in text.encode())


def search_without(tokenizer, phrases, offers, prefix=()):
    ranked = RankedOffers(offers)
    compiler = ConstraintCompiler(tokenizer, TranslateOptions(forbidden=tuple(phrases)))
    results = compiler.forbidden_search.search([Constraints(prefix)] * len(offers), ranked)
    return [tokenizer.detokenize([hypotheses[0].tokens])[0] for hypotheses in results], ranked


def test_a_forbidden_word_is_found_in_every_tokenization(dog_tokenizer):
    def ids(text):
        return tuple(dog_tokenizer.tokenize([text])[0])

    in_bytes = ids("the") + byte_tokens(" dog")
    assert dog_tokenizer.detokenize([in_bytes]) == ["the dog"]
    assert in_bytes != ids("the dog")
    offers = [[ids("the dog"), in_bytes, ids("the cat")], [ids("the cat")]]
    texts, ranked = search_without(dog_tokenizer, ["dog"], offers)
    assert texts == ["the cat", "the cat"]
    assert ranked.searched == [[0, 1], [0], [0]]  # the second sentence is searched once


@pytest.mark.parametrize("text", ["a doghouse", "the dogs.", "hotdog"])
def test_a_longer_word_is_allowed(dog_tokenizer, text):
    texts, ranked = search_without(dog_tokenizer, ["dog"], [[tuple(dog_tokenizer.tokenize([text])[0])]])
    assert texts == [text]
    assert len(ranked.searched) == 1


@pytest.mark.parametrize("text", ["the dog.", "Dog", "cat-dog", "(dog)", "dog, cat"])
def test_punctuation_and_capitals_do_not_hide_a_word(dog_tokenizer, text):
    texts, _ = search_without(dog_tokenizer, ["dog"], [[tuple(dog_tokenizer.tokenize([text])[0])]])
    assert texts == [""]


def test_a_forbidden_phrase_is_allowed_in_the_prefix(dog_tokenizer):
    prefix = tuple(dog_tokenizer.tokenize(["the dog"])[0])
    once, twice = prefix + byte_tokens("."), prefix + byte_tokens(" dog")
    texts, _ = search_without(dog_tokenizer, ["dog"], [[twice, once]], prefix)
    assert texts == [dog_tokenizer.detokenize([once])[0]]


def test_a_hypothesis_that_still_contains_a_phrase_is_dropped(dog_tokenizer):
    dog, cat = (Hypothesis(tuple(dog_tokenizer.tokenize([text])[0]), -1.0, -1.0) for text in ("dog", "cat"))
    calls = []

    def ignore_constraints(indexes, _constraints):
        calls.append(indexes)
        return [[dog, cat], [dog]][: len(indexes)] if len(indexes) > 1 else [[dog]]

    search = ForbiddenPhraseSearch(dog_tokenizer, ["dog"], [])
    assert search.search([Constraints(), Constraints()], ignore_constraints) == [[cat], [UNSATISFIABLE]]
    assert len(calls) == MAX_SEARCHES + 1


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("猫", "犬と猫が"),
        ("แมว", "ฉันเห็นแมวดำ"),
        ("ແມວ", "ຂ້ອຍເຫັນແມວດຳ"),
        ("ឆ្មា", "ខ្ញុំឃើញឆ្មាខ្មៅ"),
        ("ကြောင်", "ကျွန်တော်ကြောင်မြင်တယ်"),
        ("B", "猫B猫"),
    ],
)
def test_a_forbidden_phrase_is_found_inside_a_run_of_a_script_without_spaces(dog_tokenizer, phrase, text):
    texts, _ = search_without(dog_tokenizer, [phrase], [[tuple(dog_tokenizer.tokenize([text])[0])]])
    assert texts == [""]


@pytest.mark.parametrize(
    "search",
    [
        SearchConfig(),
        SearchConfig(beam=1),
        SearchConfig(n_best=4),
        SearchConfig(n_best=3, sampling=Sampling(seed=5)),
    ],
)
def test_no_translation_of_a_model_contains_a_forbidden_word(micro, dog_tokenizer, search):
    torch.manual_seed(0)
    model = Transformer(micro.__class__(**{**vars(micro), "vocab_size": dog_tokenizer.vocab_size})).eval()
    translator = Translator.from_model(model, dog_tokenizer)
    checked = 0
    for text, free in zip(DOG_TEXTS[:3], translator.translate_detailed(DOG_TEXTS[:3], search), strict=True):
        for word in set(free.text.split()):
            (other,) = translator.translate_detailed([text], search, TranslateOptions(forbidden=(word,)))
            words = {part for each in (other, *other.alternatives) for part in each.text.split()}
            assert not words & set(sentence_case_variants(word))
            checked += 1
    assert checked
