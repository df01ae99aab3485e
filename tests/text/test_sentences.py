import json
import time
from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text.sentences import (
    join_sentences,
    join_with_source_spacing,
    split_in_half,
    split_sentences,
    split_to_length,
)

LABELLED = json.loads((Path(__file__).parent / "boundaries.json").read_text(encoding="utf-8"))
ODD = st.text(st.sampled_from("aB .!?…\"')。！」\n,;你é́"), max_size=200)


def count_letters(parts):
    """Count each letter as a token."""
    return [len(part) for part in parts]


@pytest.mark.parametrize(
    "expected",
    [
        ["It is raining here. ", "Take the umbrella! ", "“It is over there.” ", "Where is it...? ", "Good."],
        ["I saw Mr. Smith and J. R. Tolkien at 3.5 km. ", "They were walking."],
        ["They said it was e.g. blue and so on... or not. ", "It was rather green."],
        ["今天天气很好，我们去公园散步吧朋友。", "“你今天想吃什么东西呢我的朋友？”", "好"],
        ["यह एक बहुत अच्छा दिन है। ", "हम बाहर जाते हैं।"],
        ["a first line of some length\n", "another"],
        ["Yes. ", "No. ", "Perhaps. ", "I do not know yet."],
    ],
)
def test_sentences_end_where_people_end_them(expected):
    assert split_sentences("".join(expected)) == expected


@given(ODD)
def test_joined_sentences_are_the_text(text):
    assert "".join(split_sentences(text)) == text


@given(ODD, st.integers(1, 30))
def test_split_text_loses_only_white_space_and_every_part_fits(text, most):
    parts = split_to_length(text, most, count_letters)
    assert "".join("".join(parts).split()) == "".join(text.split())
    assert all(part == part.strip() and 0 < len(part) <= most for part in parts)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one two three, four five six", ("one two three, ", "four five six")),
        ("one, two three four five six", ("one, two three ", "four five six")),
        ("abcdefgh", ("abcd", "efgh")),
        ("aaae\u0301e\u0301e\u0301", ("aaae\u0301", "e\u0301e\u0301")),
    ],
)
def test_a_long_sentence_is_cut_after_a_clause_or_between_words_or_letters(text, expected):
    assert split_in_half(text) == expected


@pytest.mark.parametrize("text", ["a，", "。。", "，，，"])
def test_punctuation_at_the_end_of_a_short_text_is_no_place_to_cut(text):
    assert split_to_length(text, 1, count_letters) == list(text)


def test_sentences_are_joined_with_the_spacing_of_their_script():
    assert join_sentences(["Hello.", "", "How are you?"]) == "Hello. How are you?"
    assert join_sentences(["你好。", "我很好。"]) == "你好。我很好。"
    assert join_sentences(["안녕하세요.", "네."]) == "안녕하세요. 네."
    assert join_sentences(["สวัสดี", "สบายดีไหม"]) == "สวัสดี สบายดีไหม"  # spaces between sentences, not words
    assert join_sentences([]) == ""


@pytest.mark.parametrize(
    "run",
    [
        ".",
        "'",
        "a",
        "a ",
        ". ",
        "a. ",
        ".'",
        "。",
        "\n",
        "?! ",
        "a,",
        "(. ",
        "((a. ",
        "“。",
        "1. ",
        "Dr. ",
        "Ab. ",
        "am 3. B",
    ],
)
def test_time_is_linear_in_the_text(run):
    def seconds(size):
        text, best = run * (size // len(run)), 9.0
        for _ in range(2):
            began = time.process_time()
            split_to_length(text, 500, count_letters)
            best = min(best, time.process_time() - began)
        return best

    assert seconds(64_000) < 8 * seconds(16_000) + 0.05


@given(ODD)
def test_copied_sentences_come_back_with_their_white_space(text):
    text = text.strip()
    parts = split_sentences(text)
    assert join_with_source_spacing(parts, [part.strip() for part in parts]) == text


def test_line_breaks_are_kept_and_spaces_follow_the_target_script():
    english = ["It is raining here.  ", "Take the umbrella!\n\n", "It is over there. ", "Good."]
    chinese = ["正在下雨。", "带上雨伞！", "在那边。", "好。"]
    assert join_with_source_spacing(english, chinese) == "正在下雨。带上雨伞！\n\n在那边。好。"
    assert join_with_source_spacing(chinese, [part.strip() for part in english]) == (
        "It is raining here. Take the umbrella! It is over there. Good."
    )
    assert join_with_source_spacing(english, ["Il pleut.", "Prends le parapluie !", "", "Bon."]) == (
        "Il pleut.  Prends le parapluie !\n\n Bon."
    )


def boundaries(parts):
    """Return the offsets between the parts, white space not counted."""
    return set(accumulate(len("".join(part.split())) for part in parts[:-1]))


@pytest.mark.parametrize("part", ["development", "held_out"])
@pytest.mark.parametrize("language", LABELLED)
def test_sentence_boundaries_are_found_in_every_language(language, part):
    correct = predicted = labelled = 0
    for parts in LABELLED[language][part]:
        expected = boundaries(parts)
        actual = boundaries(split_sentences("".join(parts)))
        correct += len(expected & actual)
        predicted += len(actual)
        labelled += len(expected)
    assert 2 * correct / (predicted + labelled) >= 0.94
