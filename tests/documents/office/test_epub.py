"""E-books, built and read back with EbookLib."""

from io import BytesIO
from zipfile import ZIP_STORED, ZipFile

import pytest
from defusedxml.ElementTree import fromstring
from ebooklib import ITEM_DOCUMENT, epub

from regard.documents.formats import DocumentOptions, read_document
from regard.errors import DataError

PAGE = '<p>The <a id="p1"/><b>red</b> car<br/>stops &amp; waits.</p><img src="i.png" alt="A picture"/>'


def read(content, **options):
    return read_document(content, "x.epub", DocumentOptions(**options))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.epub"


@pytest.fixture
def novel(path):
    book = epub.EpubBook()
    book.set_identifier("id")
    book.set_title("The novel")
    book.set_language("en")
    book.add_author("Ann Smith")
    chapters = [
        epub.EpubHtml(title=title, file_name=f"text/{name} 1.xhtml", lang="en")
        for title, name in (("One", "b"), ("Two", "a"))
    ]
    chapters[0].content, chapters[1].content = f"<h1>First page</h1>{PAGE}", "<h1>Second page</h1>"
    for chapter in chapters:
        book.add_item(chapter)
    book.toc = tuple(chapters)
    book.add_item(epub.EpubNcx())
    book.add_item(epub.EpubNav())
    book.spine = ["nav", *chapters]
    epub.write_epub(path, book)
    return path.read_bytes()


def test_the_title_comes_first_then_the_pages_of_the_spine(novel):
    segments = read(novel).segments
    assert segments[0] == "The novel"
    pages = ("First page", "The red car", "stops & waits.", "A picture")
    place = segments.index("First page")
    assert segments[place : place + 4] == pages
    assert segments.index("Second page") > place
    assert segments[-2:] == ("One", "Two")  # the table of contents for old readers


def test_identity_translation_reproduces_every_byte(novel):
    document = read(novel)
    assert document.render(document.segments) == novel


def test_pages_stay_well_formed_and_the_table_of_contents_is_translated(novel, path):
    document = read(novel)
    translations = [f"{text.upper()} < \x07é" for text in document.segments]
    with pytest.warns(UserWarning, match=r"control characters of the translation .*U\+0007"):
        path.write_bytes(document.render(translations))
    book = epub.read_epub(path)
    assert book.title == "THE NOVEL < é"
    assert [link.title for link in book.toc] == ["ONE < é", "TWO < é"]
    for item in book.get_items_of_type(ITEM_DOCUMENT):
        fromstring(item.content)
    page = book.get_item_with_href("text/b 1.xhtml").content.decode()
    assert 'THE <a id="p1"/><b>RED</b> CAR &lt; é<br/>' in page
    with ZipFile(path) as archive:
        assert (archive.infolist()[0].filename, archive.infolist()[0].compress_type) == (
            "mimetype",
            ZIP_STORED,
        )


def test_the_declared_language_follows_the_target_language(novel, path):
    document = read(novel, target_language="de-CH")
    path.write_bytes(document.render(document.segments))
    assert epub.read_epub(path).get_metadata("DC", "language") == [("de-CH", {})]
    same = read(novel, target_language="en")
    assert same.render(same.segments) == novel


def rebuild(content, name, part):
    file = BytesIO()
    with ZipFile(BytesIO(content)) as old, ZipFile(file, "w") as new:
        for each in old.namelist():
            new.writestr(each, old.read(each))
        new.writestr(name, part)
    return file.getvalue()


def test_protected_books_are_rejected_but_not_protected_fonts(novel):
    reference = '<encryption><CipherData><CipherReference URI="{}"/></CipherData></encryption>'
    with pytest.raises(DataError, match=r"x.epub is encrypted \(DRM\)"):
        read(rebuild(novel, "META-INF/encryption.xml", reference.format("EPUB/text/b%201.xhtml")))
    assert read(rebuild(novel, "META-INF/encryption.xml", reference.format("EPUB/font.otf"))).segments


def test_a_book_without_its_package_is_rejected():
    file = BytesIO()
    with ZipFile(file, "w") as archive:
        archive.writestr("META-INF/container.xml", "<container/>")
    with pytest.raises(DataError, match=r"x.epub: META-INF/container.xml names no package; save it again"):
        read(file.getvalue())
