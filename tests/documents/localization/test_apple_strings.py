import codecs

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.documents.formats import DocumentOptions, read_document
from regard.errors import DataError

STRINGS = r"""/* A comment: "no" = "no"; */
"title" = "Hello world";
// Another "no" = "no";
unquoted = "Some \"quoted\" text";
"lines" = "One line\nanother\
line";
"args"="%1$@ of %2$lld files, %@ and %d%%" ;
"apostrophe" = 'It\'s single';
"unicode" = "Caf\U00e9";
"octal" = "Tab \011 here";
"url" = "https://example.org";
"same key";
word = Word;
/* open */ "last" /* c */ = /* d */ "Last text" /* e */ ; """


def read(content):
    content = content if isinstance(content, bytes) else content.encode()
    return read_document(content, "x.strings", DocumentOptions())


def value(source, translation):
    """What stands behind the key for a translation."""
    document = read(f'"key" = {source};')
    return document.render([translation] * len(document.segments)).decode()[8:-1]


@pytest.mark.parametrize("encode", [
    lambda text: text.encode(),
    lambda text: codecs.BOM_UTF16_LE + text.encode("utf-16-le"),
    lambda text: codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
    lambda text: text.replace("\n", "\r\n").encode(),
    lambda text: b"{\n" + text.encode() + b"}\n",
])  # fmt: skip
def test_texts_are_found_and_every_other_byte_is_kept(encode):
    content = encode(STRINGS)
    document = read(content)
    assert document.segments == (
        "Hello world",
        'Some "quoted" text',
        "One line another line",
        "%1$@ of %2$lld files, %@ and %d%%",
        "It's single",
        "Café",
        "Tab here",
        "Word",
        "Last text",
    )
    assert document.render(document.segments) == content


def test_a_translation_is_quoted_and_escaped():
    assert value('"Text"', 'a "b" \\ c') == '"a \\"b\\" \\\\ c"'
    assert value("'Text'", 'd\'or "x"') == "'d\\'or \"x\"'"
    assert value("Text", "Un mot") == '"Un mot"'
    assert value('"Text"', "é") == '"é"'
    assert value('"T\\U00e9xt"', "ß😀") == '"\\U00DF\\UD83D\\UDE00"'
    assert value('"One\\ntwo"', "Eins zwei") == '"Eins\\nzwei"'
    assert value('"One\n two"', "Eins zwei") == '"Eins\n zwei"'
    assert value('"%@ of %d"', "Von %d: %@") == '"Von %d: %@"'
    assert sorted(value('"%@ of %d"', "Von %s").strip('"').split()) == ["%@", "%d", "Von"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"bplist00\xd1\x01\x02",
            "x.strings is a binary property list; translate the .strings file it was built from",
        ),
        (
            '<?xml version="1.0"?><plist/>',
            "x.strings is an XML property list, not a .strings text; convert it",
        ),
        ('"a" = "b";\n"c" = "d"\n', "x.strings line 3: expected ;, the file ends"),
        ('"a" = "b";\n"c" "d";', "x.strings line 2: expected ;, found '\"d\"'"),
        (
            '"a" = { "b" = "c"; };',
            "x.strings line 1: expected a value; nested lists are not messages, found '{'",
        ),
        ('"a" = "b', "x.strings line 1: expected the end of a string, found '\"'"),
        ('"a" = "b"; }', "x.strings line 1: expected a key, found '}'"),
        ('"a" = "\\Ud800";', "x.strings line 1 has half of a surrogate pair"),
        ('"a" = "b";'.encode("utf-16-le"), "x.strings is binary data or UTF-16 text; convert it to UTF-8"),
    ],
)
def test_what_is_not_strings_is_rejected_with_one_line(content, message):
    with pytest.raises(DataError) as error:
        read(content)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


WORDS = st.text(
    st.characters(
        codec="utf-8", exclude_categories=["Cs", "Cc", "Zl", "Zp"], exclude_characters="{}|@$%#'<&"
    ),
    max_size=30,
).map(lambda text: " ".join(text.split()))


@settings(max_examples=100)
@given(st.lists(WORDS, min_size=1, max_size=4), WORDS)
def test_the_toolkit_reads_the_translation(values, translation):
    toolkit = pytest.importorskip("translate.storage.properties")
    rows = [
        '"key{}" = "{}";'.format(at, value.replace("\\", "\\\\").replace('"', '\\"'))
        for at, value in enumerate(values)
    ]
    content = "\n".join(rows)
    document = read(content)
    assert document.render(document.segments) == content.encode()
    written = document.render([f"So {translation}"] * len(document.segments))
    store = toolkit.stringsutf8file()
    store.parse(written)
    found = [str(unit.source) for unit in store.units]
    assert found.count(f"So {translation}".strip()) == len(document.segments)
