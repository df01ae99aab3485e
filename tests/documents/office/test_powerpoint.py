"""PowerPoint presentations, built and read back with python-pptx."""

from io import BytesIO
from zipfile import ZipFile

import pytest
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from regard.documents.formats import DocumentOptions, read_document


def read(content):
    return read_document(content, "x.pptx", DocumentOptions())


def save(presentation):
    file = BytesIO()
    presentation.save(file)
    return file.getvalue()


@pytest.fixture(scope="module")
def talk():
    presentation = Presentation()
    first = presentation.slides.add_slide(presentation.slide_layouts[1])
    first.shapes.title.text = "The plan"
    body = first.placeholders[1].text_frame
    body.text = "Buy "
    run = body.paragraphs[0].add_run()
    run.text, run.font.bold = "milk", True
    body.paragraphs[0].add_run().text = " today"
    body.paragraphs[0].add_line_break()
    body.paragraphs[0].add_run().text = "and bread"
    first.notes_slide.notes_text_frame.text = "Speak slowly"
    second = presentation.slides.add_slide(presentation.slide_layouts[5])
    second.shapes.title.text = "Numbers"
    table = second.shapes.add_table(1, 2, Inches(1), Inches(1), Inches(4), Inches(1)).table
    table.cell(0, 0).text, table.cell(0, 1).text = "Costs", "42"
    data = CategoryChartData()
    data.categories = ["East", "West"]
    data.add_series("Sales", (1, 2))
    place = (Inches(1), Inches(3), Inches(4), Inches(3))
    chart = second.shapes.add_chart(XL_CHART_TYPE.PIE, *place, data).chart
    chart.has_title = True
    chart.chart_title.text_frame.text = "Sales by region"
    return save(presentation)


def test_slides_come_first_then_notes_and_charts(talk):
    assert read(talk).segments == (
        *("The plan", "Buy milk today", "and bread", "Numbers", "Costs", "Speak slowly", "Sales by region"),
    )


def test_slides_are_read_in_the_order_in_which_they_are_shown(talk):
    presentation = Presentation(BytesIO(talk))
    slides = presentation.slides._sldIdLst
    slides.append(slides[0])
    assert read(save(presentation)).segments[:3] == ("Numbers", "Costs", "The plan")


def test_identity_translation_reproduces_every_byte(talk):
    document = read(talk)
    assert document.render(document.segments) == talk


def test_formats_tables_and_charts_stay(talk):
    translations = [
        *("Der Plan", "Heute milk kaufen", "und Brot", "Zahlen", "Kosten", "Langsam sprechen", "Umsatz"),
    ]
    after = Presentation(BytesIO(read(talk).render(translations)))
    first, second = after.slides
    paragraph = first.placeholders[1].text_frame.paragraphs[0]
    assert paragraph.text == "Heute milk kaufen\vund Brot"
    assert [run.text for run in paragraph.runs if run.font.bold] == ["milk"]
    assert first.notes_slide.notes_text_frame.text == "Langsam sprechen"
    table, chart = (shape for shape in second.shapes if shape.has_table or shape.has_chart)
    assert [table.table.cell(0, k).text for k in (0, 1)] == ["Kosten", "42"]
    assert chart.chart.chart_title.text_frame.text == "Umsatz"
    assert list(chart.chart.plots[0].categories) == ["East", "West"]
    assert list(chart.chart.plots[0].series[0].values) == [1, 2]


def test_a_slide_number_is_seen_and_kept():
    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    box = slide.shapes.add_textbox(0, 0, Inches(2), Inches(1)).text_frame
    box.text = "Slide "
    paragraph = box.paragraphs[0]._p
    field = paragraph.makeelement(
        "{http://schemas.openxmlformats.org/drawingml/2006/main}fld", {"type": "slidenum"}
    )
    field.append(field.makeelement("{http://schemas.openxmlformats.org/drawingml/2006/main}t", {}))
    field[0].text = "7"
    paragraph.append(field)
    content = save(presentation)
    assert read(content).segments == ("Slide 7",)
    after = Presentation(BytesIO(read(content).render(["7. Folie"]))).slides[0]
    texts = [element.text or "" for element in after.shapes[0]._element.iter("{*}t")]
    assert "".join(texts) in ("7. Folie", "Folie7")
    assert "7" in texts


def test_text_on_a_layout_is_translated_but_not_its_prompts():
    presentation = Presentation()
    layout = presentation.slide_layouts[1]
    shapes = layout.shapes._spTree
    prompt = next(shape for shape in layout.placeholders)._element
    shape = prompt.__deepcopy__({})
    for placeholder in list(shape.iter("{*}ph")):
        placeholder.getparent().remove(placeholder)
    next(shape.iter("{*}t")).text = "Printed on every slide"
    shapes.append(shape)
    assert read(save(presentation)).segments == ("Printed on every slide",)


def test_a_slide_show_is_a_presentation(talk):
    file = BytesIO()
    with ZipFile(BytesIO(talk)) as old, ZipFile(file, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b"presentation.main+xml", b"slideshow.main+xml"))
    assert read(file.getvalue()).segments == read(talk).segments
