from hypothesis import given
from hypothesis import strategies as st

from regard.text.token_spans import map_tokens_to_words
from regard.text.tokenizer import BYTE_TOKENS, SPECIAL_TOKENS, learn_tokenizer

TOKENIZER = learn_tokenizer(["the cat sleeps, l'Afrique aussi.", "a \u00a0 b"] * 3, 290)


@given(st.text())
def test_the_pieces_of_each_word_spell_it(text):
    (ids,) = TOKENIZER.tokenize([text])
    words = map_tokens_to_words(TOKENIZER, ids)
    whole = TOKENIZER.detokenize([ids])[0].split()
    assert len(words) == len(ids)
    assert sorted({word for word in words if word is not None}) == list(range(len(whole)))
    for number, word in enumerate(whole):
        pieces = [id for id, of in zip(ids, words, strict=True) if of == number]
        assert TOKENIZER.detokenize([pieces])[0].strip() == word


@given(st.lists(st.integers(0, TOKENIZER.vocab_size - 1)))
def test_whatever_a_model_writes_every_piece_has_a_place(ids):
    words = [word for word in map_tokens_to_words(TOKENIZER, ids) if word is not None]
    assert words == sorted(words)
    assert sorted(set(words)) == list(range(len(set(words))))


def test_marks_and_spaces_are_no_words():
    (ids,) = TOKENIZER.tokenize(["the  cat"])
    found = map_tokens_to_words(TOKENIZER, [*range(len(SPECIAL_TOKENS)), *ids])
    assert found[: len(SPECIAL_TOKENS)] == [None] * len(SPECIAL_TOKENS)
    assert set(found[len(SPECIAL_TOKENS) :]) == {0, None, 1}


@given(st.lists(st.integers(len(SPECIAL_TOKENS), len(SPECIAL_TOKENS) + len(BYTE_TOKENS) + 8)))
def test_bytes_that_spell_nothing_are_words_as_often_as_they_are_written(ids):
    words = {word for word in map_tokens_to_words(TOKENIZER, ids) if word is not None}
    assert len(words) == len(TOKENIZER.detokenize([ids])[0].split())
