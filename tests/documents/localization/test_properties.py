import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.documents.formats import DocumentOptions, read_document
from regard.errors import DataError

PROPERTIES = r"""# A comment \
! Another = comment
title = Hello world
colon:Some text
space   Spaced text
  indented = \  Two leading spaces
key\ with\:signs = Text of a key\u0021
long = This is a text that \
       goes on over \
       three lines
empty =
lonely
number = 12
icon = icons/open.png
class = org.example.Main
args = {0} of {1,number,integer} files in "{2}"
quoted = Can''t open ''{0}'' or '{name}'
choice = {0,choice,0#no files|1#one file|1<{0} files}
mozilla = Open %S or %1$S
plural = #1 file;#1 files
lines = One line\n\
        another line
last = No \u00e9nd"""


def read(content, name="x.properties"):
    content = content if isinstance(content, bytes) else content.encode()
    return read_document(content, name, DocumentOptions())


def render(content, translate):
    document = read(content)
    return document.render([translate(text) for text in document.segments]).decode()


def value(content, translation):
    """What stands behind the key for a translation."""
    return render(f"key = {content}", lambda _: translation).partition(" = ")[2]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_texts_are_found_and_every_other_byte_is_kept(newline):
    content = PROPERTIES.replace("\n", newline).encode()
    document = read(content)
    assert document.segments == (
        "Hello world",
        "Some text",
        "Spaced text",
        "Two leading spaces",
        "Text of a key!",
        "This is a text that goes on over three lines",
        '{0} of {1,number,integer} files in "{2}"',
        "Can't open '{0}' or {name}",
        "no files",
        "one file",
        "{0} files",
        "Open %S or %1$S",
        "#1 file",
        "#1 files",
        "One line another line",
        "No énd",
    )
    assert document.render(document.segments) == content


def test_a_translation_keeps_spaces_separators_and_lines():
    written = render(PROPERTIES, lambda text: text.replace("text", "Text")).splitlines()
    assert "colon:Some Text" in written
    assert "space   Spaced Text" in written
    assert written[7:10] == ["long = This is a Text that \\", "       goes on over three \\", "       lines"]
    assert value("\\  Two", "Zwei") == "\\  Zwei"
    assert value("One line\\n\\\n  another line", "Une autre encore une") == "Une autre\\n\\\n  encore une"
    assert value("One line", "Un \\ mot") == "Un \\\\ mot"


def test_letters_are_escaped_as_the_charset_requires():
    assert value("Text one", "é 漢😀") == "\\u00e9 \\u6f22\\ud83d\\ude00"
    assert value("Text \\u00E9", "ß\\n") == "\\u00DF\\\\n"
    assert value("Text é", "ß漢") == "ß漢"
    latin1 = read("key = Text é".encode("latin-1"))
    assert latin1.segments == ("Text é",)
    assert latin1.render(["ß 漢"]) == "key = ß \\u6f22".encode("latin-1")
    assert value("a\\: b\\= c", "d: e= f") == "d\\: e\\= f"


def test_apostrophes_are_doubled_where_java_requires_it():
    assert value("Open {0}", "l'ami {0}") == "l''ami {0}"
    assert value("Open it", "l'ami") == "l'ami"
    assert value("Don''t open", "l'ami") == "l''ami"
    assert value("Don't open {0}", "l'ami {0}") == "l'ami {0}"  # single in the source: not for MessageFormat
    assert value("Open {name}", "l'ami {name}") == "l'ami {name}"
    single = "a = Don't open {0}\nb = Close {0}"
    assert render(single, lambda _: "l'ami {0}") == "a = l'ami {0}\nb = l'ami {0}"
    doubled = "a = Don''t open\nb = Close it"
    assert render(doubled, lambda _: "l'ami") == "a = l''ami\nb = l''ami"


def test_half_of_a_surrogate_pair_is_rejected_with_its_line():
    with pytest.raises(DataError, match="x.properties line 2 has half of a surrogate pair"):
        read("a = b\nc = \\ud800 text")


WORDS = st.text(
    st.characters(
        codec="utf-8", exclude_categories=["Cs", "Cc", "Zl", "Zp"], exclude_characters="{}|@$%#'<&;\x85"
    ),
    max_size=30,
).map(lambda text: " ".join(text.split()))


def escape(text):
    raw = text.replace("\\", "\\\\")
    return f"\\{raw}" if raw.startswith(" ") else raw


@settings(max_examples=100)
@given(st.lists(WORDS, min_size=1, max_size=4), WORDS, st.sampled_from(["utf-8", "ascii"]))
def test_the_toolkit_reads_the_translation(values, translation, charset):
    toolkit = pytest.importorskip("translate.storage.properties")
    rows = [f"key{at} = {escape(value)}" for at, value in enumerate(values)]
    content = "\n".join(rows).encode(charset, "backslashreplace" if charset == "ascii" else "strict")
    content = content.replace(b"\\U0001", b"\\u0001").replace(b"\\x", b"\\u00")
    document = read(content)
    assert document.render(document.segments) == content
    written = document.render([f"So {translation}"] * len(document.segments))
    assert len(written.splitlines()) == len(content.splitlines())
    store = toolkit.javautf8file()
    store.parse(written)
    found = [str(unit.source).encode("utf-16", "surrogatepass").decode("utf-16") for unit in store.units]
    assert found.count(f"So {translation}".strip()) == len(document.segments)


@given(st.text(alphabet="ab=: \\\n\r\t#!u0'{}é", max_size=40))
def test_any_text_is_reproduced(text):
    try:
        document = read(text)
    except DataError:
        return
    assert document.render(document.segments) == text.encode()
    written = document.render([f"x {segment}" for segment in document.segments])
    assert len(read(written).segments) == len(document.segments)
