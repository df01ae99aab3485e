"""OpenDocument files, built and read back with odfpy."""

from io import BytesIO
from zipfile import ZIP_STORED, ZipFile

import pytest
from odf import dc, draw, office, style, table, teletype, text
from odf.opendocument import OpenDocumentPresentation, OpenDocumentSpreadsheet, OpenDocumentText, load

from regard.documents.formats import DocumentOptions, read_document

XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"


def read(content, name="x.odt"):
    return read_document(content, name, DocumentOptions())


def save(document):
    file = BytesIO()
    document.write(file)
    return file.getvalue()


@pytest.fixture
def letter():
    document = OpenDocumentText()
    bold = style.Style(name="Bold", family="text")
    bold.addElement(style.TextProperties(fontweight="bold"))
    document.automaticstyles.addElement(bold)
    document.text.addElement(text.H(outlinelevel=1, text="The letter"))
    paragraph = text.P(text="The red car is ")
    paragraph.addElement(text.Span(stylename=bold, text="very fast"))
    paragraph.addText(" today.")
    note = text.Note(id="1", noteclass="footnote")
    note.addElement(text.NoteCitation(text="1"))
    body = text.NoteBody()
    body.addElement(text.P(text="So they say"))
    note.addElement(body)
    paragraph.addElement(note)
    document.text.addElement(paragraph)
    spaced = text.P()
    teletype.addTextToElement(spaced, "left\tright  side\nbelow")
    document.text.addElement(spaced)
    document.text.addElement(text.P(text="Page "))
    document.text.lastChild.addElement(text.PageNumber(selectpage="current", text="3"))
    return save(document)


def paragraphs(content):
    return [teletype.extractText(each) for each in load(BytesIO(content)).getElementsByType(text.P)]


def test_headings_paragraphs_and_notes_are_read(letter):
    assert read(letter).segments == (
        *("The letter", "So they say", "The red car is very fast today.", "left", "right side", "below"),
        "Page 3",
    )


def test_identity_translation_reproduces_every_byte(letter):
    document = read(letter)
    assert document.render(document.segments) == letter


def test_spans_notes_and_page_numbers_stay(letter):
    translations = [
        *("Der Brief", "Sagt man", "Das rote Auto ist heute sehr schnell.", "links", "rechte Seite", "unten"),
        "Seite 3",
    ]
    written = read(letter).render(translations)
    document = load(BytesIO(written))
    assert [teletype.extractText(each) for each in document.getElementsByType(text.Span)] == ["heute sehr"]
    assert teletype.extractText(document.getElementsByType(text.PageNumber)[0]) == "3"
    assert teletype.extractText(document.getElementsByType(text.NoteBody)[0]) == "Sagt man"
    assert paragraphs(written)[-2:] == ["links\trechte  Seite\nunten", "Seite 3"]
    with ZipFile(BytesIO(written)) as archive:
        first = archive.infolist()[0]
        assert (first.filename, first.compress_type) == ("mimetype", ZIP_STORED)


def test_spans_that_look_the_same_are_one():
    """LibreOffice numbers the sessions of editing, and starts a span at each of them."""
    document = OpenDocumentText()
    for name in ("T1", "T2"):
        plain = style.Style(name=name, family="text")
        plain.addElement(style.TextProperties(language="en", color="#ff0000"))
        document.automaticstyles.addElement(plain)
    paragraph = text.P()
    for name, words in [("T1", "Hel"), ("T2", "lo wor"), ("T1", "ld")]:
        paragraph.addElement(text.Span(stylename=name, text=words))
    document.text.addElement(paragraph)
    content = save(document)
    assert read(content).segments == ("Hello world",)
    written = load(BytesIO(read(content).render(["Bonjour le monde"])))
    spans = [teletype.extractText(each) for each in written.getElementsByType(text.Span)]
    assert [words for words in spans if words] == ["Bonjour le monde"]


def test_a_span_is_added_where_text_moves_in_front_of_the_first_one():
    document = OpenDocumentText()
    paragraph = text.P()
    for name, words in [("Bold", "Enter"), ("Red", " is the key to press now")]:
        document.automaticstyles.addElement(style.Style(name=name, family="text", parentstylename=name))
        paragraph.addElement(text.Span(stylename=name, text=words))
    document.text.addElement(paragraph)
    written = load(BytesIO(read(save(document)).render(["Die Taste heißt Enter hier"])))
    spans = written.getElementsByType(text.Span)
    assert [(each.getAttribute("stylename"), teletype.extractText(each)) for each in spans] == [
        ("Red", "Die Taste heißt "),
        ("Bold", "Enter"),
        ("Red", " hier"),
    ]


def test_deleted_text_is_not_translated_and_comments_are():
    document = OpenDocumentText()
    changes = text.TrackedChanges()
    region, deletion = text.ChangedRegion(qattributes={(XML_NAMESPACE, "id"): "c1"}), text.Deletion()
    info = office.ChangeInfo()
    info.addElement(dc.Creator(text="Ann"))
    info.addElement(dc.Date(text="2026-01-01T00:00:00"))
    deletion.addElement(info)
    deletion.addElement(text.P(text="Deleted words"))
    region.addElement(deletion)
    changes.addElement(region)
    document.text.addElement(changes)
    paragraph = text.P(text="Words that stay")
    comment = office.Annotation()
    comment.addElement(dc.Creator(text="Ann Smith"))
    comment.addElement(text.P(text="A comment"))
    paragraph.addElement(comment)
    document.text.addElement(paragraph)
    assert read(save(document)).segments == ("A comment", "Words that stay")


def test_cells_of_a_spreadsheet_are_translated_if_they_hold_text():
    document = OpenDocumentSpreadsheet()
    sheet = table.Table(name="Costs")
    row = table.TableRow()
    cells = [
        ({"valuetype": "string"}, "Red apples"),
        ({"valuetype": "float", "value": 3}, "3 euros"),
        ({"valuetype": "string", "formula": 'of:=IF([.A2]="done";"all fine";"")'}, "all fine"),
        ({"valuetype": "string"}, "done"),
    ]
    for attributes, content in cells:
        cell = table.TableCell(**attributes)
        cell.addElement(text.P(text=content))
        row.addElement(cell)
    sheet.addElement(row)
    document.spreadsheet.addElement(sheet)
    content = save(document)
    assert read(content, "x.ods").segments == ("Red apples",)
    assert paragraphs(read(content, "x.ods").render(["Äpfel"])) == ["Äpfel", "3 euros", "all fine", "done"]


def test_boxes_of_a_presentation_are_translated():
    document = OpenDocumentPresentation()
    layout = style.PageLayout(name="Layout")
    document.automaticstyles.addElement(layout)
    master = style.MasterPage(name="Master", pagelayoutname=layout)
    document.masterstyles.addElement(master)
    page, frame, box = draw.Page(masterpagename=master), draw.Frame(), draw.TextBox()
    box.addElement(text.P(text="On the slide"))
    frame.addElement(box)
    page.addElement(frame)
    document.presentation.addElement(page)
    content = save(document)
    assert read(content, "x.odp").segments == ("On the slide",)
    assert paragraphs(read(content, "x.odp").render(["Auf der Folie"])) == ["Auf der Folie"]
