"""Glossary files of other programs are read as they are."""

import gzip

import pytest

from regard.errors import DataError
from regard.text.glossary import Glossary

ENTRIES = (("station", "gare"), ("train station", "gare ferroviaire"))
TBX_BASIC = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE martif SYSTEM "TBXBasiccoreStructV02.dtd">
<martif type="TBX-Basic" xml:lang="en"><text><body>
  <termEntry id="1">
    <descrip type="definition">where trains <hi>stop</hi></descrip>
    <langSet xml:lang="en-GB"><tig><term>station</term></tig></langSet>
    <langSet xml:lang="fr"><ntig><termGrp><term>ga<hi>re</hi></term></termGrp></ntig></langSet>
    <langSet xml:lang="de"><tig><term>Bahnhof</term></tig></langSet>
  </termEntry>
  <termEntry id="2">
    <langSet xml:lang="en-GB"><tig><term>train
      station</term></tig></langSet>
    <langSet xml:lang="fr"><tig><term>gare ferroviaire</term></tig></langSet>
  </termEntry>
</body></text></martif>"""
TBX_2019 = """<tbx xmlns="urn:iso:std:iso:30042:ed-2" type="TBX-Core" xml:lang="en"><text><body>
  <conceptEntry id="1">
    <langSec xml:lang="en"><termSec><term>station</term></termSec></langSec>
    <langSec xml:lang="fr"><termSec><term>gare</term></termSec></langSec>
  </conceptEntry>
  <conceptEntry id="2">
    <langSec xml:lang="en"><termSec><term>train station</term></termSec></langSec>
    <langSec xml:lang="fr"><termSec><term>gare ferroviaire</term></termSec></langSec>
  </conceptEntry></body></text></tbx>"""


def read(tmp_path, name, text, languages=(None, None)):
    path = tmp_path / name
    path.write_text(text, "utf-8")
    return Glossary.read(path, languages).entries


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.tsv", "station\tgare\n\n train station \t gare ferroviaire \n"),
        ("a.tsv", "\ufeffstation\tgare\tnoun\ntrain station\tgare ferroviaire\n"),
        ("a.txt", "source\ttarget\tnotes\nstation\tgare\t\ntrain station\tgare ferroviaire\tx\n"),
        ("deepl.csv", "station,gare,EN,FR\ntrain station,gare ferroviaire,EN,FR\n"),
        ("deepl.csv", '"station","gare"\r\n"train station","gare ferroviaire"\r\n'),
        ("excel.csv", "\ufeffen;fr\nstation;gare\ntrain station;gare ferroviaire\n"),
        (
            "weblate.csv",
            '"location","source","target","id","fuzzy","context"\n'
            '"","station","gare","","False","noun, ""place"""\n'
            '"","train station","gare ferroviaire","","False","two\nlines"\n',
        ),
        ("a.csv", "note,fr-FR,en_GB\nn,gare,station\n,gare ferroviaire,train station\n"),
        ("a.csv", "Source Term,Target Term\nstation,gare\ntrain station,gare ferroviaire\n"),
        ("basic.tbx", TBX_BASIC),
        ("core.tbx", TBX_2019),
        ("core.xml", TBX_2019),
    ],
)
def test_a_glossary_file_is_read(tmp_path, name, text):
    languages = ("en", "fr") if "fr-FR" in text or "Bahnhof" in text else (None, None)
    assert read(tmp_path, name, text, languages) == ENTRIES


def test_a_compressed_glossary_is_read(tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"station,gare\n"))
    assert Glossary.read(tmp_path / "a.csv.gz").entries == ENTRIES[:1]


def test_languages_choose_columns_and_may_be_reversed(tmp_path):
    text = "en,de,fr\nstation,Bahnhof,gare\n"
    assert read(tmp_path, "a.csv", text, ("fr", "de")) == (("gare", "Bahnhof"),)
    assert read(tmp_path, "a.tbx", TBX_2019, ("fr", None)) == tuple((b, a) for a, b in ENTRIES)


@pytest.mark.parametrize(("first", "languages"), [("it,es", ("en", "de")), ("cat,Hut", (None, None))])
def test_short_words_in_the_first_line_are_no_header(tmp_path, first, languages):
    assert read(tmp_path, "a.csv", f"{first}\na,b\n", languages) == (tuple(first.split(",")), ("a", "b"))


def test_every_synonym_of_a_term_base_is_an_entry(tmp_path):
    more = TBX_2019.replace("<term>gare</term>", "<term>gare</term></termSec><termSec><term>station</term>")
    assert read(tmp_path, "a.tbx", more)[:2] == (("station", "gare"), ("station", "station"))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.tsv", "a\tb\nstation\n", "line 2 is no glossary entry; write the source phrase, a tab and its"),
        ("a.tsv", "a\tb\nstation\t\n", "line 2 is no glossary entry; write the source phrase and its"),
        ("a.tsv", "a\tb\n\tgare\n", "line 2 is no glossary entry"),
        ("a.csv", "a,b\n\nstation\n", "line 3 is no glossary entry"),
        ("a.csv", 'a,b\nx,"y\nz",\n"open,c\n', "line 4 is not CSV"),
        ("a.csv", "en,de,fr\na,b,c\n", "has terms in en, de, fr; choose two with --source-language and"),
        ("a.tbx", TBX_BASIC, "has terms in en-gb, fr, de; choose two with --source-language and"),
        ("a.tbx", TBX_2019.replace("</tbx>", ""), "line 9 is not well-formed XML"),
        ("a.tbx", "<x/>", "is no term base with two languages"),
        ("a.tbx", '<!DOCTYPE x [<!ENTITY y "z">]>\n' + TBX_2019, "line 1 declares an entity"),
        ("a.tbx", TBX_2019.replace(' xml:lang="fr"', "", 1), "line 4 has a langSec without its language"),
    ],
)
def test_the_error_names_the_file_and_the_line(tmp_path, name, text, message):
    with pytest.raises(DataError, match=rf"{name} {message}"):
        read(tmp_path, name, text)


def test_a_language_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"a.tbx has no terms in it; it has en, fr"):
        read(tmp_path, "a.tbx", TBX_2019, ("en", "it"))
