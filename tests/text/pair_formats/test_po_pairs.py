import pytest

from regard.errors import DataError
from regard.text.pair_formats.pair_files import PairFiles
from regard.text.pair_formats.units import PairOptions

HEADER = 'msgid ""\nmsgstr ""\n"Language: pl\\n"\n"Content-Type: text/plain; charset={}\\n"\n'
POLISH = '"Plural-Forms: nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 ? 1 : 2);\\n"\n'
FRENCH = '"Plural-Forms: nplurals=2; plural=(n > 1);\\n"\n'
JAPANESE = '"Plural-Forms: nplurals=1; plural=0;\\n"\n'


@pytest.fixture
def units(tmp_path):
    """Return a function that reads the units of a file."""

    def read(content, options=PairOptions(), codec="utf-8"):  # noqa: B008
        (tmp_path / "a.po").write_bytes(content.encode(codec))
        return list(PairFiles(tmp_path / "a.po", None, options).read_units())

    return read


def test_messages_have_the_line_of_their_translation(units):
    found = units(
        HEADER.format("UTF-8")
        + r"""
#: main.c:3
msgctxt "menu"
msgid "Open\t\"file\""
msgstr "Otwórz "
"plik"

# a comment
#, c-format, fuzzy
#| msgid "Clos"
msgid "Close"
msgstr "Zamknij"
msgid "Save"
msgstr ""

#, fuzzy
#~ msgid "Old"
#~ msgstr "Stary"

#, c-format
msgid ""
"Line one\n"
"line two\n"
msgstr ""
"Wiersz %d\n"
"drugi\n"
"""
    )
    assert [(unit.number, unit.line, unit.skipped or unit.row) for unit in found] == [
        (9, 9, (b'Open\t"file"', "Otwórz plik".encode())),
        (16, 16, "fuzzy"),
        (18, 18, "untranslated"),
        (28, 28, (b"Line one line two", b"Wiersz %d drugi")),
    ]


@pytest.mark.parametrize(
    ("rule", "forms", "expected"),
    [
        (POLISH, ["plik", "pliki", "plików"], [("file", "plik"), ("files", "pliki"), ("files", "plików")]),
        (FRENCH, ["fichier", "fichiers"], [("file", "fichier"), ("files", "fichiers")]),
        (JAPANESE, ["ファイル"], [("files", "ファイル")]),
        ("", ["a", "b"], [("file", "a"), ("files", "b")]),
    ],
)
def test_each_plural_form_is_a_pair(units, rule, forms, expected):
    message = 'msgid "file"\nmsgid_plural "files"\n'
    message += "".join(f'msgstr[{index}] "{form}"\n' for index, form in enumerate(forms))
    found = units(HEADER.format("UTF-8") + rule + "\n" + message)
    assert [unit.row for unit in found] == [(a.encode(), b.encode()) for a, b in expected]


@pytest.mark.parametrize(
    ("charset", "codec"), [("ISO-8859-2", "iso8859-2"), ("CP1250", "cp1250"), ("CHARSET", "utf-8")]
)
def test_the_charset_of_the_header_is_obeyed(units, charset, codec):
    found = units(HEADER.format(charset) + 'msgid "é"\nmsgstr "łąka"\n', codec=codec)
    assert found[0].row == ("é".encode(), "łąka".encode())


def test_bytes_in_another_charset_are_left_to_the_check(units):
    assert units(HEADER.format("UTF-8") + 'msgid "a"\nmsgstr "\xb3"\n', codec="latin-1")[0].row == (
        b"a",
        b"\xb3",
    )


def test_an_unknown_charset_is_refused(units):
    with pytest.raises(DataError, match="a.po is in charset KLINGON; convert it: msgconv --to-code=UTF-8"):
        units(HEADER.format("KLINGON") + 'msgid "a"\nmsgstr "b"\n')


def test_the_language_of_the_header_is_the_target(units, tmp_path):
    content = HEADER.format("UTF-8") + 'msgid "cat"\nmsgstr "kot"\n'
    assert units(content, PairOptions("en", "pl"))[0].row == (b"cat", b"kot")
    assert units(content, PairOptions("pl", "en"))[0].row == (b"kot", b"cat")
    with pytest.raises(DataError, match="translates an unnamed language into pl, which does not go with"):
        units(content, PairOptions("en", "fr"))
    assert PairFiles(tmp_path / "a.po").find_languages() == (None, "pl")
    assert PairFiles(tmp_path / "a.po", None, PairOptions("en")).find_languages() == ("en", "pl")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('msgid "a"\nmsgid "b"\n', "a.po has a message without msgstr before line 2"),
        (
            'msgid "a"\nmsgstr "b\n',
            'a.po line 2 is not a comment, a keyword with a text, or "text" of a message',
        ),
        ('msgid "a"\nmsgstr "b"\n\n"c"\n', "a.po line 4 is not a comment"),
        ("# only a comment\nhello\n", "a.po line 2 is not a comment"),
    ],
)
def test_what_is_no_message_is_an_error_by_line(units, content, message):
    with pytest.raises(DataError, match=message.replace("(", r"\(")):
        units(content)
