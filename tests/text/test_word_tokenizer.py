import pytest

from regard.errors import ConfigError
from regard.text.tokenizer import (
    BASE_VOCAB_SIZE,
    SPECIAL_TOKENS,
    UNKNOWN_ID,
    learn_word_tokenizer,
    load_tokenizer,
)

TEXTS = ["the cat sat", "the cat ran", "a Dog sat", "the the , ,"]


def test_a_word_that_occurs_twice_has_a_piece_and_one_that_occurs_once_is_unknown():
    tokenizer = learn_word_tokenizer(TEXTS, 400)
    [row] = tokenizer.tokenize(["the cat ran"])
    assert [tokenizer.id_to_token(id) for id in row] == [" the", " cat", " <unk>"]
    assert row[2] == UNKNOWN_ID


def test_signs_around_a_word_are_pieces_of_their_own_and_those_inside_are_not():
    tokenizer = learn_word_tokenizer(["well-made, do n't"] * 2, 400)
    [row] = tokenizer.tokenize(["well-made, do n't"])
    assert [tokenizer.id_to_token(id) for id in row] == [" well-made", ",", " do", " n't"]


def test_white_space_makes_no_difference():
    tokenizer = learn_word_tokenizer(TEXTS, 400)
    assert tokenizer.tokenize(["the  cat\tsat"]) == tokenizer.tokenize(["the cat sat"])


def test_capitals_are_lost_only_where_that_is_asked_for():
    assert learn_word_tokenizer(["Cat cat"], 400).tokenize(["cat"]) == [[UNKNOWN_ID]]
    assert learn_word_tokenizer(["Cat cat"], 400, lowercase=True).tokenize(["CAT"]) != [[UNKNOWN_ID]]


def test_the_commonest_words_are_kept_where_there_is_room_for_few():
    tokenizer = learn_word_tokenizer(TEXTS, BASE_VOCAB_SIZE + 2)
    assert tokenizer.vocab_size == BASE_VOCAB_SIZE + 2
    assert tokenizer.tokenize(["the cat"])[0][0] != UNKNOWN_ID == tokenizer.tokenize(["the cat"])[0][1]


def test_no_text_can_spell_a_mark_or_the_unknown():
    tokenizer = learn_word_tokenizer([*TEXTS, "<s> <s> <unk> <unk>"], 400)
    found = {id for row in tokenizer.tokenize(["<s> </s> <pad>", "<unk>"]) for id in row}
    assert not found & set(range(len(SPECIAL_TOKENS)))
    [row] = tokenizer.tokenize(["<unk>"])
    assert len(row) > 1


def test_it_is_the_same_however_often_it_is_learnt_and_after_a_round_trip(tmp_path):
    tokenizer = learn_word_tokenizer(TEXTS, 400)
    assert tokenizer.fingerprint == learn_word_tokenizer(TEXTS, 400).fingerprint
    tokenizer.save(tmp_path / "words.json")
    assert load_tokenizer(tmp_path / "words.json").tokenize(TEXTS) == tokenizer.tokenize(TEXTS)


def test_a_vocabulary_without_room_for_a_word_is_refused():
    with pytest.raises(ConfigError, match="260 are taken before the first word"):
        learn_word_tokenizer(TEXTS, BASE_VOCAB_SIZE + 1)
