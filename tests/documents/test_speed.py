"""Ten megabytes of each format; `-m slow --junit-xml=FILE -o junit_family=xunit1` records the time."""

import json
import time
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

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
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
TYPES = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
PARAGRAPH = (
    f"<w:p><w:r><w:t xml:space='preserve'>{WORDS}</w:t></w:r>"
    "<w:r><w:rPr><w:b/></w:rPr><w:t>number %d</w:t></w:r></w:p>"
)


def build_docx(paragraphs):
    """Return a Word document with these paragraphs and parts that are not read."""
    file = BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        override = f'<Types><Override PartName="/word/document.xml" ContentType="{TYPES}"/></Types>'
        archive.writestr("[Content_Types].xml", override)
        archive.writestr("word/document.xml", f'<w:document xmlns:w="{WORD}">{paragraphs}</w:document>')
    return file.getvalue()


@pytest.mark.slow
def test_a_word_document_of_ten_megabytes_takes_seconds(record_property):
    paragraphs = "".join(PARAGRAPH % k for k in range(10_000_000 // len(PARAGRAPH)))
    measure(build_docx(paragraphs), "x.docx", record_property)


FIELD_START = "<w:r><w:fldChar w:fldCharType='begin'/><w:t>a</w:t></w:r>"
LINK_START = (
    "<w:r><w:fldChar w:fldCharType='begin'/><w:instrText>REF x</w:instrText>"
    "<w:fldChar w:fldCharType='separate'/><w:t>a </w:t></w:r>"
)
HOSTILE = {
    "runs of one paragraph": lambda n: (
        f"<w:p>{'<w:r><w:rPr><w:b/></w:rPr><w:t>a</w:t></w:r><w:r><w:t>b </w:t></w:r>' * n}</w:p>"
    ),
    "bookmarks before a text": lambda n: (
        f"<w:p>{'<w:hyperlink>' * 50}{'<w:bookmarkStart/>' * n}<w:r><w:t>one two</w:t></w:r>"
        f"{'</w:hyperlink>' * 50}<w:r><w:t> three</w:t></w:r></w:p>"
    ),
    "nested paragraphs": lambda n: f"{'<w:p><w:r><w:t>a</w:t><w:x>' * n}{'</w:x></w:r></w:p>' * n}",
    "open fields": lambda n: f"<w:p>{FIELD_START * n}</w:p>",
    "nested links": lambda n: f"<w:p>{LINK_START * n}</w:p>",
}
"""Constructs that a reader could take quadratic time for."""


@pytest.mark.parametrize("construct", HOSTILE)
def test_a_hostile_word_document_takes_time_linear_in_its_size(construct):
    def seconds(n):
        content = build_docx(HOSTILE[construct](n))
        times = []
        for _ in range(3):
            start = time.process_time()
            document = read_document(content, "x.docx", DocumentOptions())
            document.render([f"x {text.upper()} y" for text in document.segments])
            times.append(time.process_time() - start)
        return min(times)

    assert seconds(2400) < 10 * seconds(600)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_ten_megabytes_take_seconds(name, record_property):
    head, body, tail = FILES[name]
    measure((head + body * (10_000_000 // len(body)) + tail).encode(), name, record_property)


def measure(content, name, record_property):
    """Read and write a document, and record the time."""
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
