"""Text with XML tags: segments, tags that are moved and elements that are copied."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.documents.web.tagged_text import XmlTags, read_tagged_text

PARTS = (
    "<a>",
    "</a>",
    "<b/>",
    "<x>",
    "</x>",
    "<!-- c -->",
    "<?p?>",
    "&amp;",
    "&zz;",
    "<",
    ">",
    "&",
    " ",
    "word",
    "\n",
)


def names(*values):
    return frozenset(values)


@pytest.mark.parametrize(
    ("text", "tags", "segments"),
    [
        ("plain & <b>bold</b> text", XmlTags(), ["plain & bold text"]),
        ("<doc><title>One</title><p>Two <b>and</b> three</p></doc>", XmlTags(), ["One", "Two and three"]),
        ("<p><s>One</s> <s>two</s></p>", XmlTags(), ["One", "two"]),
        ("<p><s>One</s> <s>two</s></p>", XmlTags(inline=names("s")), ["One two"]),
        ("<p><s>One</s> <s>two</s></p>", XmlTags(detect_outline=False), ["One two"]),
        ("One <s>two</s> three", XmlTags(splitting=names("s")), ["One", "two", "three"]),
        ("One <x>not <x>this</x> </x> two", XmlTags(ignored=names("x")), ["One not this two"]),
        ("One <x/> two", XmlTags(ignored=names("x")), ["One two"]),
        ("<x>only</x>", XmlTags(ignored=names("x")), []),
        ("<x>no end", XmlTags(ignored=names("x")), []),
        ("a &lt;b&gt; &quot;c&quot;", XmlTags(), ['a <b> "c"']),
        ("</b> broken <b> nesting </i>", XmlTags(), ["broken nesting"]),
    ],
)
def test_segments(text, tags, segments):
    template = read_tagged_text(text, tags)
    assert list(template.segments) == segments
    assert template.render(template.segments) == text


def test_a_translation_is_escaped_and_ignored_elements_are_copied():
    template = read_tagged_text('a <x id="1">B &amp; b</x> <g>c</g>', XmlTags(ignored=names("x")))
    assert template.segments == ("a B & b c",)
    assert template.render(["1 < 2 B & b 3"]) == '1 &lt; 2 <x id="1">B &amp; b</x> <g>3</g>'
    assert '<x id="1">B &amp; b</x>' in template.render(["lost"])


@given(st.lists(st.sampled_from(PARTS), max_size=30).map("".join))
def test_any_text_is_kept_where_nothing_is_translated(text):
    for tags in (XmlTags(), XmlTags(names("x"), names("a"), names("b"), detect_outline=False)):
        template = read_tagged_text(text, tags)
        assert template.render(template.segments) == text
