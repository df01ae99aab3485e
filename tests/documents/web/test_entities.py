import pytest

from regard.documents.formats import DocumentOptions, read_document
from regard.documents.web.entities import HTML_ATTRIBUTE_ENTITY, unescape_entities


def read(content):
    return read_document(content.encode(), "x.html", DocumentOptions())


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<p>&copy 2020 Tom", "© 2020 Tom"),
        ("<p>caf&eacutes &AMP bar", "cafés & bar"),
        ("<p>x &notit y &notin; z", "x ¬it y ∉ z"),
        ("<p>&#169 2020 &#xe9t&#xe9", "© 2020 été"),
        ("<p>AT&T, Q&A & &Omega so on", "AT&T, Q&A & &Omega so on"),
    ],
)
def test_html_text_entities_need_no_semicolon(page, text):
    document = read(page)
    assert document.segments == (text,)
    assert document.render([text]).decode() == page


def test_an_entity_without_semicolon_is_written_with_one():
    assert read("<p>&copy 2020").render(["2020 ©Tom"]) == b"<p>2020 &copy;Tom"
    assert read("<p>one<a href='?a&copy=2'></a>").render(["un ©"]).decode() == (
        "<p>un ©<a href='?a&copy=2'></a>"
    )


def test_an_unterminated_entity_in_an_attribute_must_end_the_name():
    value = "&copy 2020 &copy=1 &copyx &copy; &amp;"
    assert unescape_entities(value, xml=False, entity=HTML_ATTRIBUTE_ENTITY) == "© 2020 &copy=1 &copyx © &"


def test_outside_html_the_semicolon_is_required():
    assert unescape_entities("&copy 2020 &copy;", xml=False) == "&copy 2020 ©"


def test_numeric_references_of_any_length_are_scanned():
    page = f"<p>Hello &#{'9' * 5000}; world"
    document = read(page)
    assert document.render(document.segments) == page.encode()
