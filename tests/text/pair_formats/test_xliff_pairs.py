import pytest

from regard.errors import DataError
from regard.text.pair_formats.pair_files import PairFiles
from regard.text.pair_formats.units import PairOptions

NO_OPTIONS = PairOptions()


def xliff_1(units, source="en", target="fr"):
    return (
        '<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2">'
        f'<file source-language="{source}" target-language="{target}"><body>{units}</body></file></xliff>'
    )


def xliff_2(units):
    return (
        '<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en" trgLang="fr">'
        f'<file id="f"><unit id="u">{units}</unit></file></xliff>'
    )


@pytest.fixture
def units(tmp_path):
    """Return a function that reads the units of a file."""

    def read(content, options=NO_OPTIONS):
        path = tmp_path / "a.xliff"
        path.write_text(content, encoding="utf-8")
        return list(PairFiles(path, None, options).read_units())

    return read


def outcomes(units):
    return [unit.skipped or unit.row for unit in units]


@pytest.mark.parametrize(
    ("unit", "outcome"),
    [
        ("<trans-unit><source>a</source><target>b</target></trans-unit>", (b"a", b"b")),
        ("<trans-unit><source>a</source></trans-unit>", "untranslated"),
        ("<trans-unit><source>a</source><target/></trans-unit>", "untranslated"),
        ('<trans-unit><source>a</source><target state="new">a</target></trans-unit>', "untranslated"),
        (
            '<trans-unit><source>a</source><target state="needs-review-translation">b</target></trans-unit>',
            "fuzzy",
        ),
        ('<trans-unit><source>a</source><target state="final">b</target></trans-unit>', (b"a", b"b")),
        ('<trans-unit translate="no"><source>a</source><target>a</target></trans-unit>', "untranslated"),
        (
            '<group translate="no"><trans-unit><source>a</source><target>a</target></trans-unit></group>',
            "untranslated",
        ),
        (
            "<trans-unit><source>a</source><seg-source><mrk>x</mrk></seg-source><target>b</target>"
            "<alt-trans><source>c</source><target>d</target></alt-trans></trans-unit>",
            (b"a", b"b"),
        ),
        (
            '<trans-unit><source>Say <g id="1">hello</g><x id="2" ctype="lb"/>to <bpt id="3">[b]</bpt><mrk '
            'mtype="term">me</mrk><ept id="3">[/b]</ept></source><target>b</target></trans-unit>',
            (b"Say hello to me", b"b"),
        ),
    ],
)
def test_units_of_xliff_1_2(units, unit, outcome):
    assert outcomes(units(xliff_1(unit))) == [outcome]


@pytest.mark.parametrize(
    ("segment", "outcome"),
    [
        ("<segment><source>a</source><target>b</target></segment>", (b"a", b"b")),
        ("<segment><source>a</source></segment>", "untranslated"),
        ('<segment state="initial"><source>a</source><target>a</target></segment>', "untranslated"),
        (
            '<segment state="initial" subState="regard:placeholder-guessed"><source>a</source>'
            "<target>b</target></segment>",
            "fuzzy",
        ),
        ('<segment state="translated"><source>a</source><target>b</target></segment>', (b"a", b"b")),
        (
            '<segment><source><pc id="1">Say</pc> <ph id="2"/>hi<sc id="3"/></source><target>b</target>'
            "</segment>",
            (b"Say hi", b"b"),
        ),
    ],
)
def test_segments_of_xliff_2(units, segment, outcome):
    others = (
        '<ignorable><source> </source></ignorable><mtc:matches xmlns:mtc="m"><mtc:match><source>c</source>'
    )
    matches = f"{others}<target>d</target></mtc:match></mtc:matches>"
    assert outcomes(units(xliff_2(matches + segment))) == [outcome]


def test_the_languages_of_the_file_decide_the_direction(units):
    unit = "<trans-unit><source>a</source><target>b</target></trans-unit>"
    for options, row in (
        (NO_OPTIONS, (b"a", b"b")),
        (PairOptions("en", "fr"), (b"a", b"b")),
        (PairOptions("fr", "en"), (b"b", b"a")),
        (PairOptions(target_language="en"), (b"b", b"a")),
    ):
        assert outcomes(units(xliff_1(unit, "en-US"), options)) == [row]
    with pytest.raises(
        DataError, match=r"line 1 translates en into fr, which does not go with --target-language es"
    ):
        units(xliff_1(unit), PairOptions(target_language="es"))


def test_files_in_several_languages_are_refused(units):
    unit = "<trans-unit><source>a</source><target>b</target></trans-unit>"
    first, second = (xliff_1(unit, "en", each) for each in ("fr", "de"))
    both = first.replace("</xliff>", "\n") + second[second.index("<file") :]
    with pytest.raises(
        DataError, match=r"line 2 begins a file in other languages \(en to de, not en to fr\)"
    ):
        units(both)


def test_the_languages_are_found_without_reading_the_units(tmp_path):
    (tmp_path / "a.xlf").write_text(xliff_2("<segment><source>a</source></segment>"))
    assert PairFiles(tmp_path / "a.xlf").find_languages() == ("en", "fr")
    assert PairFiles(tmp_path / "a.xlf", None, PairOptions("en-GB")).find_languages() == ("en-GB", "fr")


def test_another_kind_of_xml_is_refused(units):
    with pytest.raises(DataError, match="is XML, but not XLIFF; its outermost element must be <xliff>"):
        units("<a/>")
