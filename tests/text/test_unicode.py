import pytest

from regard.text.unicode import diff_words, sanitize_for_display


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Ça va ?", "Ça va ?"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("a\x1b[2Jb", "a [2Jb"),
        ("a\u202eb\x00c\nd", "a b c d"),
        ("a\ud800", "a"),
        ("x" * 501, "x" * 500 + "…"),
    ],
)
def test_what_would_move_a_cursor_or_break_a_page_is_not_shown(text, shown):
    assert sanitize_for_display(text) == shown
    assert sanitize_for_display(text).encode("utf-8")


def test_the_words_that_are_new_are_told_from_those_that_were_there():
    assert list(diff_words("the cat sat", "the dog sat down")) == [
        ("the", False),
        ("dog", True),
        ("sat", False),
        ("down", True),
    ]
    assert list(diff_words("", "all new")) == [("all", True), ("new", True)]


def test_nothing_is_new_the_first_time():
    assert list(diff_words(None, "the cat")) == [("the", False), ("cat", False)]
