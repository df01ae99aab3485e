"""Ten megabytes of each format; `-m slow --junit-xml=FILE -o junit_family=xunit1` records the time."""

import json
import time

import pytest

from regard.documents.formats import DocumentOptions, read_document

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
