import pytest

from regard.documents.entities import HTML_ATTRIBUTE_ENTITY, unescape_entities
from regard.documents.formats import DocumentOptions, read_document


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
def test_old_names_need_no_semicolon_in_a_page(page, text):
    document = read(page)
    assert document.segments == (text,)
    assert document.render([text]).decode() == page


def test_a_letter_that_was_spelled_without_a_semicolon_gets_one():
    assert read("<p>&copy 2020").render(["2020 ©Tom"]) == b"<p>2020 &copy;Tom"
    assert read("<p>one<a href='?a&copy=2'></a>").render(["un ©"]).decode() == (
        "<p>un ©<a href='?a&copy=2'></a>"
    )


def test_in_a_value_an_old_name_ends_before_what_is_no_name():
    value = "&copy 2020 &copy=1 &copyx &copy; &amp;"
    assert unescape_entities(value, xml=False, entity=HTML_ATTRIBUTE_ENTITY) == "© 2020 &copy=1 &copyx © &"


def test_outside_of_pages_the_semicolon_is_needed():
    assert unescape_entities("&copy 2020 &copy;", xml=False) == "&copy 2020 ©"


def test_a_number_of_any_length_is_read():
    page = f"<p>Hello &#{'9' * 5000}; world"
    document = read(page)
    assert document.render(document.segments) == page.encode()
