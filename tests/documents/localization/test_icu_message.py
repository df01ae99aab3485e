import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.documents.localization.icu_message import (
    InvalidIcuError,
    parse_icu,
    read_icu_message,
    read_message,
)


def translated(message, translate, **reading):
    content = read_message(message, **reading)
    return content.compose([slot.write(translate(slot.text)) for slot in content.slots])


def texts(message, **reading):
    content = read_message(message, **reading)
    return None if content is None else [slot.text for slot in content.slots]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("{count, plural, one {# file} other {# files}}", ["# file", "# files"]),
        (
            "{n, plural, offset:1 =0 {Nobody} one {You} other {You and # others}} liked {name}.",
            ["{n} liked {name}.", "Nobody", "You", "You and # others"],
        ),
        ("{n, selectordinal, one {#st} other {#th}} place", ["{n} place", "#st", "#th"]),
        (
            "{g, select, male {He has {n, plural, one {a cat} other {# cats}}} other {They left}}",
            ["He has {n}", "a cat", "# cats", "They left"],
        ),
        ("It''s {n, plural, one {John's} other {'{these}' ones}}", ["It's {n}", "John's", "{these} ones"]),
        (
            "{0,choice,0#no files|1#one file|1<{0,number,integer} files}",
            ["no files", "one file", "{0,number,integer} files"],
        ),
        (
            "{when, date, ::yyyyMMdd} at {when, time, short} <b>sharp</b>",
            ["{when, date, ::yyyyMMdd} at {when, time, short} sharp"],
        ),
        ("{n, plural, one {#} other {#}}", None),
    ],
)
def test_each_branch_and_the_text_around_it_is_a_text(message, expected):
    assert texts(message) == expected


def test_the_argument_moves_as_a_whole():
    message = "Found {n, plural, one {# file} other {# files}} in {folder}."
    words = {"Found {n} in {folder}.": "In {folder}: {n}.", "# file": "# Datei", "# files": "# Dateien"}
    assert translated(message, words.get) == "In {folder}: {n, plural, one {# Datei} other {# Dateien}}."


def test_a_branch_that_continues_a_word_takes_the_text_around_it():
    message = "{n} item{n, plural, one {} other {s}} in {folder}"
    assert texts(message) == ["{n} item in {folder}", "{n} items in {folder}"]
    assert translated(message, lambda text: text.replace("item", "file")) == (
        "{n, plural, one {{n} file in {folder}} other {{n} files in {folder}}}"
    )
    assert texts("{0,choice,0#s|1#}item{0,choice,1#|1<s}") is None  # the bars of a choice cannot be moved
    assert texts("# item{n, plural, one {} other {s}}") is None  # there # would be the number
    twice = "item{a, plural, one {} other {s}} and folder{b, plural, one {} other {s}}"
    assert texts(twice) == ["item and folder", "item and folders", "items and folder", "items and folders"]


def test_text_that_would_be_syntax_is_quoted():
    plural = "{n, plural, other {# files}}"
    assert translated(plural, lambda _: "# {x of 'y' #2") == "{n, plural, other {# '{'x of ''y'' '#'2}}"
    assert translated("{n, plural, other {of {x}}}", lambda _: "d'{x}'") == "{n, plural, other {d’{x}’}}"
    choice = "{0,choice,0#no files|1#a file}"
    assert translated(choice, lambda _: "l'été") == "{0,choice,0#l’été|1#l’été}"
    content = read_icu_message(choice)
    assert not content.is_intact(content.compose(["a|b", "c"]))


def test_java_doubles_every_apostrophe():
    assert translated("Open {0}", lambda _: "l'ami {0}", double_apostrophes=True) == "l''ami {0}"
    assert texts("Can''t open {0}") == ["Can't open {0}"]
    assert translated("Can''t open {0}", lambda _: "l'ami {0} s'ouvre") == "l''ami {0} s''ouvre"


@pytest.mark.parametrize(
    "message", ["{n, plural, one {#}", "{n, plural, }", "a } b", "{n, plural, one #}", "{a {b}}"]
)
def test_what_does_not_parse_is_no_message(message):
    with pytest.raises(InvalidIcuError):
        parse_icu(message)
    if ", plural" in message:
        assert read_message(message) is None  # its keywords must not be translated


@pytest.mark.parametrize(
    "rendered",
    [
        "{n, plural, one {# file} other {files}}",
        "{n, plural, one {# file} few {# files}}",
        "{n, plural, one {# file} other {# files {x}}}",
        "{m, plural, one {# file} other {# files}}",
        "{n, plural, one {# file} other {# files}",
        "# files",
    ],
)
def test_a_message_with_another_structure_is_not_intact(rendered):
    content = read_icu_message("{n, plural, one {# file} other {# files}}")
    assert not content.is_intact(rendered)
    assert content.is_intact("{n, plural, one {a # b} other {# x}}")


SIGNS = st.lists(
    st.sampled_from(["{", "}", "'", "#", "|", "{n}", "{x}", "word", " ", "''", "'{", "<b>", "\0", "1", "%s"]),
    max_size=10,
).map("".join)


@given(st.lists(SIGNS, min_size=12, max_size=12), st.booleans())
def test_any_translation_keeps_the_structure_or_is_detected(translations, double):
    message = (
        "Of {n, plural, =0 {no one} one {# {x} file} other {# 'quoted {x}'s}} on {x} "
        "{g, select, a {b's} other {c}}"
    )
    content = read_icu_message(message, double)
    filled = [slot.write(text) for slot, text in zip(content.slots, translations, strict=False)]
    rendered = content.compose(filled)
    if content.is_intact(rendered):
        assert parse_icu(rendered)
        again = read_icu_message(rendered, double)
        assert again is None or again.is_intact(rendered)


@given(st.text(alphabet="{}'#|,n plurasectohi=01<", max_size=60))
def test_any_text_is_read(text):
    content = read_message(text, is_icu=True)
    if content is not None:
        assert content.is_intact(text) or content.is_intact(
            content.compose([slot.write(slot.text) for slot in content.slots])
        )


def test_hostile_messages_take_linear_time_and_little_depth():
    for message in [
        "{n, plural, other {" * 100_000,
        "a{n, plural, one {b} other {c}}" * 200,
        "{" * 200_000,
        "'{" * 100_000,
        "{n,plural,other{a}}" * 20_000,
        "$t(" * 100_000,
        "\n " * 100_000,
        " " * 200_000 + "|",
        "%{" * 100_000,
    ]:
        start = time.process_time()
        read_message(message, is_icu=True)
        assert time.process_time() - start < 20, message[:20]
