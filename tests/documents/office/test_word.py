"""Word documents, built and read back with python-docx."""

from io import BytesIO
from zipfile import ZipFile

import pytest
from docx import Document
from docx.enum.text import WD_BREAK
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from regard.documents.formats import DocumentOptions, read_document

RUN = "<w:r><w:rPr>{}</w:rPr><w:t xml:space='preserve'>{}</w:t></w:r>"


def read(content, name="x.docx"):
    return read_document(content, name, DocumentOptions())


def save(document):
    file = BytesIO()
    document.save(file)
    return file.getvalue()


def with_paragraph(*runs):
    """Return a document with one paragraph of raw WordprocessingML."""
    document = Document()
    document.element.body.insert(0, parse_xml(f"<w:p {nsdecls('w', 'r')}>{''.join(runs)}</w:p>"))
    return save(document)


def plain(text):
    return RUN.format("", text)


def bold(text):
    return RUN.format("<w:b/>", text)


def translate(content, *translations):
    document = read(content)
    return Document(BytesIO(document.render(translations or document.segments)))


def formatted(paragraph):
    return [(run.text, bool(run.bold)) for run in paragraph.runs if run.text]


@pytest.fixture
def report():
    document = Document()
    document.add_heading("The report", level=1)
    paragraph = document.add_paragraph("The red car is ")
    paragraph.add_run("very fast").bold = True
    paragraph.add_run(" today.")
    document.add_paragraph("First point", style="List Bullet")
    table = document.add_table(rows=1, cols=2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "Name", "12.5"
    document.sections[0].header.paragraphs[0].text = "A header"
    document.sections[0].footer.paragraphs[0].text = "A footer"
    document.add_comment(paragraph.runs[0], text="Is that true?", author="Ann", initials="A")
    return save(document)


def test_the_texts_of_the_body_come_first_and_numbers_are_not_texts(report):
    assert read(report).segments == (
        *("The report", "The red car is very fast today.", "First point", "Name"),
        *("Is that true?", "A header", "A footer"),
    )


def test_identity_translation_reproduces_every_byte(report):
    document = read(report)
    assert document.render(document.segments) == report


def test_formats_styles_and_tables_stay(report):
    before = Document(BytesIO(report))
    after = translate(
        report,
        *("Der Bericht", "Das rote Auto ist heute sehr schnell .", "Erster Punkt", "Name", "Ist das wahr?"),
        *("Kopf", "Fuß"),
    )
    assert [p.style.name for p in after.paragraphs] == [p.style.name for p in before.paragraphs]
    assert after.paragraphs[0].text == "Der Bericht"
    assert [cell.text for cell in after.tables[0].rows[0].cells] == ["Name", "12.5"]
    assert after.sections[0].header.paragraphs[0].text == "Kopf"
    assert next(iter(after.comments)).text == "Ist das wahr?"


def test_bold_stays_on_the_same_words():
    content = with_paragraph(plain("Press "), bold("Enter"), plain(" to continue."))
    after = translate(content, "Drücken Sie Enter zum Fortfahren.")
    assert formatted(after.paragraphs[0]) == [
        ("Drücken Sie ", False),
        ("Enter", True),
        (" zum Fortfahren.", False),
    ]


def test_a_run_is_added_where_text_moves_in_front_of_the_first_run():
    content = with_paragraph(bold("Enter"), plain(" is the key to press now"))
    after = translate(content, "Die Taste heißt Enter")
    assert formatted(after.paragraphs[0]) == [("Die Taste heißt ", False), ("Enter", True)]


def test_runs_that_differ_in_nothing_visible_do_not_cut_words():
    content = with_paragraph(
        "<w:r w:rsidR='00A1'><w:t>Hel</w:t></w:r>",
        "<w:proofErr w:type='spellStart'/>",
        "<w:bookmarkStart w:id='0' w:name='_GoBack'/><w:bookmarkEnd w:id='0'/>",
        RUN.format("<w:lang w:val='en-GB'/><w:noProof/>", "lo wor"),
        "<w:r w:rsidR='00A2'><w:lastRenderedPageBreak/><w:t>ld</w:t></w:r>",
    )
    document = read(content)
    assert document.segments == ("Hello world",)
    after = translate(content, "Bonjour le monde")
    assert after.paragraphs[0].text == "Bonjour le monde"


def test_runs_that_look_the_same_hold_their_translation_in_one_of_them():
    noise = "<w:lang w:val='en-GB'/><w:noProof/><w:spacing w:val='-2'/>"
    content = with_paragraph(plain("Hel"), "<w:proofErr w:type='spellEnd'/>", RUN.format(noise, "lo world"))
    after = translate(content, "Bonjour le monde")
    assert [run.text for run in after.paragraphs[0].runs] == ["", "Bonjour le monde"]


def test_outer_spaces_get_the_attribute_that_preserves_them():
    content = with_paragraph(
        "<w:r><w:t>No</w:t></w:r>", "<w:r><w:t>w </w:t></w:r>", bold("go"), plain(" home")
    )
    after = translate(content, "Jetzt go nach Hause")
    assert "".join(run.text for run in after.paragraphs[0].runs) == "Jetzt go nach Hause"
    for text in after.element.body.iter("{*}t"):
        if text.text and text.text != text.text.strip():
            assert text.get("{http://www.w3.org/XML/1998/namespace}space") == "preserve"


def test_tabs_and_breaks_separate_texts():
    document = Document()
    paragraph = document.add_paragraph("Name:\tAnn Smith")
    paragraph.runs[0].add_break(WD_BREAK.LINE)
    paragraph.add_run("second line")
    content = save(document)
    assert read(content).segments == ("Name:", "Ann Smith", "second line")
    assert translate(content, "Nom :", "Anne", "ligne deux").paragraphs[0].text == "Nom :\tAnne\nligne deux"


def test_a_hyperlink_keeps_its_target_and_its_words():
    document = Document()
    paragraph = document.add_paragraph("See ")
    target = document.part.relate_to("http://x.org", RELATIONSHIP_TYPE.HYPERLINK, is_external=True)
    style = "<w:rStyle w:val='Hyperlink'/>"
    paragraph._p.append(
        parse_xml(
            f"<w:hyperlink {nsdecls('w', 'r')} r:id='{target}'>{RUN.format(style, 'Regard')}</w:hyperlink>"
        )
    )
    paragraph.add_run(" for details.")
    after = translate(save(document), "Mehr dazu bei Regard .").paragraphs[0]
    assert [(link.text, link.address) for link in after.hyperlinks] == [("Regard", "http://x.org")]
    assert after.text == "Mehr dazu bei Regard ."


FIELD = (
    "<w:r><w:fldChar w:fldCharType='begin'/></w:r><w:r><w:instrText> {} </w:instrText></w:r>"
    "<w:r><w:fldChar w:fldCharType='separate'/></w:r>{}<w:r><w:fldChar w:fldCharType='end'/></w:r>"
)


def test_a_page_number_is_seen_by_the_model_and_not_changed():
    content = with_paragraph(plain("Page "), FIELD.format("PAGE", plain("3")), plain(" of the book"))
    assert read(content).segments == ("Page 3 of the book",)
    for translation, text in [
        ("Seite 3 des Buches", "Seite 3 des Buches"),
        ("Seite des Buches", "Seite 3 des Buches"),
        ("3. Seite", "3. Seite"),
    ]:
        after = translate(content, translation).paragraphs[0]
        assert after.text == text
        assert [run.text for run in after.runs if "3" in run.text] == ["3"]


def test_text_after_a_field_at_the_end_stays_after_it():
    content = with_paragraph(bold("The long title of it"), plain(", page "), FIELD.format("PAGE", plain("3")))
    assert translate(content, "Der lange Titel, 3. Seite").paragraphs[0].text == "Der lange Titel, 3. Seite"


def test_two_computed_fields_never_touch_each_other():
    content = with_paragraph(
        plain("Page "), FIELD.format("PAGE", plain("3")), plain(" of "), FIELD.format("NUMPAGES", plain("10"))
    )
    assert translate(content, "10 Seiten, davon 3").paragraphs[0].text.split()[:2] == ["3", "10"]


def test_text_between_two_fields_of_one_run_does_not_leave_them():
    field = FIELD.replace("<w:r>", "").replace("</w:r>", "")
    fields = "".join(field.format("PAGE", f"<w:t>{number}</w:t>") for number in (3, 10))
    content = with_paragraph(f"<w:r><w:t>Page</w:t>{fields}<w:t>of it</w:t></w:r>")
    text = translate(content, "Seite 3 von 10 davon").paragraphs[0].text
    assert text.index("Seite") < text.index("von") < text.index("davon")


def test_the_words_of_a_link_field_are_translated():
    content = with_paragraph(plain("See "), FIELD.format('HYPERLINK "http://x.org"', plain("the manual")))
    assert read(content).segments == ("See the manual",)
    after = translate(content, "Siehe Handbuch")
    assert after.paragraphs[0].text == "Siehe Handbuch"
    assert b'HYPERLINK "http://x.org"' in ZipFile(BytesIO(save(after))).read("word/document.xml")


def test_a_field_in_a_simple_element_is_recognised():
    content = with_paragraph(plain("Page "), f"<w:fldSimple w:instr=' PAGE '>{plain('7')}</w:fldSimple>")
    assert read(content).segments == ("Page 7",)
    after = translate(content, "Seite 7")
    assert [element.text for element in after.element.body.iter("{*}t")][:2] == ["Seite ", "7"]


def test_deleted_text_is_kept_and_inserted_text_is_translated():
    content = with_paragraph(
        plain("The cat "),
        "<w:del w:id='1' w:author='A'><w:r><w:delText>never </w:delText></w:r></w:del>",
        f"<w:ins w:id='2' w:author='A'>{plain('always ')}</w:ins>",
        plain("sleeps"),
    )
    assert read(content).segments == ("The cat always sleeps",)
    after = translate(content, "Le chat dort toujours")
    assert [element.text for element in after.element.body.iter("{*}delText")] == ["never "]
    assert (
        "".join(element.text or "" for element in after.element.body.iter("{*}t")) == "Le chat dort toujours"
    )
    assert len(list(after.element.body.iter("{*}ins"))) == 1


def test_text_that_was_moved_away_is_not_translated():
    content = with_paragraph(
        plain("The cat "), f"<w:moveFrom w:id='1' w:author='A'>{plain('old ')}</w:moveFrom>"
    )
    assert read(content).segments == ("The cat",)


def test_a_content_control_keeps_its_text_inside():
    content = with_paragraph(
        plain("Dear "),
        "<w:sdt><w:sdtPr><w:alias w:val='Who'/></w:sdtPr>"
        f"<w:sdtContent>{plain('customer')}</w:sdtContent></w:sdt>",
        plain(", hello"),
    )
    after = translate(content, "Cher client, bonjour")
    control = next(after.element.body.iter("{*}sdtContent"))
    assert "".join(element.text for element in control.iter("{*}t")) == "client"


def test_a_run_is_never_put_where_word_allows_none():
    """A control starts with its properties, and holds nothing beside its content."""
    control = (
        "<w:sdt><w:sdtPr><w:alias w:val='Who'/></w:sdtPr><w:sdtContent>{}</w:sdtContent></w:sdt>"
        "<w:smartTag w:element='x'><w:smartTagPr/>{}</w:smartTag>"
    )
    content = with_paragraph(control.format(bold("Ann Smith"), plain(" of London")), bold(" is here"))
    for translation in (
        "Heute ist Ann Smith aus London da",
        "London",
        "hier ist sie",
        "x y of London z Ann w",
    ):
        after = translate(content, translation)
        assert after.element.body[0].xpath("string(.)").split() == translation.split()
        for name, children in [("sdt", {"sdtPr", "sdtContent"}), ("smartTag", {"smartTagPr", "r"})]:
            element = next(after.element.body.iter("{*}" + name))
            assert {child.tag.partition("}")[2] for child in element} == children
            assert element[0].tag.endswith("Pr")


def test_text_that_finds_no_place_for_a_run_is_not_lost():
    """A run cannot be put in front of this one, because its first half is another text."""
    first = "<w:r><w:rPr><w:b/></w:rPr><w:t>Title</w:t><w:br/><w:t>Enter</w:t></w:r>"
    content = with_paragraph(first, plain(" is the key to press now"))
    assert read(content).segments == ("Title", "Enter is the key to press now")
    after = translate(content, "Titel", "Die Taste heißt Enter")
    assert after.paragraphs[0].text == "Titel\nDie Taste heißt Enter"


def test_a_text_box_inside_a_run_is_a_text_of_its_own():
    box = (
        "<w:r><w:t>Around</w:t></w:r><w:r><w:pict><v:textbox xmlns:v='urn:schemas-microsoft-com:vml'>"
        f"<w:txbxContent><w:p>{plain('In the box')}</w:p></w:txbxContent></v:textbox></w:pict></w:r>"
        "<w:r><w:t> the box</w:t></w:r>"
    )
    content = with_paragraph(box)
    assert read(content).segments == ("In the box", "Around the box")
    after = translate(content, "Dans la boîte", "Autour de la boîte")
    texts = [element.text for element in after.element.body.iter("{*}t")]
    assert "".join(texts) in ("AutourDans la boîte de la boîte", "Autour deDans la boîte la boîte")


def test_a_footnote_reference_stays_with_its_text():
    content = with_paragraph(
        plain("The cat"), "<w:r><w:footnoteReference w:id='2'/></w:r>", plain(" sleeps in the house")
    )
    content = save(translate(content, "Le chat dort dans la maison"))
    document = ZipFile(BytesIO(content)).read("word/document.xml").decode()
    assert document.index(">Le") < document.index("footnoteReference") < document.index("maison")


def test_what_xml_cannot_hold_is_not_written():
    content = with_paragraph(plain("Hello"))
    with pytest.warns(UserWarning, match="dropped 4 control characters"):
        after = translate(content, "a\x00b\x1f \ufffe<i> & c\ud800 >")
    assert after.paragraphs[0].text == "ab <i> & c >"


def test_another_namespace_prefix_is_understood():
    content = with_paragraph(plain("Press "), bold("Enter"), plain(" now please"))
    archive = ZipFile(BytesIO(content))
    file = BytesIO()
    with ZipFile(file, "w") as written:
        for name in archive.namelist():
            part = archive.read(name)
            if name == "word/document.xml":
                part = (
                    part.replace(b"<w:", b"<ns0:")
                    .replace(b"</w:", b"</ns0:")
                    .replace(b"xmlns:w=", b"xmlns:ns0=")
                )
                part = part.replace(b" w:", b" ns0:")
            written.writestr(name, part)
    after = translate(file.getvalue(), "Jetzt bitte Enter drücken")
    assert formatted(after.paragraphs[0]) == [("Jetzt bitte ", False), ("Enter", True), (" drücken", False)]
