"""Ten megabytes of each format; `-m slow --junit-xml=FILE -o junit_family=xunit1` records the time."""

import json
import time

import pytest

from linear_time import assert_linear
from regard.documents.formats import DocumentOptions, read_document
from regard.documents.localization.message import drop_extra_placeholders, message_fragments
from regard.documents.segments import build_segment

WORDS = "The quick brown fox jumps over the lazy dog near the river bank. "
TIMES = "1\n00:00:01,000 --> 00:00:02,000\n"
FILES = {
    "x.txt": ("", WORDS + "\n", ""),
    "x.tsv": ("text\tnote\n", WORDS + "\tmore\n", ""),
    "x.csv": ("text,note\n", f'"{WORDS}, ""so""",more\n', ""),
    "x.jsonl": ("", json.dumps({"text": WORDS, "id": 3}) + "\n", ""),
    "x.srt": ("", f"{TIMES}<i>{WORDS}</i>\n{WORDS}\n\n", ""),
    "x.po": ("", '#: a.c:1\nmsgid "Some <b>text</b> with %s in it"\nmsgstr ""\n\n', ""),
    "x.tmx": (
        '<tmx><header srclang="en"/><body>',
        f'<tu><tuv xml:lang="en"><seg>{WORDS}<ph>x</ph> and more</seg></tuv></tu>\n',
        "</body></tmx>",
    ),
    "x.xlf": (
        "<xliff><file>",
        f'<trans-unit><source>{WORDS}<g id="1">bold</g> and more</source></trans-unit>\n',
        "</file></xliff>",
    ),
    "x.json": ('{"@@locale": "en",\n', f'"key": "{WORDS}{{{{name}}}}",\n', '"last": "Text"}'),
    "x.yml": ("en:\n", f'  key: {WORDS}\n  other: "{WORDS}%{{name}}"\n', ""),
    "x.strings": ("", f'/* c */\n"key" = "{WORDS}%@";\n', ""),
    "x.properties": ("", f"key = {WORDS}{{0}}\n", ""),
    "x.html": (
        "",
        f'<p class="x">{WORDS}<a href="x" title="a tip">link</a> and <b>bold</b> &amp; more</p>\n',
        "",
    ),
    "x.md": (
        "## Title\n\n",
        f"{WORDS * 2}*with* a [link](http://x) and `code`\n{WORDS}\n\n- item **one**\n\n",
        "",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_ten_megabytes_take_seconds(name, record_property):
    head, body, tail = FILES[name]
    content = (head + body * (10_000_000 // len(body)) + tail).encode()
    start = time.process_time()
    document = read_document(content, name, DocumentOptions(target_language="fr"))
    read = time.process_time()
    document.render([text.upper() for text in document.segments])
    written = time.process_time()
    record_property("seconds", {"read": read - start, "written": written - read})
    assert written - start < 60


def test_the_time_for_nested_groups_is_linear():
    unit = "<n:group><n:trans-unit><n:source>w</n:source></n:trans-unit>"

    def read_groups(count):
        content = f"<n:xliff xmlns:n='u'>{unit * count}{'</n:group>' * count}</n:xliff>"
        assert len(read_document(content.encode(), "x.xlf", DocumentOptions()).segments) == count

    assert_linear(read_groups, 1_500)


@pytest.mark.parametrize(("name", "code"), [("x.html", "<b>"), ("x.md", "**"), ("x.vtt", "<i>")])
def test_the_time_for_codes_inside_one_word_is_linear(name, code):
    def translate_word(count):
        head = "WEBVTT\n\n00:01.000 --> 00:02.000\n" if name == "x.vtt" else ""
        document = read_document(f"{head}{('é' * 50 + code) * count}é".encode(), name, DocumentOptions())
        document.render([f"{text} é" for text in document.segments])

    assert_linear(translate_word, 500)


def test_the_time_to_drop_placeholders_is_linear():
    def drop_placeholders(count):
        segment = build_segment(message_fragments("%1$s a " * count))
        assert segment is not None
        assert "%" not in drop_extra_placeholders(segment, "%2$s b " * count)

    assert_linear(drop_placeholders, 4_000)
