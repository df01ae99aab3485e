import pytest

from regard.errors import ConfigError
from regard.search.wish import Wish
from regard.tasks.asked import Asked
from regard.tasks.wishes import Wishes
from regard.text.glossary import Glossary
from regard.text.tokenizer import learn_tokenizer

TEXTS = ["the cat sees the dog.", "the dog sees l'eau.", "(a bird) sings at 10 o'clock."] * 3


@pytest.fixture(scope="module")
def tokenizer():
    return learn_tokenizer(TEXTS, 320)


def forms(tokenizer, phrase):
    (found,) = Wishes(tokenizer, Asked(required=(phrase,))).of("", True).required
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
    wishes = Wishes(tokenizer, Asked(glossary=Glossary((("chat", "cat"), ("chat", "the cat")))))
    assert wishes.of("le chien", True) == Wish()
    (alternatives,) = wishes.of("un chat", True).required
    assert alternatives == forms(tokenizer, "cat") + forms(tokenizer, "the cat")


def test_what_is_forbidden_may_not_begin_a_sentence_either(tokenizer):
    forbidden = Wishes(tokenizer, Asked(forbidden=("dog",))).of("", True).forbidden
    assert set(forbidden) == {*forms(tokenizer, "dog"), *forms(tokenizer, "Dog")}


def test_nothing_asked_is_nothing_wished(tokenizer):
    assert not Wishes(tokenizer, Asked()).any
    assert Wishes(tokenizer, Asked()).of("the dog", True) == Wish()
    assert Wishes(tokenizer, Asked(prefix="the")).of("", False) == Wish()


@pytest.mark.parametrize("blank", ["", " "])
@pytest.mark.parametrize("field", ["required", "forbidden"])
def test_a_blank_phrase_is_refused(field, blank):
    with pytest.raises(ConfigError, match="it must have a letter or a sign"):
        Asked(**{field: (blank,)})
