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
def test_spans_are_in_order_and_cover_every_character(text):
    ids = TOKENIZER.tokenize([text])[0]
    (detokenized,) = TOKENIZER.detokenize([ids])
    tokens = describe_tokens(TOKENIZER, ids)
    covered = set()
    for token in tokens:
        assert 0 <= token.start <= token.end <= len(detokenized)
        covered.update(range(token.start, token.end))
        if not token.piece.startswith("<0x") and token.piece != "▁":
            assert detokenized[token.start : token.end] == TOKENIZER.id_to_token(token.id).removeprefix(
                " "
            ) or (detokenized[token.start : token.end].strip() == "")
    starts = [token.start for token in tokens]
    assert starts == sorted(starts)
    assert all(detokenized[index] == " " for index in set(range(len(detokenized))) - covered)


def test_byte_tokens_of_one_character_share_its_span():
    tokens = describe_tokens(TOKENIZER, TOKENIZER.tokenize(["a 東 b"])[0])
    byte_tokens = [token for token in tokens if token.piece.startswith("<0x")]
    assert [(token.start, token.end, token.word) for token in byte_tokens] == [(2, 3, 1)] * 3
    assert [token.word for token in tokens if token.text in "ab"] == [0, 2]


@pytest.mark.parametrize(("text", "shown"), [("مصر", "م…ص…ر…"), ("東京", "東……京……"), ("a 😀", "a😀………")])
def test_byte_tokens_show_their_character(text, shown):
    tokens = describe_tokens(TOKENIZER, TOKENIZER.tokenize([text])[0])
    assert "".join(token.text for token in tokens if token.piece != "▁") == shown
    byte_tokens = [token.piece for token in tokens if token.piece.startswith("<0x")]
    assert byte_tokens == [f"<0x{byte:02X}>" for byte in text.removeprefix("a ").encode()]


def test_invalid_and_invisible_bytes_stay_bytes():
    incomplete = TOKENIZER.tokenize(["東"])[0][:-1]
    assert [token.text for token in describe_tokens(TOKENIZER, incomplete)][-2:] == ["<0xE6>", "<0x9D>"]
    tokens = describe_tokens(TOKENIZER, TOKENIZER.tokenize(["\u200d"])[0])
    assert [token.text for token in tokens][-3:] == ["<0xE2>", "<0x80>", "<0x8D>"]


def test_a_lone_space_belongs_to_the_next_word():
    tokens = describe_tokens(TOKENIZER, TOKENIZER.tokenize(["a 東 "])[0])
    first, space, *_, last = tokens
    assert (first.text, first.word) == ("a", 0)
    assert (space.piece, space.text, space.start, space.end, space.word) == ("▁", "␣", 2, 3, 1)
    assert (last.piece, last.text, last.start, last.end, last.word) == ("▁", "␣", 3, 4, None)
    double = describe_tokens(TOKENIZER, TOKENIZER.tokenize(["the  cat"])[0])
    assert [(token.text, token.word) for token in double][1] == ("␣", None)


def test_special_tokens_have_no_span_and_pieces_show_their_space():
    the, end = describe_tokens(TOKENIZER, [*TOKENIZER.tokenize(["the"])[0], EOS])
    assert (the.piece, the.text, the.start, the.end, the.word, the.special) == ("▁the", "the", 0, 3, 0, None)
    assert (end.piece, end.start, end.end, end.word, end.special) == ("</s>", None, None, None, "eos")


@given(st.lists(st.integers(3, 299), max_size=12))
def test_spans_lie_in_the_text_for_any_token_sequence(ids):
    ids = [id for id in ids if id < TOKENIZER.vocab_size]
    (detokenized,) = TOKENIZER.detokenize([ids])
    words = detokenized.split()
    for token in describe_tokens(TOKENIZER, ids):
        span_text = detokenized[token.start : token.end]
        if token.word is not None:
            assert span_text.strip() in words[token.word]
            assert span_text.strip() != ""
            assert token.text.strip() != ""
