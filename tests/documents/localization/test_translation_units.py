"""TMX and XLIFF."""

import io
import xml.etree.ElementTree as ET

import pytest

from regard.documents.formats import DocumentOptions, read_document
from regard.errors import DataError
from sample_documents import TMX, XLIFF, XLIFF2

CASES = [("x.tmx", TMX), ("x.xlf", XLIFF), ("x.xliff", XLIFF2)]


def read(name, content, **reading):
    content = content if isinstance(content, bytes) else content.encode()
    return read_document(content, name, DocumentOptions(**reading))


def upper(name, content, **reading):
    document = read(name, content, **reading)
    return document.render([text.upper() for text in document.segments]).decode()


def test_units_without_a_target_are_translated():
    assert read("x.xlf", XLIFF).segments == (
        *("It's a big house!", "Two", "Three", "Some bold & text", "See Foo Bar now"),
    )
    assert read("x.xlf", XLIFF2).segments == ("Click here twice",)
    assert read("x.tmx", TMX).segments == ("Press the red button & wait", "Two", "Line , 你好 🙂 مرحبا")


def test_targets_have_the_tags_of_their_sources():
    written = upper("x.xlf", XLIFF)
    for target in (
        '\r\n        <target>IT&apos;S <g id="1">A <x id="2"/> BIG <g id="3">HOUSE</g></g>&#33;</target>\r\n',
        '<target state="new">TWO</target>',
        '<target xml:lang="fr">THREE</target><note>',
        "<target>Quatre</target>",
        "</source><target><![CDATA[SOME <b>BOLD</b> & TEXT]]></target>",
        '</seg-source><target>SEE <mrk mtype="protected">Foo Bar</mrk> NOW</target>',
    ):
        assert target in written
    assert '\n   <target>CLICK <pc id="1">HERE <ph id="2"/></pc> TWICE</target>\n' in upper("x.xlf", XLIFF2)


def test_a_tmx_variant_is_formatted_like_the_source():
    written = upper("x.tmx", TMX)
    assert (
        '\n      <tuv xml:lang="fr">\n        <seg>PRESS <bpt i="1">&lt;b></bpt>THE <hi>RED</hi> BUTTON'
        '<ept i="1">&lt;/b></ept> &amp; WAIT</seg>\n      </tuv>\n    </tu>'
    ) in written
    assert '<tuv xml:lang="fr"><seg>TWO</seg></tuv>' in written


@pytest.mark.parametrize(("name", "content"), CASES)
def test_the_output_is_well_formed_and_keeps_all_elements(name, content):
    content = content.removeprefix("\ufeff")
    document = read(name, content)
    written = document.render(["a < b & c ]]> d"] * len(document.segments))

    def rest(root):
        return [
            (element.tag, element.attrib, element.text)
            for element in root.iter()
            if element.tag.rpartition("}")[2]
            in ("source", "note", "prop", "header", "unit", "trans-unit", "tu")
        ]

    assert rest(ET.fromstring(written)) == rest(ET.fromstring(content.encode()))
    texts = ["".join(element.itertext()) for element in ET.fromstring(written).iter()]
    assert sum("a < b & c ]]> d".replace(" ", "") in text.replace(" ", "") for text in texts) > 0


def test_the_tmx_target_language_is_inferred_or_required():
    alone = '<tmx><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>Hi</seg></tuv></tu></body></tmx>'
    with pytest.raises(
        DataError, match="x.tmx has no language besides the source's; choose one with --target-language"
    ):
        read("x.tmx", alone)
    assert '<tuv xml:lang="pt-BR"><seg>HI</seg></tuv>' in upper("x.tmx", alone, target_language="pt-BR")
    with pytest.raises(DataError, match="is not a language code"):
        read("x.tmx", alone, target_language='"><x')
    several = TMX.replace("<tu><tuv", '<tu><tuv xml:lang="de"><seg>x</seg></tuv><tuv')
    with pytest.raises(DataError, match="x.tmx has the languages de, fr besides the source's"):
        read("x.tmx", several)


def memory(srclang, *units):
    """A translation memory; a unit is the languages of its texts, which say "Hi"."""
    body = "".join(
        "<tu>" + "".join(f'<tuv xml:lang="{lang}"><seg>Hi</seg></tuv>' for lang in unit.split()) + "</tu>"
        for unit in units
    )
    return f'<tmx><header srclang="{srclang}"/><body>{body}</body></tmx>'


def test_a_regional_variant_of_the_source_language_is_accepted():
    new = '<tuv xml:lang="en-US"><seg>Hi</seg></tuv><tuv xml:lang="fr"><seg>HI</seg></tuv>'
    assert new in upper("x.tmx", memory("en-GB", "en-US", "de en-US"), target_language="fr")
    assert new in upper("x.tmx", memory("en_GB", "en-US"), target_language="fr")
    assert read("x.tmx", memory("en-GB", "en-US fr", "en-US")).segments == ("Hi",)
    both = memory("pt-BR", "pt-BR", "pt-PT")
    assert upper("x.tmx", both, target_language="pt-PT").count("HI") == 1


def test_a_tmx_without_its_source_language_is_rejected():
    expected = r"x.tmx has no text in its declared source language \(srclang\), en-GB; it has de, fr$"
    for language in ("fr", None):
        with pytest.raises(DataError, match=expected):
            read("x.tmx", memory("en-GB", "de", "fr de"), target_language=language)
    with pytest.raises(DataError, match="it has texts without a language"):
        read("x.tmx", memory("en", "de").replace(' xml:lang="de"', ""), target_language="fr")
    assert read("x.tmx", memory("en"), target_language="fr").segments == ()


def unit(source, rest=""):
    return f"<xliff><trans-unit><source>{source}</source>{rest}</trans-unit></xliff>"


@pytest.mark.parametrize(
    "target", ['<mrk mtype="seg" mid="1"/>', "<!-- to do -->", "<g><x/></g>", "<![CDATA[ ]]>", "&#160;"]
)
def test_a_target_with_only_markup_counts_as_empty(target):
    assert "<target>HI</target>" in upper("x.xlf", unit("Hi", f"<target>{target}</target>"))
    done = unit("Hi", f"<target>{target}!</target>") if target[1] != "!" else unit("Hi", "<target>-</target>")
    assert read("x.xlf", done).segments == ()


def test_sentence_marks_of_a_target_are_kept():
    first, second = '<mrk mtype="seg" mid="1">', '<mrk mtype="seg" mid="2">'
    cut = f"<seg-source>{first}One.</mrk> {second}Two.</mrk></seg-source>"
    written = upper("x.xlf", unit("One. Two.", f"{cut}<target>{first}</mrk>{second}</mrk></target>"))
    assert f"<target>{first}ONE.</mrk> {second}TWO.</mrk></target>" in written
    other = cut.replace("Two", "Three")
    written = upper("x.xlf", unit("One. Two.", f"{other}<target>{first}</mrk></target>"))
    assert "<target>ONE. TWO.</target>" in written


def text_of(written):
    return " ".join("".join(ET.fromstring(written).find(".//target").itertext()).split())


@pytest.mark.parametrize(
    "source",
    [
        "Salt &amp; pepper <![CDATA[bread & <b>butter</b>]]> x &lt; y",
        "<![CDATA[Salt & pepper]]> bread <![CDATA[& butter x < y]]>",
        "<!-- <![CDATA[ -->Salt &amp; pepper <!-- <![CDATA[ -->bread &amp; <![CDATA[butter]]> x &lt; y",
    ],
)
def test_text_is_escaped_correctly_inside_and_outside_cdata(source):
    document = read("x.xlf", unit(source))
    assert document.segments == ("Salt & pepper bread & butter x < y",)
    for output in ("SALT & PEPPER BREAD & BUTTER X < Y", "a & b & c & d & e & f & g & h", "&"):
        written = document.render([output])
        assert text_of(written).replace("<b>", "").replace("</b>", "") == output
    assert upper("x.xlf", unit(source)).count("CDATA") == 2 * source.count("CDATA")
    same = f"</source><target>{source}</target>"
    assert same in document.render(document.segments).decode()


@pytest.mark.parametrize(
    "source", ["<![CDATA[See {}]]> in Paris or Rome", "In Paris or Rome <![CDATA[see]]> {}"]
)
def test_a_url_is_re_escaped_when_it_crosses_a_cdata_boundary(source):
    address = "https://a.org/?b=1&c=2"
    spelled = address if source.startswith("<") else address.replace("&", "&amp;")
    document = read("x.xlf", unit(source.format(spelled)))
    for output in (f"Paris Rome {address}", f"{address} Paris Rome", f"A {address} Paris Rome", "Paris"):
        assert address in text_of(document.render([output]))


def test_urls_in_xml_are_unchanged():
    source = "See https://example.org/?a=1&amp;b=2 and write to tom@example.org"
    output = "Voyez https://exemple.org et écrivez à Thomas"
    for name, content in (("x.xlf", unit(source)), ("x.tmx", memory("en", "en").replace("Hi", source))):
        written = read(name, content, target_language="fr").render([output]).decode()
        assert written.count("https://example.org/?a=1&amp;b=2") == 2
        assert written.count("tom@example.org") == 2


@pytest.mark.parametrize("charset", ["UTF-16", "ISO-8859-1"])
def test_the_xml_charset_is_kept(charset):
    text = XLIFF2.replace("Click", "Été")
    content = f'<?xml version="1.0" encoding="{charset}"?>\n{text}'.encode(charset)
    document = read("x.xlf", content)
    assert document.segments == ("Été here twice",)
    written = document.render(["été 漢字"])
    assert written.decode(charset).startswith('<?xml version="1.0"')
    assert "été漢字" in "".join("".join(ET.fromstring(written).itertext()).split())


BOMB = '<!DOCTYPE xliff [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY {chr(98 + k)} "{f"&{chr(97 + k)};" * 10}">' for k in range(9)
)


@pytest.mark.parametrize(
    "doctype",
    [
        BOMB + "]>",
        '<!DOCTYPE xliff [<!ENTITY j SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE xliff [<!ENTITY % j SYSTEM "http://127.0.0.1:1/x"> %j;]>',
    ],
)
def test_entity_declarations_are_rejected(doctype):
    content = XLIFF2.replace("Click", "&j;")
    with pytest.raises(DataError, match="x.xlf line 1 declares an entity"):
        read("x.xlf", doctype + content)


def test_an_external_dtd_is_not_fetched():
    doctype = '<!DOCTYPE xliff SYSTEM "http://127.0.0.1:1/xliff.dtd">'
    document = read("x.xlf", doctype + XLIFF2.replace("Click", "Click &company;"))
    assert document.segments == ("Click here twice",)
    assert b"PRESS &company; " in document.render(["PRESS HERE TWICE"])


def test_deep_nesting_and_unusual_order_are_parsed():
    deep = XLIFF2.replace("Click", "<pc>" * 5_000 + "Click" + "</pc>" * 5_000)
    document = read("x.xlf", deep)
    assert document.render(["A"]).count(b"<pc") == 2 * 5_001
    strange = "<xliff><segment><source>a<source>b</source></source><target/></segment></xliff>"
    assert len(read("x.xlf", strange).segments) == 1


@pytest.mark.parametrize(("name", "content"), CASES[:2])
def test_the_translate_toolkit_parses_the_output(name, content):
    factory = pytest.importorskip("translate.storage.factory")

    def units(content):
        file = io.BytesIO(content)
        file.name = name
        store = factory.getobject(file)
        return [(str(unit.source), str(unit.target or "")) for unit in store.units if unit.source]

    document = read(name, content)
    written = document.render([text.upper() for text in document.segments])
    before, after = units(content.encode()), units(written)
    assert [source for source, _ in after] == [source for source, _ in before]
    assert len(set(after) - set(before)) >= min(len(document.segments), 1)


def test_xliff_keeps_placeholders_and_marks_those_put_back_by_guess():
    content = (
        "<xliff><file><trans-unit><source>Open {name} &amp; wait</source></trans-unit>"
        "<trans-unit><source>Close %1$s</source><target state='new' /></trans-unit>"
        '<trans-unit><source>Stop at %d</source><target state="new">x</target></trans-unit>'
        "<trans-unit><source>Say 5 %</source></trans-unit></file></xliff>"
    )
    document = read("x.xlf", content.encode())
    assert document.segments == ("Open {name} & wait", "Close %1$s", "Stop at %d", "Say 5 %")
    guessed = document.render(["Ouvrir", "Fermer", "Halte", "Dis"]).decode()
    assert guessed == (
        content.replace(
            "wait</source>", 'wait</source><target state="needs-review-translation">Ouvrir {name}</target>'
        )
        .replace("<target state='new' />", "<target state='needs-review-translation'>Fermer %1$s</target>")
        .replace('<target state="new">x<', '<target state="needs-review-translation">Halte %d<')
        .replace("5 %</source>", "5 %</source><target>Dis</target>")
    )
    assert read("x.xlf", guessed.encode()).segments == ()
    kept = document.render(["{name} ouvrir {x}", "%1$s fermer", "Stop at %d", "Dis"]).decode()
    assert "needs-review" not in kept
    assert "<target>{name} ouvrir</target>" in kept
    assert "<target state='new'>%1$s fermer</target>" in kept


def test_a_guess_in_xliff_2_marks_the_segment_once():
    content = (
        '<xliff version="2.0"><file><unit><segment id="a"><source>Open {name}</source></segment>'
        '<segment state="translated" ><source>Close {0}</source><target/></segment></unit></file></xliff>'
    )
    document = read("x.xlf", content.encode())
    mark = 'state="initial" subState="regard:placeholder-guessed"'
    guessed = document.render(["Ouvrir", "Fermer"]).decode()
    assert f'<segment id="a" {mark}><source>' in guessed
    assert f"<segment {mark} ><source>" in guessed
    assert "<target>Ouvrir {name}</target>" in guessed
    assert read("x.xlf", guessed.encode()).segments == ()
    assert "initial" not in document.render(["{name} ouvrir", "{0} fermer"]).decode()
    assert "initial" not in document.render(document.segments).decode()


def test_the_target_language_of_an_xliff_is_declared_where_it_is_missing():
    old = (
        '<xliff version="1.2"><file source-language="en" original="a"/>'
        "<file target-language=''><trans-unit><source>One</source></trans-unit></file>"
        '<x:file xmlns:x="y" target-language="pt-BR"/></xliff>'
    )
    document = read("x.xlf", old.encode(), target_language="pt")
    assert document.render(document.segments).decode() == (
        '<xliff version="1.2"><file source-language="en" original="a" target-language="pt"/>'
        "<file target-language='pt'><trans-unit><source>One</source><target>One</target></trans-unit></file>"
        '<x:file xmlns:x="y" target-language="pt-BR"/></xliff>'
    )
    new = '<xliff version="2.0" srcLang="en" ><file id="f"/></xliff>'
    assert read("x.xlf", new.encode(), target_language="fr").render([]).decode() == (
        '<xliff version="2.0" srcLang="en" trgLang="fr" ><file id="f"/></xliff>'
    )
    assert read("x.xlf", new.encode()).render([]).decode() == new
    with pytest.raises(
        DataError, match="x.xlf is for translations into pt-BR, not fr; leave out --target-lang"
    ):
        read("x.xlf", old.encode(), target_language="fr")
