import warnings
import xml.etree.ElementTree as ET

import pytest
from translate.storage.aresource import AndroidResourceFile

from regard.documents.formats import DocumentOptions, read_document
from regard.errors import DataError
from sample_documents import ANDROID


def read(content):
    return read_document(content.encode(), "strings.xml", DocumentOptions())


def resources(*strings):
    elements = (f'<string name="s{k}">{text}</string>' for k, text in enumerate(strings))
    return f"<resources>{''.join(elements)}</resources>"


def write(source, translation):
    document = read(resources(source))
    assert len(document.segments) == 1
    written = document.render([translation]).decode()
    assert read(written).segments == (translation,)
    return written.removeprefix('<resources><string name="s0">').removesuffix("</string></resources>")


def test_strings_arrays_and_plural_forms_are_segments():
    assert read(ANDROID).segments == (
        'Hello, %1$s! It\'s a "new" day Enjoy it',
        "It's fine",
        "%1$s of %2$d files & dirs",
        "Read the manual first…",
        "Don't panic & rest",
        "@home or away? 100%% sure",
        "A typed item",
        "Monday",
        "%d song found",
        "%d songs found",
    )


def test_untranslatable_strings_references_and_other_resources_stay():
    document = read(ANDROID)
    written = document.render(["X"] * len(document.segments)).decode()
    for line in ANDROID.splitlines():
        if any(
            sign in line for sign in ('"false"', "@string/", "?attr/", "<color", "<style", "<!--", "array")
        ):
            assert line.partition("<!--")[2] in written
    for kept in (
        '<string name="app_name" translatable="false">Notes</string>',
        "<item>@string/greeting</item>",
    ):
        assert kept in written


@pytest.mark.parametrize(
    ("source", "translation", "written"),
    [
        ("Open", 'L\'écran "x"', r"L\'écran \"x\""),
        ("Open", "a\\b", r"a\\b"),
        ("Open", "@home", r"\@home"),
        ("Open", "? or ?", r"\? or ?"),
        ("Open %s", "%s ? & <b", r"%s ? &amp; &lt;b"),
        ('"Open  it"', "L'a", '"L\\\'a"'),
        ("Line one\\nline two", "Uno dos\\tres", "Uno\\ndos\\\\tres"),
        ("A &lt;b>bold&lt;/b> word", "Un mot gras", "Un &lt;b>mot&lt;/b> gras"),
        ("Wait\\u2026 now", "Bien… oui…", "Bien\\u2026 oui\\u2026"),
        ("<![CDATA[A <b>word</b>]]>", "L'a & c", "<![CDATA[L\\'a & <b>c</b>]]>"),
        ("\\@me", "@moi", "\\@moi"),
        ("It&apos;s", "C'est", "C\\&apos;est"),
        ("50%% of %1$s: %2$.1f", "%1$s 50%%: %2$.1f", "%1$s 50%%: %2$.1f"),
    ],
)
def test_a_translation_has_the_escapes_of_android(source, translation, written):
    assert write(source, translation) == written


def test_placeholders_and_xliff_tags_stay_and_others_are_dropped():
    document = read(resources('Hi <xliff:g xmlns:xliff="u" id="n">%1$s</xliff:g>, %2$dth of {n}', "50 pages"))
    written = document.render(["%1$s %3$s: {n} %2$d", "50 %s pages"]).decode()
    assert '<xliff:g xmlns:xliff="u" id="n">%1$s</xliff:g>' in written
    assert "%3$s" not in written
    assert "{n}" in written
    assert ">50 pages<" in written


def test_the_translate_toolkit_reads_the_same_strings_and_the_translations():
    marked = [f"Ω{k}Ω" for k in range(len(read(ANDROID).segments))]
    source = read(ANDROID)
    written = source.render([f"{mark} {text}" for mark, text in zip(marked, source.segments, strict=True)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = _toolkit_texts(ANDROID.encode())
        after = _toolkit_texts(written)
    translated = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    assert len(translated) == len(marked) - 2  # it does not read arrays and typed items
    for old, new in translated:
        mark = next(mark for mark in marked if mark in new)
        assert "".join(new.replace(mark, "").split()) == "".join(old.split())


def _toolkit_texts(content):
    units = AndroidResourceFile.parsestring(content).units
    return [text for unit in units for text in getattr(unit.target, "strings", [unit.target or ""])]


def test_the_output_is_well_formed_with_the_same_elements():
    document = read(ANDROID)
    written = document.render(["a < b & 'c' ]]> d"] * len(document.segments))
    before, after = ET.fromstring(ANDROID.encode()), ET.fromstring(written)
    assert [(e.tag, e.attrib) for e in before.iter()] == [(e.tag, e.attrib) for e in after.iter()]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "<manifest><application/></manifest>",
            "strings.xml has the root element <manifest>; of .xml, Android",
        ),
        ("<a:svg xmlns:a='u'/>", "strings.xml has the root element <a:svg>"),
        ("<resources>\n<string>a</resources>", "strings.xml line 2 is not well-formed XML: mismatched tag"),
        ('<!DOCTYPE r [\n<!ENTITY a "b">]>\n<resources/>', "strings.xml line 2 declares an entity"),
    ],
)
def test_other_xml_is_rejected(content, message):
    with pytest.raises(DataError) as error:
        read(content)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)
