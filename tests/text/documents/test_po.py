import io

import pytest

from documents import PO
from regard.errors import DataError
from regard.text.documents.document import Reading, read_document


def read(content, **reading):
    return read_document(content.encode(), "x.po", Reading(**reading))


def message(source, translation):
    """What stands behind msgstr for a message that is written so."""
    written = read(f'msgid {source}\nmsgstr ""\n').written([translation]).decode()
    return written.split("msgstr ")[1].removesuffix("\n")


def test_messages_without_a_translation_are_translated():
    assert read(PO).segments == (
        'Cannot open %s: "%s"',
        "_Open file…",
        "Usage: %(prog)s [OPTION] This text is so long that the tool which wrote it had to break it into "
        "more than one line.",
        "%d files",
        "%d file",
        "%d files",
    )


def test_nothing_but_the_translations_changes():
    document = read(PO)
    old, new = (
        PO.split("\n"),
        document.written([text.upper() for text in document.segments]).decode().split("\n"),
    )
    assert 'msgstr "CANNOT OPEN %s: \\"%s\\"\\n"' in new
    assert 'msgstr   "_OPEN <b>FILE</b>…"' in new
    assert 'msgstr[1] "%d FILE"' in new  # the header's rule gives form 1 to one thing
    added = [line for line in new if line not in old]
    assert [line for line in added if not line.startswith(("msgstr", '"'))] == []
    assert [line for line in old if line not in new] == [
        *('msgstr   ""', 'msgstr[0] ""', 'msgstr[1] ""', 'msgstr[2] ""')
    ]


def test_fuzzy_and_done_messages_are_translated_again_only_when_asked():
    assert {"old", "done"} & set(read(PO).segments) == set()
    assert {"old", "done"} < set(read(PO, overwrite=True).segments)


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ('"Hello %s!"', "Bonjour %s !", '"Bonjour %s !"'),
        ('"Hello %s!"', "Bonjour !", '"Bonjour %s !"'),
        ('"Hello %s!"', "Bonjour %s %s !", '"Bonjour %s !"'),
        ('"Hello {name}!"', "Bonjour {nom} !", '"Bonjour {name} !"'),
        ('"%(a)s of %(b)s"', "%(b)s %(a)s", '"%(b)s %(a)s"'),
        ('"100% sure"', "sûr à 100%", '"sûr à 100%"'),
        ('" two\\tparts\\n"', 'deux "parts"', '" deux\\t\\"parts\\"\\n"'),
        ('"a\\\\b"', "c\\d", '"c\\\\d"'),
    ],
)
def test_placeholders_and_escapes_come_back(source, translation, expected):
    assert message(source, translation) == expected


def test_a_long_translation_is_broken_as_its_source_is():
    words = "mot " * 40
    assert "\n" not in message('"one line"', words)
    rows = message('""\n"first\\n"\n"second\\n"', words).split("\n")
    assert rows[0] == '""'
    assert max(map(len, rows)) <= 79
    assert "".join(row.strip('"') for row in rows).replace("\\n", " ").split() == words.split()


def test_another_charset_is_refused_with_the_command_that_converts_it():
    header = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=ISO-8859-1\\n"\n'
    with pytest.raises(
        DataError, match="x.po is in charset ISO-8859-1; convert it: msgconv --to-code=UTF-8 x.po"
    ):
        read(header)


def test_the_translate_toolkit_reads_the_same():
    toolkit = pytest.importorskip("translate.storage.po")
    document = read(PO)
    written = document.written([text.upper() for text in document.segments])
    before = toolkit.pofile(io.BytesIO(PO.encode())).units
    after = toolkit.pofile(io.BytesIO(written)).units
    assert [unit.source for unit in after] == [unit.source for unit in before]
    assert [unit.getnotes() for unit in after] == [unit.getnotes() for unit in before]
    found = {str(unit.source): getattr(unit.target, "strings", [str(unit.target)]) for unit in after}
    assert found['Cannot open %s: "%s"\n'] == ['CANNOT OPEN %s: "%s"\n']
    assert found["%d file"] == ["%d FILES", "%d FILE", "%d FILES"]
    assert found["done"] == ["fait"]
