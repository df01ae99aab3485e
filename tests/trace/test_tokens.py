import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from regard.text.tokenizer import EOS, learn_tokenizer
from regard.trace.tokens import describe_tokens

TOKENIZER = learn_tokenizer(["the cat sees the dog.", "a bird sings."] * 3, 300)


@given(st.text(max_size=30))
@example("the  cat")
@example("un été à 東京 👩‍👩‍👧")
@example("tab\tnew\nline")
def test_tokens_lie_in_order_and_cover_every_character_of_the_text(text):
    ids = TOKENIZER.tokenize([text])[0]
    (whole,) = TOKENIZER.detokenize([ids])
    found = describe_tokens(TOKENIZER, ids)
    covered = set()
    for token in found:
        assert 0 <= token.start <= token.end <= len(whole)
        covered.update(range(token.start, token.end))
        if not token.piece.startswith("<0x") and token.piece != "▁":
            assert whole[token.start : token.end] == TOKENIZER.id_to_token(token.id).removeprefix(" ") or (
                whole[token.start : token.end].strip() == ""
            )
    starts = [token.start for token in found]
    assert starts == sorted(starts)
    assert all(whole[place] == " " for place in set(range(len(whole))) - covered)


def test_tokens_that_spell_one_character_have_its_place():
    found = describe_tokens(TOKENIZER, TOKENIZER.tokenize(["a 東 b"])[0])
    bytes_ = [token for token in found if token.piece.startswith("<0x")]
    assert [(token.start, token.end, token.word) for token in bytes_] == [(2, 3, 1)] * 3
    assert [token.word for token in found if token.text in "ab"] == [0, 2]


@pytest.mark.parametrize(("text", "read"), [("مصر", "م…ص…ر…"), ("東京", "東……京……"), ("a 😀", "a😀………")])
def test_bytes_are_read_as_the_characters_that_they_spell(text, read):
    found = describe_tokens(TOKENIZER, TOKENIZER.tokenize([text])[0])
    assert "".join(token.text for token in found if token.piece != "▁") == read
    bytes_ = [token.piece for token in found if token.piece.startswith("<0x")]
    assert bytes_ == [f"<0x{byte:02X}>" for byte in text.removeprefix("a ").encode()]


def test_bytes_that_spell_nothing_that_can_be_seen_stay_bytes():
    half = TOKENIZER.tokenize(["東"])[0][:-1]
    assert [token.text for token in describe_tokens(TOKENIZER, half)][-2:] == ["<0xE6>", "<0x9D>"]
    found = describe_tokens(TOKENIZER, TOKENIZER.tokenize(["\u200d"])[0])
    assert [token.text for token in found][-3:] == ["<0xE2>", "<0x80>", "<0x8D>"]


def test_a_space_alone_begins_the_word_after_it():
    found = describe_tokens(TOKENIZER, TOKENIZER.tokenize(["a 東 "])[0])
    first, space, *_, last = found
    assert (first.text, first.word) == ("a", 0)
    assert (space.piece, space.text, space.start, space.end, space.word) == ("▁", "␣", 2, 3, 1)
    assert (last.piece, last.text, last.start, last.end, last.word) == ("▁", "␣", 3, 4, None)
    double = describe_tokens(TOKENIZER, TOKENIZER.tokenize(["the  cat"])[0])
    assert [(token.text, token.word) for token in double][1] == ("␣", None)


def test_marks_have_no_place_and_pieces_show_their_space():
    the, end = describe_tokens(TOKENIZER, [*TOKENIZER.tokenize(["the"])[0], EOS])
    assert (the.piece, the.text, the.start, the.end, the.word, the.special) == ("▁the", "the", 0, 3, 0, None)
    assert (end.piece, end.start, end.end, end.word, end.special) == ("</s>", None, None, None, "eos")


@given(st.lists(st.integers(3, 299), max_size=12))
def test_whatever_a_model_writes_has_its_places_in_the_text(ids):
    ids = [id for id in ids if id < TOKENIZER.vocab_size]
    (whole,) = TOKENIZER.detokenize([ids])
    words = whole.split()
    for token in describe_tokens(TOKENIZER, ids):
        shown = whole[token.start : token.end]
        if token.word is not None:
            assert shown.strip() in words[token.word]
            assert shown.strip() != ""
            assert token.text.strip() != ""
