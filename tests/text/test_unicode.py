import re
import timeit
import unicodedata
from importlib.resources import files
from random import Random
from time import process_time

import pytest

from regard.errors import DataError
from regard.text.unicode import (
    UNSPACED_LETTERS,
    UNSPACED_MARKS,
    diff_words,
    is_cjk,
    is_unspaced_script,
    normalize_nfc,
    reject_lone_surrogates,
    sanitize_for_display,
)


@pytest.mark.parametrize("character", "水々ぬネｶกໜខက")
def test_scripts_without_spaces_are_known(character):
    assert is_unspaced_script(character)


@pytest.mark.parametrize("character", "aéаक한 ,、。។၊")
def test_other_scripts_and_punctuation_are_not_unspaced_letters(character):
    assert not is_unspaced_script(character)


def test_only_chinese_and_japanese_put_no_space_between_sentences():
    assert all(map(is_cjk, "水ぬネ。！」　Ａ"))
    assert not any(map(is_cjk, "aกໜខက한.!"))


def test_every_combining_mark_of_an_unspaced_script_is_a_mark():
    letters, marks = (re.compile(f"[{ranges}]") for ranges in (UNSPACED_LETTERS, UNSPACED_MARKS))
    for character in map(chr, range(0x30000)):
        if letters.match(character) and unicodedata.category(character)[0] == "M":
            assert marks.match(character), f"U+{ord(character):04X}"


def test_the_page_has_the_same_table_of_unspaced_scripts():
    script = (files("regard") / "assets" / "js" / "units.js").read_text("utf-8")
    [ranges] = re.findall(r"/\[((?:\\u[0-9a-f]{4}|\\u\{[0-9a-f]+\}|-)+)\]/u", script)
    decoded = re.sub(r"\\u\{?([0-9a-f]+)\}?", lambda match: chr(int(match[1], 16)), ranges)
    assert decoded == UNSPACED_LETTERS


def test_a_lone_surrogate_is_rejected_with_the_name_of_the_text():
    reject_lone_surrogates("text 1", "é 🎉")
    with pytest.raises(DataError, match="text 1 has a lone surrogate"):
        reject_lone_surrogates("text 1", "a\ud83c")


@pytest.mark.parametrize(
    ("text", "displayed"),
    [
        ("Ça va ?", "Ça va ?"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("a\x1b[2Jb", "a [2Jb"),
        ("a\u202eb\x00c\nd", "a b c d"),
        ("a\ud800", "a"),
        ("x" * 501, "x" * 500 + "…"),
    ],
)
def test_control_and_formatting_characters_are_not_displayed(text, displayed):
    assert sanitize_for_display(text) == displayed
    assert sanitize_for_display(text).encode("utf-8")


def test_new_words_are_marked_in_a_diff():
    assert list(diff_words("the cat sat", "the dog sat down")) == [
        ("the", False),
        ("dog", True),
        ("sat", False),
        ("down", True),
    ]
    assert list(diff_words("", "all new")) == [("all", True), ("new", True)]


def test_no_word_is_new_without_a_text_before():
    assert list(diff_words(None, "the cat")) == [("the", False), ("cat", False)]


MARKS = [
    *map(chr, range(0x300, 0x36F)),
    "é",
    "ṩ",
    "\u0344",
    "\u212b",
    "\u1100",
    "\u1161",
    "\u0f71",
    "\u3099",
    "か",
]


def test_nfc_is_that_of_the_standard_library_for_any_mix_of_marks_and_letters():
    random = Random(7)
    for length in (1, 5, 63, 64, 65, 300):
        for _ in range(50):
            text = "".join(random.choices(MARKS, k=length))
            assert normalize_nfc(text) == unicodedata.normalize("NFC", text)


def test_nfc_of_combining_marks_in_mixed_order_takes_linear_time():
    def best_time(marks):
        text = "e" + "\u0316\u0301" * (marks // 2)
        return min(timeit.repeat(lambda: normalize_nfc(text), timer=process_time, number=1))

    assert best_time(80_000) < 8 * 2.3 * best_time(10_000)  # quadratic time would be 64 times as long
