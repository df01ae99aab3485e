import time

import pytest

from regard.documents.formats import DocumentOptions, read_document


def read(content):
    return read_document(content.encode(), "x.html", DocumentOptions())


@pytest.mark.parametrize(
    ("page", "texts"),
    [
        ('<p translate="no">Brand<p>Hello there<p>Second</p>', ("Hello there", "Second")),
        ('<ul><li class="notranslate">Foo<li>Hello</ul><p>After</p>', ("Hello", "After")),
        ("<ul><li translate=no>Foo<ul><li>no</ul>no<li>Hello</ul>", ("Hello",)),
        ("<dl><dt translate=no>no<dd>One<dd translate=no>no<dt>Two</dl>", ("One", "Two")),
        ("<table><tr><td translate=no>no<td>One<tr><th>Two</table>", ("One", "Two")),
        ("<table><tr translate=no><td>no<td>no<tr><td>One</table>", ("One",)),
        ("<table><thead translate=no><tr><td>no<tbody><tr><td>One</table>", ("One",)),
        ("<table><td translate=no><table><td>no</table>no</table><p>One", ("One",)),
        ("<select><option translate=no>no<option>One</select>", ("One",)),
        ("<select><optgroup translate=no><option>no<optgroup><option>One</select>", ("One",)),
        ("<ruby>漢<rp translate=no>(no<rt>One</ruby>", ("漢", "One")),
        ("<div><p translate=no>no</div>One", ("One",)),
        ("<div><span translate=no>no</div>One", ("One",)),
        ("<p translate=no>no<div>One</div>", ("One",)),
        ("<p translate=no>no<button><p>no</button>no<h1>One", ("One",)),
        ("<p translate=no>no<b>no</p>One", ("One",)),
        ("<h1 translate=no>no</h2>One", ("One",)),
        ("<a translate=no>no<a>One</a>", ("One",)),
        ("<div translate=no><b><div>no</b>no</div>no</div>One", ("One",)),
        ("<b translate=no>no<div>no</b>One</div>", ("One",)),
        ("<span translate=no>no<div>no</span>no</div>no", ()),
        ("<head translate=no><title>no</title><body>One", ("One",)),
        ("<html translate=no><body>no</body></html>no", ()),
        ("<p>Run <code>no<p>One", ("Run", "One")),
        ("<div>One<pre>no</div>Two", ("One", "Two")),
    ],
)
def test_untranslated_elements_end_where_browsers_end_them(page, texts):
    document = read(page)
    assert document.segments == texts
    assert document.render(document.segments) == page.encode()


@pytest.mark.parametrize(
    ("page", "texts"),
    [
        ("<p><svg width=1 /> Hello</p><p>World</p>", ("Hello", "World")),
        ("<math/>One", ("One",)),
        ("<svg><title/><style/><script/><g/></svg>One", ("One",)),
        ("<svg><g><text>no</svg>One", ("One",)),
        ("<svg><g>no<p>One", ("One",)),
        ("<svg><foreignObject><p>no</p>no</foreignObject>no</svg>One", ("One",)),
        ("<p><svg>no</p>One", ("One",)),
        ("<svg><style><![CDATA[ a > b ]]></style></svg>One", ("One",)),
        ("<div translate=no />no</div>One", ("One",)),
        ("<svg width=1/>no", ()),
    ],
)
def test_self_closing_tags_work_only_in_foreign_content(page, texts):
    assert read(page).segments == texts


@pytest.mark.parametrize(
    ("page", "texts"),
    [
        ("<div translate=no>no<p translate=yes>One</p>no</div>Two", ("One", "Two")),
        ("<div class=notranslate>no <b translate=''>One</b> no</div>", ("One",)),
        ("<p>One <span translate=no>no <b translate=yes>two</b> no</span> three", ("One", "two", "three")),
        ("<ul translate=no><li translate=yes>One<li>no</ul>", ("One",)),
        ("<pre><b translate=yes>no</b></pre>", ()),
        ("<div translate=no><pre><b translate=yes>no</b></pre></div>", ()),
        ("<div translate=no><!-- no --><b translate=yes>One</b><!-- no -->no</div>", ("One",)),
        ("<div translate=maybe>One</div>", ("One",)),
        ("<P TRANSLATE=NO>no", ()),
    ],
)
def test_the_innermost_translate_attribute_wins(page, texts):
    document = read(page)
    assert document.segments == texts
    assert document.render(document.segments) == page.encode()


@pytest.mark.parametrize(
    ("page", "texts"),
    [
        ("<noframes><p>Hello <b>you</b></p></noframes><p>One", ("Hello you", "One")),
        ("<noscript translate=no><div>no</noscript>One", ("One",)),
        ("<!-->One", ("One",)),
        ("<!--->One", ("One",)),
        ("<!-- no --!>One", ("One",)),
        ("<p><![CDATA[ no >One", ("One",)),
        ("<!--[if IE]> no <![endif]-->One", ("One",)),
    ],
)
def test_malformed_html_is_parsed_like_in_browsers(page, texts):
    assert read(page).segments == texts


def test_an_unclosed_element_is_not_moved():
    page = "<p>Run <code>make<p>One"
    assert read(page).render(["Lancez", "Un"]).decode() == "<p>Lancez <code>make<p>Un"


def test_tags_inside_noframes_are_tags():
    page = "<noframes><p>Hello <b>you</b></p></noframes>"
    assert read(page).render(["Salut toi"]).decode() == "<noframes><p>Salut <b>toi</b></p></noframes>"


@pytest.mark.parametrize("start", ["<b>", "<b><div>", "<svg><foreignObject>", "<table><td>", "<p>", "<i>"])
@pytest.mark.parametrize("end", ["</b>", "<svg><p>", "</td>", "<a>"])
def test_html_time_does_not_depend_on_depth(start, end):
    def seconds(count):
        page, before = start * count + "<div>" + "<i>" * count + end * count, time.process_time()
        read(page)
        return time.process_time() - before

    assert seconds(6_000) < 12 * max(seconds(1_500), 0.01)
