import time

import pytest

from regard.documents.formats import DocumentOptions, read_document
from regard.documents.web.html import read_html
from sample_documents import HTML


def read(content):
    return read_document(content.encode(), "x.html", DocumentOptions())


def put(content, *translations):
    return read(content).render(translations).decode()


def test_segments_are_text_blocks_followed_by_text_attributes():
    assert read(HTML).segments == (
        "Café & bar",
        "Hello, big wide world!",
        "Click this link, then run ls -l < x on Foo Bar.",
        "New line",
        "One",
        "Two cats",
        "H2O, 5 < 6 你好世界 🙂 مرحبا",
        *('A "tip"', "right here", "My cat", "Your name"),
    )


def test_inline_tags_stay_around_their_words():
    page = "<p>A <b>red</b> car &amp; <a href='x' title=\"go\">a house</a>.</p>"
    assert put(page, "Une auto rouge & une maison.", "aller") == (
        "<p>Une <b>auto</b> rouge &amp; <a href='x' title=\"aller\">une maison</a>.</p>"
    )


def test_text_is_escaped_as_in_the_page():
    assert put("<p>caf&eacute;", "été < à") == "<p>&eacute;t&eacute; &lt; à"
    assert put("<p title='x'>y", 'a"b', "l'\"&") == "<p title='l&#39;\"&amp;'>a\"b"
    page = '<meta charset="iso-8859-1"><p>\xe9t\xe9 one</p>'.encode("latin-1")
    written = read_document(page, "x.htm", DocumentOptions()).render(["été 漢"])
    assert written == '<meta charset="iso-8859-1"><p>\xe9t\xe9 &#28450;</p>'.encode("latin-1")


def test_code_in_a_sentence_is_visible_to_the_model_and_unchanged():
    page = "<p>Run <code>make test</code> first"
    assert read(page).segments == ("Run make test first",)
    assert put(page, "D'abord make test") == "<p>D'abord <code>make test</code>"
    assert put(page, "Lancez d'abord") == "<p>Lancez <code>make test</code> d'abord"


@pytest.mark.parametrize(
    "page",
    [
        "<script>var a = '<p>no</p>';</script>",
        "<STYLE>p { content: 'no' }</STYLE>",
        "<pre>no <b>no</b></pre>",
        "<textarea>no</textarea>",
        "<div translate=no>no <div>no</div> no</div>",
        '<p class="a notranslate">no</p>',
        "<!-- no --><!doctype no><?php no ?>",
        "<p>| &nbsp; · <img src=no></p>",
        "<svg><text title='no'>no</text></svg>",
        "<p><code>no</code></p>",
        "<a href='no",
        "<!-- no",
        "<script>no",
    ],
)
def test_invisible_content_is_not_translated(page):
    assert read(page).segments == ()


@pytest.mark.parametrize(
    "page",
    [
        '<img alt="no" translate="no">',
        "<input placeholder='no' translate=no>",
        "<p translate=no title='no'>no</p>",
        "<div translate=no><img alt='no'></div>",
        "<img alt='no' class='big notranslate'>",
        "<pre><a title='no'>no</a></pre>",
        "<script title='no'></script><style title='no'></style>",
        "<meta name=keywords content='no'><meta name=viewport content='no'><meta content='no'>",
        "<input value='no'><input type=hidden value='no'>",
        "<img alt=''><img alt='--'><img alt='no",
    ],
)
def test_attributes_without_text_are_not_translated(page):
    assert read(page).segments == ()


@pytest.mark.parametrize(
    ("page", "written"),
    [
        ("<textarea placeholder='x'>no</textarea>", "<textarea placeholder='X Y'>no</textarea>"),
        ("<iframe title='x'>no</iframe>", "<iframe title='X Y'>no</iframe>"),
        ("<svg aria-label='x'><path/></svg>", "<svg aria-label='X Y'><path/></svg>"),
        ("<svg aria-label='x'/>", "<svg aria-label='X Y'/>"),
        ("<div translate=no><img translate=yes alt='x'></div>", None),
        ("<img alt=x>", '<img alt="X Y">'),
        ("<img alt=x src=y>", '<img alt="X Y" src=y>'),
        ("<img alt = x>", '<img alt = "X Y">'),
        ("<img alt=' x\n'>", "<img alt=' X Y\n'>"),
        ("<meta name='description' content='x'>", "<meta name='description' content='X Y'>"),
        ("<meta content=\"x\" property='og:title'>", "<meta content=\"X Y\" property='og:title'>"),
        ("<META NAME=Twitter:Description CONTENT='x'>", "<META NAME=Twitter:Description CONTENT='X Y'>"),
        ("<input type=submit value='x'>", "<input type=submit value='X Y'>"),
        ("<input value='x' type='RESET'>", "<input value='X Y' type='RESET'>"),
        ("<select><optgroup label='x'></select>", "<select><optgroup label='X Y'></select>"),
    ],
)
def test_text_attributes_are_translated(page, written):
    assert read(page).segments == ("x",)
    assert put(page, "x") == page
    assert put(page, "X Y") == (written or page.replace("'x'", "'X Y'"))


def test_an_attribute_value_gets_quotes_only_if_needed():
    assert put("<img alt=Cat>", "Chat") == "<img alt=Chat>"
    assert put("<img alt=Cat>", 'l\'"x"') == '<img alt="l\'&quot;x&quot;">'
    assert put("<img alt=Cat>", "") == '<img alt="">'


def test_white_space_in_an_attribute_becomes_one_space():
    assert read("<img alt='a\n  b'>").segments == ("a b",)


def test_entities_in_attributes_need_no_semicolon():
    assert read("<img alt='&copy Tom &copy=1'>").segments == ("© Tom &copy=1",)


@pytest.mark.parametrize(
    "figure",
    [
        "<svg><title>no</title><path d='M0 0'/></svg>",
        "<svg class=icon />",
        "<math><mi>x</mi></math>",
        "<input>",
        "<input type=number title='--'>",
        "<picture><source srcset=x>\n<img src=y></picture>",
        "<img src=x>",
    ],
)
def test_an_image_element_does_not_split_a_sentence(figure):
    page = f"<p>Click {figure} to go"
    assert read(page).segments == ("Click to go",)
    assert put(page, "Click to go") == page
    assert put(page, "Cliquez pour partir") == f"<p>Cliquez {figure} pour partir"


def test_alt_text_inside_a_sentence_is_translated():
    page = "<p>A <picture><source srcset=x><img alt='cat'></picture> here"
    assert put(page, "Un ici", "chat") == "<p>Un <picture><source srcset=x><img alt='chat'></picture> ici"


@pytest.mark.parametrize(
    ("page", "texts"),
    [
        ("<input type=radio> Yes <input type=radio> No", ("Yes", "No")),
        ("<input type=CHECKBOX> Apples <input type=checkbox> Pears", ("Apples", "Pears")),
        ("<label>First</label> <input> <label>Last</label> <input>", ("First", "Last")),
        ("<picture>One <b>two</b></picture> three", ("One two", "three")),
        ("<picture><source> <p>One", ("One",)),
        ("<picture><source> <picture><img></picture> One", ("One",)),
    ],
)
def test_controls_beside_a_text_are_not_part_of_it(page, texts):
    assert read(page).segments == texts
    assert put(page, *texts) == page


@pytest.mark.parametrize(
    "bad", ["<!--", "<a ", "<a b='", "</", "&", "<![CDATA[", "<pre>", "<p title='", "<b>"]
)
def test_html_time_is_linear_in_the_page(bad):
    def seconds(count):
        page, start = bad * count, time.process_time()
        document = read(page)
        document.render(document.segments)
        return time.process_time() - start

    assert seconds(10_000) < 14 * max(seconds(2_500), 0.01)


@pytest.mark.parametrize(
    ("page", "declared"),
    [
        ("<!DOCTYPE html>\n<html lang=en><p>A cat", '<!DOCTYPE html>\n<html lang="pt-BR"><p>A cat'),
        ("<html class='a' LANG='en-GB' >A cat", "<html class='a' LANG='pt-BR' >A cat"),
        ('<html xml:lang="en" xmlns="x">A cat', '<html xml:lang="pt-BR" xmlns="x" lang="pt-BR">A cat'),
        ("<!-- <html> --><HTML>A cat", '<!-- <html> --><HTML lang="pt-BR">A cat'),
        ('<p lang="en">A cat</p><html>', '<p lang="en">A cat</p><html>'),
        ("A cat", "A cat"),
    ],
)
def test_the_page_declares_the_target_language_if_it_is_given(page, declared):
    document = read_document(page.encode(), "x.html", DocumentOptions(target_language="pt-BR"))
    assert document.render(document.segments).decode() == declared
    assert read_document(page.encode(), "x.html", DocumentOptions()).render(["A cat"]).decode() == page


def test_in_xhtml_a_slash_ends_every_element():
    page = '<head><title/><script src="x"/></head><p>One <a id="x"/><i>two</i><br/>three<div/>four</p>'
    assert read_html(page, xhtml=True).segments == ("One two", "three", "four")
    assert len(read_html(page).segments) == 1  # a title without an end
