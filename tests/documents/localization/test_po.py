import io
import shutil
import subprocess
import time

import pytest

from regard.documents.formats import DocumentOptions, read_document
from regard.errors import DataError
from sample_documents import PO


def read(content, **reading):
    return read_document(content.encode(), "x.po", DocumentOptions(**reading))


def message(source, translation):
    """What stands behind msgstr for a message that is written so."""
    written = read(f'msgid {source}\nmsgstr ""\n').render([translation]).decode()
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


def test_only_the_translations_change():
    document = read(PO)
    old, new = (
        PO.split("\n"),
        document.render([text.upper() for text in document.segments]).decode().split("\n"),
    )
    assert 'msgstr "CANNOT OPEN %s: \\"%s\\"\\n"' in new
    assert 'msgstr   "_OPEN <b>FILE</b>…"' in new
    assert 'msgstr[1] "%d FILE"' in new  # the header's rule gives form 1 to one thing
    added = [line for line in new if line not in old]
    assert [line for line in added if not line.startswith(("msgstr", '"'))] == []
    assert [line for line in old if line not in new] == [
        *('msgstr   ""', 'msgstr[0] ""', 'msgstr[1] ""', 'msgstr[2] ""')
    ]


def test_overwrite_translates_fuzzy_and_finished_messages():
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
def test_placeholders_and_escapes_are_restored(source, translation, expected):
    assert message(source, translation) == expected


@pytest.mark.parametrize(
    "placeholder",
    [
        *(
            "{n:,}",
            "{x:>10}",
            "{p:.1%}",
            "{d:%Y-%m-%d}",
            "{d:%d %B %Y}",
            "{x:{fill}>{width}}",
            "{a.b[0]!r:^9}",
        ),
        *("%{count}", "${name}", "{{ name }}", "{{name}}", "{n,number}", "%-05.2f", "%1$ld", "%(n)+3d"),
    ],
)
def test_lost_placeholders_are_inserted_and_new_ones_dropped(placeholder):
    assert message(f'"Some {placeholder} files"', "Des fichiers") == f'"Des {placeholder} fichiers"'
    assert message('"Some files"', f"Des {placeholder} fichiers") == '"Des fichiers"'


def test_messages_inside_a_message_are_text():
    plural = "{count, plural, one {# file} other {# files}}"
    assert message(f'"{plural}"', plural.upper()) == f'"{plural.upper()}"'


def test_a_url_is_unchanged():
    address = "https://example.org/?a=%20b%2Fc"
    for output in ("Voir ICI pour", f"Voir {address} pour"):
        assert f" {address} " in message(f'"See {address} for %s."', output)
    assert "tom@example.org" in message('"Write to tom@example.org, %s."', "Écrivez à Thomas, %s.")
    assert message('"Hello %s@example.org now"', "Salut %s@example.org") == '"Salut %s@example.org"'


def test_placeholder_search_takes_linear_time():
    start = time.process_time()
    for sign in ("{a:%b", "{a{b}", "%{", "0"):
        read(f'msgid "Some %{sign * 20_000}"\nmsgstr ""\n')
    assert time.process_time() - start < 2


UTF_8 = r'"Content-Type: text/plain; charset=UTF-8\n"'
HEADERS = {
    **{UTF_8.replace("UTF-8", charset): UTF_8 for charset in ("ASCII", "us-ascii", "CHARSET", "")},
    UTF_8.replace("; charset=UTF-8", ""): UTF_8,
    '""\n"Content-Type: text/plain; charset=ASCII\\n"\n"X: y\\n"': (
        '""\n"Content-Type: text/plain; charset=UTF-8\\n"\n"X: y\\n"'
    ),
    '"Language: fr\\n"': f'"Language: fr\\n"\n{UTF_8}',
    '"Language: fr"': '"Language: fr"\n' + UTF_8.replace('"C', r'"\nC'),
    '""': f'""\n{UTF_8}',
}


@pytest.mark.parametrize("header", HEADERS)
def test_an_ascii_header_becomes_utf_8_for_other_letters(header):
    before = '# Zoë\nmsgid "one"\nmsgstr ""\n\nmsgid ""\nmsgstr '
    after = '\n\nmsgid "two"\nmsgstr ""\n'
    document = read(before + header + after)
    ours = before.replace('msgstr ""', 'msgstr "un"')
    assert document.render(["un", "two"]).decode() == ours + header + after.replace('""', '"two"')
    written = document.render(["un", "deuxième"])
    assert written.decode() == ours + HEADERS[header] + after.replace('""', '"deuxième"')
    again = read(written.decode())
    assert again.render(again.segments) == written


def test_a_utf_8_header_stays_and_none_is_added():
    for header in ('msgid ""\nmsgstr "Content-Type: text/plain; charset=utf8\\n"\n\n', ""):
        content = header + 'msgid "one"\nmsgstr "é"\n'
        assert read(content, overwrite=True).render(["é"]).decode() == content


@pytest.mark.skipif(shutil.which("msgfmt") is None, reason="gettext's tools are not installed")
@pytest.mark.parametrize("header", HEADERS)
def test_msgfmt_accepts_the_output(header, tmp_path):
    written = read(f'msgid ""\nmsgstr {header}\n\nmsgid "one"\nmsgstr ""\n').render(["été"])
    (tmp_path / "x.po").write_bytes(written)
    command = ["msgfmt", "-c", "-o", str(tmp_path / "x.mo"), str(tmp_path / "x.po")]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "charset" not in done.stderr.lower()


def test_a_long_translation_is_wrapped_like_its_source():
    words = "mot " * 40
    assert "\n" not in message('"one line"', words)
    rows = message('""\n"first\\n"\n"second\\n"', words).split("\n")
    assert rows[0] == '""'
    assert max(map(len, rows)) <= 79
    assert "".join(row.strip('"') for row in rows).replace("\\n", " ").split() == words.split()


def test_another_charset_is_rejected_with_a_conversion_command():
    header = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=ISO-8859-1\\n"\n'
    with pytest.raises(
        DataError, match="x.po is in charset ISO-8859-1; convert it: msgconv --to-code=UTF-8 x.po"
    ):
        read(header)


def test_the_translate_toolkit_parses_the_output():
    toolkit = pytest.importorskip("translate.storage.po")
    document = read(PO)
    written = document.render([text.upper() for text in document.segments])
    before = toolkit.pofile(io.BytesIO(PO.encode())).units
    after = toolkit.pofile(io.BytesIO(written)).units
    assert [unit.source for unit in after] == [unit.source for unit in before]
    assert [unit.getnotes() for unit in after] == [unit.getnotes() for unit in before]
    found = {str(unit.source): getattr(unit.target, "strings", [str(unit.target)]) for unit in after}
    assert found['Cannot open %s: "%s"\n'] == ['CANNOT OPEN %s: "%s"\n']
    assert found["%d file"] == ["%d FILES", "%d FILE", "%d FILES"]
    assert found["done"] == ["fait"]


GUESSED = """# Translators
msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\n"

#. a comment
#: src/a.c:1
#, c-format
msgid "Open %s now"
msgstr ""

#, fuzzy
#| msgid "older"
msgid "Close %s now"
msgstr ""

#, fuzzy
#~ msgid "gone"
#~ msgstr "parti"

msgctxt "menu"
msgid "%d file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] ""

msgid "no placeholder"
msgstr ""
"""


def test_a_placeholder_put_back_by_guess_makes_the_message_fuzzy():
    document = read(GUESSED)
    assert len(document.segments) == 5
    found = document.render(["Ouvrir", "Fermer", "%d fichier", "fichiers", "rien"]).decode()
    assert found == (
        GUESSED.replace("#, c-format", "#, fuzzy, c-format")
        .replace('msgctxt "menu"', '#, fuzzy\nmsgctxt "menu"')
        .replace('now"\nmsgstr ""', 'now"\nmsgstr "Ouvrir %s"', 1)
        .replace('now"\nmsgstr ""', 'now"\nmsgstr "Fermer %s"')
        .replace('msgstr[0] ""', 'msgstr[0] "%d fichier"')
        .replace('msgstr[1] ""', 'msgstr[1] "fichiers %d"')
        .replace('placeholder"\nmsgstr ""', 'placeholder"\nmsgstr "rien"')
    )
    assert read(found).segments == ()
    windows = read(GUESSED.replace("\n", "\r\n")).render(["Ouvrir", "Fermer", "%d a", "b", "c"]).decode()
    assert windows.count("\r\n") == windows.count("\n") == GUESSED.count("\n") + 1


def test_a_message_that_keeps_its_placeholders_is_not_fuzzy():
    document = read(GUESSED)
    kept = document.render(["%s ouvrir", "fermer %s", "%d fichier", "%d fichiers", "rien"]).decode()
    assert kept.count("fuzzy") == GUESSED.count("fuzzy")
    same = document.render(document.segments).decode()
    assert same.count("fuzzy") == GUESSED.count("fuzzy")
    assert document.find_missing_placeholders(["Ouvrir", "Close %s now", "%d", "x", "y"]) == [
        ["%s"],
        [],
        [],
        ["%d"],
        [],
    ]
