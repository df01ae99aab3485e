import pytest

from regard.errors import DataError
from regard.text.pair_formats.pair_files import PairFiles
from regard.text.pair_formats.units import PairOptions
from regard.text.xml_parser import MAX_DEPTH, MAX_TOKEN_BYTES

EN_FR = PairOptions("en", "fr")


def variant(language, text):
    return f'<tuv xml:lang="{language}"><seg>{text}</seg></tuv>'


def tmx(*units, head=""):
    body = "".join(f"\n<tu>{''.join(variant(*each) for each in unit)}</tu>" for unit in units)
    return f'{head}<tmx version="1.4"><header srclang="en"/><body>{body}</body></tmx>'


@pytest.fixture
def units(tmp_path):
    """Return a function that reads the units of a memory."""

    def read(content, options=EN_FR):
        path = tmp_path / "a.tmx"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return list(PairFiles(path, None, options).read_units())

    return read


@pytest.fixture
def error(units, tmp_path):
    def read(content, options=EN_FR):
        with pytest.raises(DataError) as caught:
            units(content, options)
        return str(caught.value).replace(str(tmp_path / "a.tmx"), "a.tmx")

    return read


def test_units_are_numbered_and_incomplete_ones_skipped(units):
    found = units(
        tmx(
            [("en", "cat"), ("fr", "chat")],
            [("en", "dog")],
            [("fr", "souris"), ("de", "Maus"), ("en", "mouse")],
            [("en", "cow"), ("fr", " \n")],
            [("de", "Huhn"), ("es", "gallina")],
        )
    )
    assert [(unit.number, unit.line, unit.row, unit.skipped) for unit in found] == [
        (1, 2, (b"cat", b"chat"), None),
        (2, 3, (None, None), "untranslated"),
        (3, 4, (b"mouse", b"souris"), None),
        (4, 5, (None, None), "untranslated"),
        (5, 7, (None, None), "untranslated"),
    ]


def test_inline_codes_are_left_out_and_other_tags_lose_themselves(units):
    source = (
        'Press <bpt i="1">&lt;b&gt;</bpt><hi type="x">OK &amp; go</hi><ept i="1">&lt;/b&gt;</ept>, '
        'n<ph x="1">%s<sub>hint</sub></ph>ow<it pos="begin">x</it><!-- c -->: a<ph type="lb"/>b '
        "<![CDATA[1 < 2]]>"
    )
    assert units(tmx([("en", source), ("fr", "x")]))[0].row[0] == b"Press OK & go, now: a b 1 < 2"


@pytest.mark.parametrize(
    ("options", "row"),
    [
        (PairOptions("en", "fr"), (b"a", b"b")),
        (PairOptions("fr", "en"), (b"b", b"a")),
        (PairOptions("en-US", "fr"), (b"a", b"b")),
        (PairOptions("en-us", "fr-FR"), (b"a", b"b")),
        (PairOptions(source_language="fr"), (b"b", b"a")),
        (PairOptions(target_language="fr"), (b"a", b"b")),
    ],
)
def test_languages_choose_the_sides(units, options, row):
    assert units(tmx([("en-US", "a"), ("fr", "b")]), options)[0].row == row


def test_an_exact_language_goes_before_another_country(units):
    content = tmx([("en-GB", "lorry"), ("en", "truck"), ("fr", "camion")])
    assert units(content)[0].row == (b"truck", b"camion")
    assert units(content, PairOptions("en-gb", "fr"))[0].row == (b"lorry", b"camion")


def test_an_unclear_direction_is_asked_for(error):
    two, three = [("en", "a"), ("fr", "b")], [("de", "c"), ("en", "a"), ("fr", "b")]
    assert error(tmx(two), PairOptions()) == (
        "a.tmx has texts in en and fr; say which are translated into which, as in --source-language en "
        "--target-language fr, or the reverse"
    )
    asked = "a.tmx has texts in de, en and fr; say which are translated into which, as in --source-language"
    assert error(tmx(three), PairOptions()) == f"{asked} de --target-language en"
    assert error(tmx(three), PairOptions("fr")) == f"{asked} fr --target-language de"
    assert error(tmx(two, [("en", "a"), ("de", "b")]), PairOptions("en")).startswith(
        "a.tmx has texts in en, fr and de; say which"
    )
    assert error(tmx(two), PairOptions("en", "es")) == "a.tmx has no text in es; it has en and fr"
    assert error(tmx([("en", "a")]), PairOptions("en")) == (
        "a.tmx has text in en alone; there must be two languages"
    )
    assert error(tmx(), EN_FR) == "a.tmx does not name its languages; there must be two"


@pytest.mark.parametrize(
    ("charset", "codec"),
    [
        ("ISO-8859-1", "latin-1"),
        ("windows-1252", "cp1252"),
        ("UTF-16", "utf-16"),
        ("utf-8", "utf-8-sig"),
        ("Shift_JIS", "shift_jis"),
    ],
)
def test_the_declared_encoding_is_obeyed(units, charset, codec):
    text = "猫" * 3000 if codec == "shift_jis" else "é" * 3000
    content = tmx([("en", "a"), ("fr", text)], head=f'<?xml version="1.0" encoding="{charset}"?>\n')
    assert units(content.encode(codec))[0].row == (b"a", text.encode())


def test_wrong_and_unknown_encodings_are_errors(error):
    content = tmx([("en", "a"), ("fr", "é")])
    assert error(content.encode("latin-1")) == "a.tmx is not UTF-8 soon after line 1; convert it to UTF-8"
    head = '<?xml version="1.0" encoding="rot13"?>'
    assert error(tmx(head=head)) == "a.tmx is in charset 'rot13'; convert it to UTF-8"


def test_entities_are_refused_and_a_dtd_is_not_read(units, error, tmp_path):
    (tmp_path / "tmx14.dtd").write_text('<!ENTITY nbsp "x">')
    pair = [("en", "a&#233;"), ("fr", "b")]
    assert units(tmx(pair, head='<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n'))[0].row == ("aé".encode(), b"b")
    bomb = '<!DOCTYPE tmx [\n<!ENTITY a "aaaa">\n<!ENTITY b "&a;&a;">]>'
    assert (
        error(tmx(pair, head=bomb)) == "a.tmx line 2 declares an entity; write the text itself in its place"
    )
    outside = '<!DOCTYPE tmx [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
    assert "declares an entity" in error(tmx([("en", "&a;"), ("fr", "b")], head=outside))
    undefined = tmx([("en", "&nbsp;"), ("fr", "b")], head='<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n')
    assert "has &nbsp;, which the file does not define" in error(undefined)


def test_hostile_documents_are_refused(error, monkeypatch):
    assert "nests more than 1,000 elements" in error("<tmx>" + "<x>" * MAX_DEPTH)
    assert "has a tag or comment of more than 1 MiB" in error(b"<tmx><!--" + b"x" * (MAX_TOKEN_BYTES + 2**17))
    monkeypatch.setattr("regard.text.pair_formats.xml_segments.MAX_CORPUS_LINE_BYTES", 2**20)
    assert "has a segment of over 1 MiB" in error(tmx([("en", "a" * (2**20 + 1)), ("fr", "b")]))
    assert "line 2 is not well-formed XML" in error(tmx([("en", "<a>"), ("fr", "b")]))
    assert error("<a/>") == "a.tmx is XML, but not TMX; its outermost element must be <tmx>"
    assert "no element found" in error("<tmx><body>")


def test_elements_in_odd_places_do_not_confuse_the_units(units):
    odd = (
        '<tmx><body><tu><note>n<seg>x</seg></note><tuv xml:lang="en"><prop>p</prop><seg>a<seg>b</seg>c</seg>'
        "</tuv>"
        '<tuv lang="fr"><seg/></tuv></tu><seg>y</seg>'
        '<t:tu xmlns:t="u"><t:tuv xml:lang="fr"><t:seg>d</t:seg></t:tuv>'
        '<t:tuv xml:lang="en"><t:seg>e</t:seg></t:tuv></t:tu></body></tmx>'
    )
    assert [(unit.row, unit.skipped) for unit in units(odd)] == [
        ((None, None), "untranslated"),
        ((b"e", b"d"), None),
    ]
