""".resx and .stringsdict."""

import plistlib
import xml.etree.ElementTree as ET

import pytest
from translate.storage.resx import RESXFile
from translate.storage.stringsdict import StringsDictFile

from regard.documents.formats import DocumentOptions, read_document
from regard.errors import DataError
from sample_documents import RESX, STRINGSDICT


def read(name, content):
    return read_document(content.encode(), name, DocumentOptions())


def test_texts_of_a_resx_are_segments_and_designer_data_is_not():
    assert read("x.resx", RESX).segments == (
        "Welcome, {0}! You have {1:N0} new messages since {2:d MMM yyyy}.",
        "Save & close",
        "Closes this & that",
        "The file was not found",
        "Name of the file",
    )
    assert read("x.resw", RESX).segments == read("x.resx", RESX).segments


def test_a_resx_keeps_placeholders_tags_white_space_and_comments():
    document = read("x.resx", RESX)
    texts = ["{0}, {3}: {1:N0} messages nouveaux, {2}", "Fermer & sauver", "Ferme ça", "Pas là", "Nom"]
    written = document.render(texts).decode()
    value = written[written.index("<value>{0}") :].partition("</value>")[0]
    assert "{0},: {1:N0}" in value
    assert "{2:d MMM yyyy}" in value
    assert "&lt;b&gt;messages&lt;/b&gt;" in value
    assert "<value>  Fermer &amp; sauver  </value>" in written
    assert "<value><![CDATA[Ferme <i>ça</i>]]></value>" in written
    assert "<comment>Shown at the start</comment>" in written
    assert len(written.splitlines()) == len(RESX.splitlines())


def test_the_translate_toolkit_reads_the_translations_of_a_resx():
    document = read("x.resx", RESX)
    written = document.render([f"Ω {text}" for text in document.segments])
    before = {unit.getid(): unit.target for unit in RESXFile.parsestring(RESX.encode()).units}
    after = {unit.getid(): unit.target for unit in RESXFile.parsestring(written).units}
    changed = {key for key in before if before[key] != after[key]}
    assert changed == {"Welcome", "button1.Text", "button1.ToolTip", "Error.NotFound", "label.HeaderText"}
    assert all(after[key].replace("Ω ", "") == before[key] for key in changed)


def test_format_strings_and_plural_forms_are_segments():
    assert read("x.stringsdict", STRINGSDICT).segments == (
        "%1$#@files@ in %2$#@folders@",
        "No files",
        "%ld file & more",
        "%ld files",
        "one folder",
        "%lu folders",
        "Copy",
        "Copy the file",
    )


def test_keys_and_format_types_of_a_stringsdict_stay():
    document = read("x.stringsdict", STRINGSDICT)
    written = document.render([f"Ω {text.replace('%', '')}" for text in document.segments])
    before, after = plistlib.loads(STRINGSDICT.encode()), plistlib.loads(written)
    entry = after["%d files in %d folders"]
    assert "%1$#@files@" in entry["NSStringLocalizedFormatKey"]
    assert "%2$#@folders@" in entry["NSStringLocalizedFormatKey"]
    assert "%ld" in entry["files"]["one"]
    assert "&amp; more" in written.decode()
    assert entry["files"]["NSStringFormatSpecTypeKey"] == "NSStringPluralRuleType"
    assert entry["files"]["NSStringFormatValueTypeKey"] == "ld"
    assert after["only"] == before["only"]
    assert {key: list(value) for key, value in before.items()} == {
        key: list(value) for key, value in after.items()
    }


def test_the_translate_toolkit_reads_the_translations_of_a_stringsdict():
    content = STRINGSDICT.replace("<key>width</key>", "<key>w</key>")
    start, end = content.index("    <key>w</key>"), content.index("    <key>only</key>")
    content = content[:start] + content[end:]  # rules that it does not read
    document = read("x.stringsdict", content)
    written = document.render([f"Ω {text}" for text in document.segments])
    texts = [
        text
        for unit in StringsDictFile.parsestring(written).units
        for text in getattr(unit.target, "strings", [unit.target])
    ]
    assert set(map(str, texts)) - {""} == {f"Ω {text}" for text in document.segments}


@pytest.mark.parametrize("name", ["x.resx", "x.resw", "x.stringsdict"])
def test_the_output_is_well_formed(name):
    content = STRINGSDICT if name == "x.stringsdict" else RESX
    document = read(name, content)
    root = ET.fromstring(document.render(["a < b & c ]]> d"] * len(document.segments)))
    assert sum("a < b & c ]]> d".replace(" ", "") in (e.text or "").replace(" ", "") for e in root.iter()) > 2


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.resx", "<resources/>", "x.resx is XML, but not string resources of .NET; its outermost element"),
        ("x.resx", "<root>\n<data></root>", "x.resx line 2 is not well-formed XML: mismatched tag"),
        (
            "x.stringsdict",
            "<dict/>",
            "x.stringsdict is XML, but not a property list; its outermost element must",
        ),
        ("x.stringsdict", "{ a = b; }", "x.stringsdict line 1 is not well-formed XML"),
    ],
)
def test_malformed_resources_are_rejected(name, content, message):
    with pytest.raises(DataError) as error:
        read(name, content)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "placeholder", ["{0, -8}", "{0:d MMM}", "%1$lu", "%,d", "%1$tY", "%#@files@", "%1$#@n@", "%@", "%lld"]
)
def test_a_placeholder_of_a_resource_stays(placeholder):
    document = read("x.resx", f"<root><data name='a'><value>Wait {placeholder} more</value></data></root>")
    written = document.render(["Attends encore un peu"]).decode()
    assert placeholder in written
    assert document.render([f"{placeholder} {placeholder}"]).decode().count(placeholder) == 1
