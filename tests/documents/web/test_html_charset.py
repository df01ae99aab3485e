import pytest

from regard.documents.formats import DocumentOptions, read_document
from regard.errors import DataError


def page(charset, text):
    return f'<meta charset="{charset}"><p>'.encode() + text


@pytest.mark.parametrize("charset", ["iso-8859-1", "ISO8859-1", "latin1", "us-ascii", "ascii"])
def test_a_latin_1_page_is_decoded_as_windows_1252(charset):
    content = page(charset, b"\x93Caf\xe9\x94 \x96 5 \x80")
    document = read_document(content, "x.html", DocumentOptions())
    assert document.segments == ("“Café” – 5 €",)
    assert document.render(document.segments) == content
    assert document.render(["– 漢"]) == page(charset, b"\x96 &#28450;")


def test_a_page_within_its_declared_charset_keeps_it():
    latin = read_document(page("latin1", b"Caf\xe9"), "x.html", DocumentOptions())
    assert latin.render(["“é”"]) == page("latin1", b"&#8220;\xe9&#8221;")
    plain = read_document(page("ascii", b"Cafe"), "x.html", DocumentOptions())
    assert plain.render(["é"]) == page("ascii", b"&#233;")


def test_bytes_undefined_in_windows_1252_keep_the_declared_charset():
    content = page("latin1", b"a \x81 \x93b")
    document = read_document(content, "x.html", DocumentOptions())
    assert document.render(document.segments) == content
    with pytest.raises(DataError, match="is not ASCII"):
        read_document(page("ascii", b"a \x81"), "x.html", DocumentOptions())


def test_latin_1_xml_stays_latin_1():
    unit = '<?xml version="1.0" encoding="iso-8859-1"?><xliff><file><trans-unit><source>a \x93b'
    content = f"{unit}</source></trans-unit></file></xliff>".encode("latin-1")
    assert read_document(content, "x.xlf", DocumentOptions()).segments == ("a \x93b",)
