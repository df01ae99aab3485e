"""Excel workbooks, built and read back with openpyxl and XlsxWriter (python-pptx brings it)."""

from io import BytesIO
from zipfile import ZipFile

import openpyxl
import pytest
import xlsxwriter
from openpyxl.comments import Comment
from openpyxl.worksheet.table import Table

from regard.documents.formats import DocumentOptions, read_document


def read(content):
    return read_document(content, "x.xlsx", DocumentOptions())


def save(workbook):
    file = BytesIO()
    workbook.save(file)
    return file.getvalue()


@pytest.fixture
def budget():
    workbook = openpyxl.Workbook()
    sheet = workbook.active
    sheet.title = "Costs"
    rows = [("The item", "Price"), ("Red apples", 3), ("Green pears", 4.5), ("Paid", "=SUM(B2:B3)")]
    for row in rows:
        sheet.append(row)
    sheet["C4"] = '=IF(A4="Paid", "Thank you", "")'
    sheet["C1"].comment = Comment("Check this cell", "Ann")
    sheet["A2"].font = openpyxl.styles.Font(bold=True)
    return save(workbook)


def test_cells_with_text_are_read_but_no_numbers_formulas_or_names(budget):
    assert read(budget).segments == ("The item", "Price", "Red apples", "Green pears", "Check this cell")


def test_identity_translation_reproduces_every_byte(budget):
    document = read(budget)
    assert document.render(document.segments) == budget


def test_only_the_texts_change(budget):
    after = openpyxl.load_workbook(
        BytesIO(read(budget).render(["Artikel", "Preis", "Äpfel", "Birnen", "Prüfen"]))
    )
    sheet = after["Costs"]
    assert [[cell.value for cell in row[:2]] for row in sheet.iter_rows()] == [
        ["Artikel", "Preis"],
        ["Äpfel", 3],
        ["Birnen", 4.5],
        ["Paid", "=SUM(B2:B3)"],
    ]
    assert sheet["C4"].value == '=IF(A4="Paid", "Thank you", "")'
    assert (sheet["A2"].font.bold, sheet["C1"].comment.text) == (True, "Prüfen")


def test_headers_of_a_table_stay_because_a_table_names_its_columns():
    workbook = openpyxl.Workbook()
    sheet = workbook.active
    for row in [("Fruit", "Colour of it"), ("Apple", "red"), ("Pear", "green")]:
        sheet.append(row)
    sheet.add_table(Table(displayName="Fruits", ref="A1:B3"))
    assert read(save(workbook)).segments == ("Apple", "red", "Pear", "green")


def test_choices_of_a_list_stay():
    workbook = openpyxl.Workbook()
    workbook.active.append(("yes", "is it done"))
    choices = openpyxl.worksheet.datavalidation.DataValidation(type="list", formula1='"yes,no"')
    choices.add("A1")
    workbook.active.add_data_validation(choices)
    assert read(save(workbook)).segments == ("is it done",)


def test_rich_text_keeps_its_formats_and_cached_values_stay():
    file = BytesIO()
    with xlsxwriter.Workbook(file) as workbook:
        sheet, bold = workbook.add_worksheet(), workbook.add_format({"bold": True})
        sheet.write_rich_string("A1", "Press ", bold, "Enter", " to go on")
        sheet.write_formula("A2", "=A1", value="Press Enter to go on")
        sheet.insert_textbox("C3", "A text box")
        chart = workbook.add_chart({"type": "line"})
        chart.add_series({"values": "=Sheet1!$A$1:$A$2"})
        chart.set_title({"name": "The chart"})
        sheet.insert_chart("D9", chart)
    content = file.getvalue()
    assert read(content).segments == ("Press Enter to go on", "The chart", "A text box")
    written = read(content).render(["Zum Fortfahren Enter drücken", "Diagramm", "Textfeld"])
    after = openpyxl.load_workbook(BytesIO(written), rich_text=True, data_only=True).active
    assert [(str(part), bool(getattr(part, "font", None) and part.font.b)) for part in after["A1"].value] == [
        ("Zum Fortfahren ", False),
        ("Enter", True),
        (" drücken", False),
    ]
    assert after["A2"].value == "Press Enter to go on"


def test_texts_in_cells_are_read_and_phonetic_guides_stay():
    shared, file = BytesIO(), BytesIO()
    with xlsxwriter.Workbook(shared) as workbook:
        workbook.add_worksheet().write_string("A1", "placeholder text")
    with ZipFile(shared) as old, ZipFile(file, "w") as new:
        for name in old.namelist():
            part = old.read(name)
            if name == "xl/worksheets/sheet1.xml":
                part = part.replace(
                    b"</row>", b'<c r="B1" t="inlineStr"><is><t>In the cell</t></is></c></row>'
                )
            if name == "xl/sharedStrings.xml":
                guide = '<rPh sb="0" eb="1"><t>かんじ</t></rPh></si>'.encode()
                part = part.replace(b"</si>", guide)
            new.writestr(name, part)
    document = read(file.getvalue())
    assert document.segments == ("placeholder text", "In the cell")
    with ZipFile(BytesIO(document.render(["漢字", "Dans la cellule"]))) as archive:
        assert (
            '<t>漢字</t><rPh sb="0" eb="1"><t>かんじ</t></rPh>'
            in archive.read("xl/sharedStrings.xml").decode()
        )
        assert "<is><t>Dans la cellule</t></is>" in archive.read("xl/worksheets/sheet1.xml").decode()


def test_lines_of_a_cell_stay_lines():
    workbook = openpyxl.Workbook()
    workbook.active["A1"] = "first line\nsecond line"
    content = save(workbook)
    assert read(content).segments == ("first line second line",)
    after = openpyxl.load_workbook(BytesIO(read(content).render(["erste Zeile zweite Zeile"])))
    assert after.active["A1"].value == "erste Zeile\nzweite Zeile"
