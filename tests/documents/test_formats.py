import codecs
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.documents.formats import DOCUMENT_FORMATS, DocumentOptions, open_document, read_document
from regard.errors import DataError
from regard.text.file_types import is_binary
from sample_documents import (
    ANDROID,
    CSV,
    HTML,
    JSONL,
    MARKDOWN,
    PO,
    RESX,
    SRT,
    STRINGSDICT,
    TMX,
    TSV,
    TXT,
    VTT,
    XLIFF,
    XLIFF2,
)

IN_PLACE = {"x.txt": TXT, "x.srt": SRT, "x.vtt": VTT, "x.html": HTML, "x.md": MARKDOWN}
IN_PLACE |= {"x.xml": ANDROID, "x.resx": RESX, "x.stringsdict": STRINGSDICT}
BESIDE = {"x.po": PO, "x.tmx": TMX, "x.xlf": XLIFF, "y.xliff": XLIFF2, "x.jsonl": JSONL}
ALL = IN_PLACE | BESIDE | {"x.tsv": TSV, "x.csv": CSV}


def read(name, content, **reading):
    content = content if isinstance(content, bytes) else content.encode()
    return read_document(content, name, DocumentOptions(**reading))


@pytest.mark.parametrize("name", IN_PLACE)
@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_identity_translation_reproduces_every_byte(name, mark, newline, end):
    content = mark + ALL[name].replace("\r\n", "\n").replace("\n", newline).encode() + end.encode()
    document = read(name, content)
    assert len(document.segments) > 3
    assert document.render(document.segments) == content


@pytest.mark.parametrize("name", BESIDE)
def test_a_fully_translated_document_is_reproduced(name):
    """Whatever the reader adds is only ever a translation: the second time there is nothing to add."""
    first = read(name, ALL[name])
    content = first.render(first.segments)
    assert content != ALL[name].encode()
    second = read(name, content)
    assert second.render(second.segments) == content
    again = read(name, content, overwrite=name != "x.jsonl")
    left = {"vieux": "old", "fait": "done", "Fait": "Done", "Quatre": "Four", "Un": "One"}
    for theirs, ours in left.items():
        content = content.replace(f'msgstr "{theirs}"'.encode(), f'msgstr "{ours}"'.encode())
        content = content.replace(f">{theirs}<".encode(), f">{ours}<".encode())
    assert again.render(again.segments) == content


@pytest.mark.parametrize("name", ALL)
def test_segments_have_no_markup_and_no_surrounding_white_space(name):
    texts = read(name, ALL[name], column="text" if name == "x.tsv" else None).segments
    assert all(text and text == text.strip() for text in texts)
    markup = ("<b>", "<i>", "</", "&amp;", "&lt;", "**", "](", "{\\an8}", "msgid", "<seg>", "-->")
    assert [text for text in texts for sign in markup if sign in text] == []


@pytest.mark.parametrize("name", ["x.txt", "x.srt", "x.html"])
def test_upper_casing_segments_changes_only_the_case(name):
    document = read(name, ALL[name])
    changed = document.render([text.upper() for text in document.segments]).decode()
    assert changed != ALL[name]
    assert changed.casefold().replace("café", "caf&eacute;") == ALL[name].casefold()


@pytest.mark.parametrize("name", ALL)
def test_an_empty_document_is_reproduced_or_rejected(name):
    if name == "x.vtt":
        with pytest.raises(DataError, match="line 1 is not WEBVTT"):
            read(name, b"")
    elif name.startswith(("x.x", "x.tmx", "y", "x.resx", "x.stringsdict")):
        with pytest.raises(DataError, match="line 1 is not well-formed XML: no element found"):
            read(name, b"")
    else:
        assert read(name, b"").render([]) == b""


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("surplus", [-1, 1])
def test_the_number_of_translations_must_match_the_segments(name, surplus):
    document = read(name, ALL[name])
    count = len(document.segments)
    with pytest.raises(DataError, match=f"{name} has {count} texts and {count + surplus} translations"):
        document.render(["x"] * (count + surplus))


SIGNS = [
    "cat",
    "3",
    "*",
    "_",
    "`",
    "[a](b)",
    "<i>",
    "</p>",
    "&lt;",
    "&",
    "|",
    "#",
    "-",
    "1.",
    ">",
    "~~",
    "\\",
]


@settings(max_examples=20)
@given(
    st.lists(st.sampled_from([*SIGNS, "漢字", "-->", "!"]), max_size=12), st.sampled_from(sorted(IN_PLACE))
)
def test_any_translation_keeps_the_number_of_segments(words, name):
    """Nothing that a model writes turns into markup, or breaks what is around it."""
    document = read(name, ALL[name])
    after = read(name, document.render([" ".join(["So", *words])] * len(document.segments)))
    assert len(after.segments) == len(document.segments)


@given(st.text(max_size=60), st.sampled_from([".txt", ".html", ".md", ".srt"]))
def test_any_text_is_reproduced_or_rejected(text, ending):
    try:
        document = read(f"x{ending}", text)
    except DataError:
        assert ending == ".srt" or is_binary(text.encode())
    else:
        assert document.render(document.segments) == text.encode()


def test_the_suffix_or_an_explicit_name_selects_the_format(tmp_path):
    path = tmp_path / "page"
    path.write_bytes(b"<p>One</p>")
    assert open_document(path, name="page.HTML").segments == ("One",)
    with pytest.raises(DataError, match="page has no known document format; its name must end in .txt, .tsv"):
        open_document(path)
    with pytest.raises(DataError, match="nothing.md does not exist"):
        open_document(tmp_path / "nothing.md")
    assert {".txt", ".tsv", ".jsonl", ".srt", ".po", ".tmx", ".xliff", ".html", ".md"} < set(DOCUMENT_FORMATS)


@pytest.mark.parametrize("ending", [".md", ".markdown", ".mdown", ".mkd", ".MARKDOWN"])
def test_markdown_has_several_suffixes(ending):
    assert read(f"x{ending}", MARKDOWN).segments == read("x.md", MARKDOWN).segments


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.txt", b"a\nb\xff\n", "x.txt line 2 is not UTF-8; convert it to UTF-8"),
        ("x.md", "# The cat sings".encode("utf-16-le"), "x.md is binary data or UTF-16 text; convert it"),
        ("x.pdf", b"%PDF-1.7", "x.pdf is a PDF document, which regard does not read; convert it to"),
        ("x.html", b'<meta charset="rot13"><p>a', "x.html is in charset 'rot13'"),
        ("x.tmx", b"<tmx>\n<body></tmx>", "x.tmx line 2 is not well-formed XML: mismatched tag"),
        ("x.tmx", b"<html/>", "x.tmx is XML, but not TMX"),
        ("x.xlf", b"<html/>", "x.xlf is XML, but not XLIFF"),
        ("x.srt", b"1\n00:00:01,000 -> 00:00:02,000\nHi\n", "x.srt line 2 is not a cue time"),
        ("x.srt", b"\nHello\n", "x.srt line 2 has text before the first time"),
        ("x.po", b'msgid "a"\nmsgstr "b\n', "x.po line 2 is not a quoted string"),
        ("x.po", b'msgid "a"\nhello\n', "x.po line 2 is neither a comment"),
        ("x.po", b'\nmsgid "a"\nmsgid "b"\nmsgstr ""\n', "x.po line 2 starts a message without msgstr"),
        ("x.po", b'msgstr "b"\n', "x.po line 1 starts a message without msgid"),
        ("x.jsonl", b'{"text": "a"}\n{"text"\n', "x.jsonl line 2 is not valid JSON"),
        ("x.jsonl", b'["a"]\n', "x.jsonl line 1 is not a JSON object"),
        ("x.jsonl", b'{"title": "a"}\n', 'x.jsonl line 1 has no text in "text" or "source"'),
        ("x.jsonl", b'{"text": "\\ud800"}\n', "x.jsonl line 1 is not valid JSON"),
        ("x.jsonl", b"[" * 100_000, "x.jsonl line 1 is not valid JSON"),
    ],
)
def test_invalid_input_is_rejected_with_its_line_number(name, content, message):
    with pytest.raises(DataError) as error:
        read(name, content)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["x.xlf", "y.xliff", "x.tmx", "x.xml", "x.resx", "x.stringsdict"])
def test_characters_that_xml_forbids_are_dropped_and_reported(name):
    document = read(name, ALL[name])
    forbidden = "\0\x08\x0b\x0c\x1f\ufffe\uffff\ud800"
    reports = []
    texts = [f"a{forbidden}b\t🙂 {k}" for k in range(len(document.segments))]
    written = document.render(texts, report=reports.append)
    assert reports == [
        f"{name}: dropped {8 * len(texts)} control characters of the translation, which XML cannot contain "
        "(U+0000, U+0008, U+000B, ...)"
    ]
    assert [sign for sign in forbidden if sign in written.decode()] == []
    texts_read = "".join(ElementTree.fromstring(written.removeprefix(codecs.BOM_UTF8)).itertext())
    assert all(word in texts_read for word in ("ab", "🙂"))
    with pytest.warns(UserWarning, match=r"dropped 1 control character of .* \(U\+001B\)"):
        assert document.render(["\x1b", *texts_read[1:2] * (len(texts) - 1)])


def test_forbidden_characters_are_not_written_as_references():
    content = '<?xml version="1.0" encoding="iso-8859-1"?><resources><string name="a">x</string></resources>'
    document = read("x.xml", content)
    assert b">a&#8230;b<" in document.render(["a…\uffff\udfffb"], report=len)
