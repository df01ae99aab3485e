from hypothesis import given
from hypothesis import strategies as st

from regard.text.token_spans import map_tokens_to_words
from regard.text.tokenizer import BYTE_TOKENS, SPECIAL_TOKENS, learn_tokenizer

TOKENIZER = learn_tokenizer(["the cat sleeps, l'Afrique aussi.", "a \u00a0 b"] * 3, 290)


@given(st.text())
def test_the_tokens_of_each_word_spell_it(text):
    (ids,) = TOKENIZER.tokenize([text])
    words = map_tokens_to_words(TOKENIZER, ids)
    expected = TOKENIZER.detokenize([ids])[0].split()
    assert len(words) == len(ids)
    assert sorted({word for word in words if word is not None}) == list(range(len(expected)))
    for number, word in enumerate(expected):
        tokens = [id for id, index in zip(ids, words, strict=True) if index == number]
        assert TOKENIZER.detokenize([tokens])[0].strip() == word


@given(st.lists(st.integers(0, TOKENIZER.vocab_size - 1)))
def test_word_indexes_of_any_ids_are_sorted_and_without_gaps(ids):
    words = [word for word in map_tokens_to_words(TOKENIZER, ids) if word is not None]
    assert words == sorted(words)
    assert sorted(set(words)) == list(range(len(set(words))))


def test_special_tokens_and_spaces_have_no_word():
    (ids,) = TOKENIZER.tokenize(["the  cat"])
    words = map_tokens_to_words(TOKENIZER, [*range(len(SPECIAL_TOKENS)), *ids])
    assert words[: len(SPECIAL_TOKENS)] == [None] * len(SPECIAL_TOKENS)
    assert set(words[len(SPECIAL_TOKENS) :]) == {0, None, 1}


@given(st.lists(st.integers(len(SPECIAL_TOKENS), len(SPECIAL_TOKENS) + len(BYTE_TOKENS) + 8)))
def test_invalid_bytes_have_as_many_words_as_their_text(ids):
    words = {word for word in map_tokens_to_words(TOKENIZER, ids) if word is not None}
    assert len(words) == len(TOKENIZER.detokenize([ids])[0].split())
