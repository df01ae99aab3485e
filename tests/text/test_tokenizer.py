import timeit
import unicodedata
from itertools import permutations
from random import Random
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import CheckpointError, ConfigError
from regard.text.corpus_files import normalize_text
from regard.text.tokenizer import (
    BASE_VOCAB_SIZE,
    BOS,
    EOS,
    PAD,
    SPECIAL_TOKENS,
    UNKNOWN_ID,
    learn_tokenizer,
    learn_word_tokenizer,
)
from regard.text.tokenizer_file import load_tokenizer

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
def test_odd_text_comes_back_unchanged(text):
    assert TOKENIZER.detokenize(TOKENIZER.tokenize([text])) == [unicodedata.normalize("NFC", text)]


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_any_text_comes_back_unchanged(text):
    assert TOKENIZER.detokenize(TOKENIZER.tokenize([text])) == [unicodedata.normalize("NFC", text)]


@given(st.lists(st.sampled_from([*SPECIAL_TOKENS, "<0x0A>", " ", "a", "é", "<", "pad", ">"])))
def test_no_text_can_spell_a_special_token(parts):
    assert all(id >= len(SPECIAL_TOKENS) for id in TOKENIZER.tokenize(["".join(parts)])[0])


def test_composed_and_decomposed_letters_have_the_same_tokens():
    assert TOKENIZER.tokenize(["e\u0301t"]) == TOKENIZER.tokenize(["\u00e9t"])


LOWER = learn_tokenizer(TEXTS, vocab_size=400, lowercase=True)


@pytest.mark.parametrize(
    "text", [*TEXTS[:3], "ÉTÉ", "E\u0301TE\u0301", "ΟΔΟΣ ΣΑΣ", "İstanbul", "STRASSE ẞ", "ДА"]
)
def test_a_lower_case_tokenizer_returns_the_text_in_lower_case(text):
    letter_by_letter = "".join(letter.lower() for letter in text)  # a final sigma is σ as any other
    expected = unicodedata.normalize("NFC", letter_by_letter)
    assert LOWER.detokenize(LOWER.tokenize([text])) == [expected]


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_lower_casing_twice_is_lower_casing_once(text):
    lowered = LOWER.detokenize(LOWER.tokenize([text]))
    assert LOWER.tokenize(lowered) == LOWER.tokenize([text])
    assert LOWER.detokenize(LOWER.tokenize(lowered)) == lowered


def test_a_lower_case_tokenizer_has_no_token_with_a_capital():
    tokens = [LOWER.id_to_token(id) for id in range(BASE_VOCAB_SIZE, LOWER.vocab_size)]
    assert [token for token in tokens if token != token.lower()] == []
    assert LOWER.id_to_token(LOWER.tokenize(["JANE"])[0][0]) == " jane"


def test_lower_casing_is_saved_in_the_file(tmp_path):
    for tokenizer in (LOWER, TOKENIZER):
        tokenizer.save(tmp_path / "tokenizer.json")
        loaded = load_tokenizer(tmp_path / "tokenizer.json")
        assert loaded.lowercase == tokenizer.lowercase == (tokenizer is LOWER)
        assert loaded.tokenize(["Jane VISITS"]) == tokenizer.tokenize(["Jane VISITS"])


def test_a_frequent_word_is_one_token_in_every_position():
    first, later = TOKENIZER.tokenize(["Jane", "visits Jane"])
    assert len(first) == 1
    assert later[-1] == first[0]
    assert TOKENIZER.id_to_token(first[0]) == " Jane"


def test_special_tokens_have_the_first_ids_and_no_text():
    assert [TOKENIZER.id_to_token(id) for id in (PAD, BOS, EOS)] == SPECIAL_TOKENS
    ids = TOKENIZER.tokenize(["Jane"])[0]
    assert TOKENIZER.detokenize([[BOS, *ids, EOS, PAD]]) == ["Jane"]


def test_the_vocabulary_has_the_given_size_or_what_the_text_allows():
    words = ["".join(letters) for letters in permutations("abcde")]
    assert learn_tokenizer([*words, *words], 320).vocab_size == 320
    assert TOKENIZER.vocab_size <= 400
    assert learn_tokenizer(["a"], 5000).vocab_size < 300


def test_a_vocabulary_too_small_for_bytes_is_rejected():
    with pytest.raises(ConfigError, match=f"model.vocab_size = 100 is too small; .* take {BASE_VOCAB_SIZE}"):
        learn_tokenizer(TEXTS, 100)


def test_learning_is_deterministic(tmp_path):
    learn_tokenizer(TEXTS, 320).save(tmp_path / "a.json")
    learn_tokenizer(TEXTS, 320).save(tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_a_saved_tokenizer_is_loaded_unchanged(tmp_path):
    TOKENIZER.save(tmp_path / "tokenizer.json")
    loaded = load_tokenizer(tmp_path / "tokenizer.json")
    assert loaded.tokenize([*TEXTS, *ODD]) == TOKENIZER.tokenize([*TEXTS, *ODD])
    assert loaded.vocab_size == TOKENIZER.vocab_size


@pytest.mark.parametrize("content", ["", "{}", "not json"])
def test_a_file_that_is_not_a_tokenizer_is_rejected(tmp_path, content):
    path = tmp_path / "tokenizer.json"
    path.write_text(content)
    with pytest.raises(CheckpointError, match="is not a tokenizer"):
        load_tokenizer(path)


def test_an_unknown_id_is_rejected():
    with pytest.raises(IndexError, match="there is no token"):
        TOKENIZER.id_to_token(10_000)


WORD_TEXTS = ["the cat sat", "the cat ran", "a Dog sat", "the the , ,"]


def test_a_word_that_occurs_twice_has_a_token_and_a_rarer_word_is_unknown():
    tokenizer = learn_word_tokenizer(WORD_TEXTS, 400)
    [row] = tokenizer.tokenize(["the cat ran"])
    assert [tokenizer.id_to_token(id) for id in row] == [" the", " cat", " <unk>"]
    assert row[2] == UNKNOWN_ID


def test_punctuation_around_a_word_has_its_own_token_and_inside_has_not():
    tokenizer = learn_word_tokenizer(["well-made, do n't"] * 2, 400)
    [row] = tokenizer.tokenize(["well-made, do n't"])
    assert [tokenizer.id_to_token(id) for id in row] == [" well-made", ",", " do", " n't"]


def test_whole_word_tokens_ignore_the_amount_of_white_space():
    tokenizer = learn_word_tokenizer(WORD_TEXTS, 400)
    assert tokenizer.tokenize(["the  cat\tsat"]) == tokenizer.tokenize(["the cat sat"])


def test_words_are_lower_cased_only_on_request():
    assert learn_word_tokenizer(["Cat cat"], 400).tokenize(["cat"]) == [[UNKNOWN_ID]]
    assert learn_word_tokenizer(["Cat cat"], 400, lowercase=True).tokenize(["CAT"]) != [[UNKNOWN_ID]]


def test_a_small_vocabulary_has_the_most_frequent_words():
    tokenizer = learn_word_tokenizer(WORD_TEXTS, BASE_VOCAB_SIZE + 2)
    assert tokenizer.vocab_size == BASE_VOCAB_SIZE + 2
    assert tokenizer.tokenize(["the cat"])[0][0] != UNKNOWN_ID == tokenizer.tokenize(["the cat"])[0][1]


def test_no_text_can_spell_a_special_token_or_the_unknown_token():
    tokenizer = learn_word_tokenizer([*WORD_TEXTS, "<s> <s> <unk> <unk>"], 400)
    ids = {id for row in tokenizer.tokenize(["<s> </s> <pad>", "<unk>"]) for id in row}
    assert not ids & set(range(len(SPECIAL_TOKENS)))
    [row] = tokenizer.tokenize(["<unk>"])
    assert len(row) > 1


def test_learning_words_is_deterministic_and_survives_a_round_trip(tmp_path):
    tokenizer = learn_word_tokenizer(WORD_TEXTS, 400)
    assert tokenizer.fingerprint == learn_word_tokenizer(WORD_TEXTS, 400).fingerprint
    tokenizer.save(tmp_path / "words.json")
    assert load_tokenizer(tmp_path / "words.json").tokenize(WORD_TEXTS) == tokenizer.tokenize(WORD_TEXTS)


def test_a_vocabulary_without_room_for_a_word_is_rejected():
    with pytest.raises(ConfigError, match="260 are taken before the first word"):
        learn_word_tokenizer(WORD_TEXTS, BASE_VOCAB_SIZE + 1)


def test_learning_from_one_long_word_takes_no_longer_than_from_many_words():
    random = Random(3)
    text = "".join(random.choices("abcdefghij", k=60_000))
    words = " ".join(text[start : start + 3000] for start in range(0, len(text), 3000))

    def best_time(content):
        return min(
            timeit.repeat(lambda: learn_tokenizer([content], 1500), timer=process_time, number=1, repeat=3)
        )

    assert best_time(text) < 2.5 * best_time(words)


ODD_TEXTS = {
    "letter": "a",
    "spaces": " ",
    "marks": "e\u0301\u0316\u0301",
    "mixed marks": "\u0316\u0301",
    "brackets": "([",
    "digits": "7",
    "letters and digits": "a1",
    "emoji": "👩‍👧🙂",
    "CJK": "的",
    "full stops": "a.",
}


@pytest.mark.parametrize("unit", ODD_TEXTS.values(), ids=ODD_TEXTS)
@pytest.mark.parametrize("learn", [learn_tokenizer, learn_word_tokenizer])
def test_one_word_of_any_characters_is_tokenized_in_linear_time(learn, unit):
    tokenizer = learn(["the cat, the dog (7) 的 " + 40 * unit] * 2, 400)

    def best_time(size):
        text = (unit * size)[:size]
        times = timeit.repeat(
            lambda: tokenizer.tokenize([normalize_text(text)]), timer=process_time, number=1
        )
        return min(times)

    assert best_time(160_000) < 8 * 2.3 * best_time(20_000)  # quadratic time would be 64 times as long
