import pytest
import torch

from regard.errors import ConfigError
from regard.inference.word_boundaries import find_word_boundaries
from regard.search.constraint_state import RequiredPhrases
from regard.search.constraints import Constraints
from regard.text.glossary import Glossary
from regard.text.tokenizer import learn_tokenizer
from regard.translation.constraint_compiler import ConstraintCompiler
from regard.translation.options import TranslateOptions

TEXTS = ["the cat sees the dog.", "the dog sees l'eau.", "(a bird) sings at 10 o'clock."] * 3


@pytest.fixture(scope="module")
def tokenizer():
    return learn_tokenizer(TEXTS, 320)


def forms(tokenizer, phrase):
    (found,) = ConstraintCompiler(tokenizer, TranslateOptions(required=(phrase,))).compile("", True).required
    return found


@pytest.mark.parametrize("phrase", ["dog", "the dog", "eau", "10", "été", "42 dogs!"])
@pytest.mark.parametrize("before", ["", "the ", "l'", "x-", "sees (", "«", '"', "'"])
def test_a_phrase_that_begins_a_word_is_there_in_one_of_its_forms(tokenizer, phrase, before):
    (ids,) = tokenizer.tokenize([before + phrase])
    assert any(ids[-len(form) :] == list(form) for form in forms(tokenizer, phrase))


@pytest.mark.parametrize("phrase", ["(a bird)", "...", "«"])
@pytest.mark.parametrize("before", ["", "the ", "the"])
def test_a_phrase_that_begins_with_a_sign_may_follow_a_letter(tokenizer, phrase, before):
    (ids,) = tokenizer.tokenize([before + phrase])
    assert any(ids[-len(form) :] == list(form) for form in forms(tokenizer, phrase))


@pytest.mark.parametrize("phrase", ["dog", "a", "eau", "été"])
def test_the_middle_of_a_word_is_no_form(tokenizer, phrase):
    (ids,) = tokenizer.tokenize(["the b" + phrase])
    assert not any(ids[-len(form) :] == list(form) for form in forms(tokenizer, phrase))


def test_a_form_reads_as_the_phrase_after_a_sign_or_nothing(tokenizer):
    texts = tokenizer.detokenize(forms(tokenizer, "the dog"))
    assert texts == [f"{sign}the dog" for sign in ("", "(", '"', "“", "«", "'", "'", "’", "-")]


def test_a_glossary_entry_may_become_any_of_its_translations(tokenizer):
    wishes = ConstraintCompiler(
        tokenizer, TranslateOptions(glossary=Glossary((("chat", "cat"), ("chat", "the cat"))))
    )
    assert wishes.compile("le chien", True) == Constraints()
    (alternatives,) = wishes.compile("un chat", True).required
    assert alternatives == forms(tokenizer, "cat") + forms(tokenizer, "the cat")


def test_in_a_script_without_spaces_a_phrase_may_stand_anywhere():
    tokenizer = learn_tokenizer(["猫が好きです。", "犬と猫がいる。"] * 3, 300)
    (phrase,) = ConstraintCompiler(tokenizer, TranslateOptions(required=("猫",))).compile("", True).required
    required = RequiredPhrases.from_phrases([[phrase]], find_word_boundaries(tokenizer))
    for text, lacking in (("犬猫いる。", 0), ("犬がいる。", 1)):
        progress = required.initial_progress(1)
        for token in tokenizer.tokenize([text])[0]:
            progress = required.advance(progress, torch.tensor([[token]]))
        assert int(required.missing_tokens(progress)) == lacking, text


def test_nothing_asked_is_nothing_wished(tokenizer):
    assert not ConstraintCompiler(tokenizer, TranslateOptions()).has_constraints
    assert ConstraintCompiler(tokenizer, TranslateOptions()).compile("the dog", True) == Constraints()
    assert (
        ConstraintCompiler(tokenizer, TranslateOptions(prefix="the", required=("dog",))).compile("", False)
        == Constraints()
    )


@pytest.mark.parametrize("blank", ["", " "])
@pytest.mark.parametrize("field", ["required", "forbidden"])
def test_a_blank_phrase_is_refused(field, blank):
    with pytest.raises(ConfigError, match="it must have a letter or a sign"):
        TranslateOptions(**{field: (blank,)})
