import unicodedata
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import CheckpointError, ConfigError
from regard.text.tokenizer import (
    BASE_VOCAB_SIZE,
    BOS,
    EOS,
    PAD,
    SPECIAL_TOKENS,
    learn_tokenizer,
    load_tokenizer,
)

TEXTS = ["Jane visits Africa in September.", "Jane visite l'Afrique en septembre.", "été <pad> </s> 12"] * 20
TOKENIZER = learn_tokenizer(TEXTS, vocab_size=400)

ODD = [
    "",
    " ",
    "  two  spaces  ",
    "\ttab and\nnewline ",
    "▁▁ _ ▁",
    "<pad></s><s><0x41><unk>",
    "🎉 é e\u0301 \u0085 \u2028",
    "a\0b",
    "مرحبا بالعالم",
    "你好，世界。",
    "\u202eright to left\u202c",
]


@pytest.mark.parametrize("text", ODD)
def test_odd_text_comes_back_as_it_was(text):
    assert TOKENIZER.detokenize(TOKENIZER.tokenize([text])) == [unicodedata.normalize("NFC", text)]


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_any_text_comes_back_as_it_was(text):
    assert TOKENIZER.detokenize(TOKENIZER.tokenize([text])) == [unicodedata.normalize("NFC", text)]


@given(st.lists(st.sampled_from([*SPECIAL_TOKENS, "<0x0A>", " ", "a", "é", "<", "pad", ">"])))
def test_no_text_can_spell_a_mark(parts):
    assert all(id >= len(SPECIAL_TOKENS) for id in TOKENIZER.tokenize(["".join(parts)])[0])


def test_two_spellings_of_one_character_are_one():
    assert TOKENIZER.tokenize(["e\u0301t"]) == TOKENIZER.tokenize(["\u00e9t"])


LOWER = learn_tokenizer(TEXTS, vocab_size=400, lowercase=True)


@pytest.mark.parametrize(
    "text", [*TEXTS[:3], "ÉTÉ", "E\u0301TE\u0301", "ΟΔΟΣ ΣΑΣ", "İstanbul", "STRASSE ẞ", "ДА"]
)
def test_a_lower_case_tokenizer_gives_the_text_back_in_lower_case(text):
    letter_by_letter = "".join(letter.lower() for letter in text)  # a final sigma is σ as any other
    expected = unicodedata.normalize("NFC", letter_by_letter)
    assert LOWER.detokenize(LOWER.tokenize([text])) == [expected]


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_lower_case_text_stays_as_it_is(text):
    lowered = LOWER.detokenize(LOWER.tokenize([text]))
    assert LOWER.tokenize(lowered) == LOWER.tokenize([text])
    assert LOWER.detokenize(LOWER.tokenize(lowered)) == lowered


def test_a_lower_case_tokenizer_has_no_piece_with_a_capital():
    pieces = [LOWER.id_to_token(id) for id in range(BASE_VOCAB_SIZE, LOWER.vocab_size)]
    assert [piece for piece in pieces if piece != piece.lower()] == []
    assert LOWER.id_to_token(LOWER.tokenize(["JANE"])[0][0]) == " jane"


def test_the_file_says_whether_capitals_are_lost(tmp_path):
    for tokenizer in (LOWER, TOKENIZER):
        tokenizer.save(tmp_path / "tokenizer.json")
        loaded = load_tokenizer(tmp_path / "tokenizer.json")
        assert loaded.lowercase == tokenizer.lowercase == (tokenizer is LOWER)
        assert loaded.tokenize(["Jane VISITS"]) == tokenizer.tokenize(["Jane VISITS"])


def test_frequent_words_are_one_piece_wherever_they_stand():
    first, later = TOKENIZER.tokenize(["Jane", "visits Jane"])
    assert len(first) == 1
    assert later[-1] == first[0]
    assert TOKENIZER.id_to_token(first[0]) == " Jane"


def test_marks_come_first_and_leave_no_text():
    assert [TOKENIZER.id_to_token(id) for id in (PAD, BOS, EOS)] == SPECIAL_TOKENS
    ids = TOKENIZER.tokenize(["Jane"])[0]
    assert TOKENIZER.detokenize([[BOS, *ids, EOS, PAD]]) == ["Jane"]


def test_the_vocabulary_is_as_large_as_asked_or_as_the_text_allows():
    words = ["".join(letters) for letters in permutations("abcde")]
    assert learn_tokenizer([*words, *words], 320).vocab_size == 320
    assert TOKENIZER.vocab_size <= 400
    assert learn_tokenizer(["a"], 5000).vocab_size < 300


def test_a_vocabulary_too_small_for_bytes_is_refused():
    with pytest.raises(ConfigError, match=f"model.vocab_size = 100 cannot work; .* take {BASE_VOCAB_SIZE}"):
        learn_tokenizer(TEXTS, 100)


def test_learning_is_the_same_each_time(tmp_path):
    learn_tokenizer(TEXTS, 320).save(tmp_path / "a.json")
    learn_tokenizer(TEXTS, 320).save(tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_a_saved_tokenizer_comes_back(tmp_path):
    TOKENIZER.save(tmp_path / "tokenizer.json")
    loaded = load_tokenizer(tmp_path / "tokenizer.json")
    assert loaded.tokenize([*TEXTS, *ODD]) == TOKENIZER.tokenize([*TEXTS, *ODD])
    assert loaded.vocab_size == TOKENIZER.vocab_size


@pytest.mark.parametrize("content", ["", "{}", "not json"])
def test_a_file_that_is_no_tokenizer_is_refused(tmp_path, content):
    path = tmp_path / "tokenizer.json"
    path.write_text(content)
    with pytest.raises(CheckpointError, match="is not a tokenizer"):
        load_tokenizer(path)


def test_an_id_that_is_none_is_refused():
    with pytest.raises(IndexError, match="there is no piece"):
        TOKENIZER.id_to_token(10_000)
