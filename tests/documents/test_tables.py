import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linear_time import assert_linear
from regard.documents.formats import DocumentOptions, read_document
from regard.documents.tables import read_tsv
from regard.errors import DataError
from sample_documents import CSV, TSV


def upper(name, content, **reading):
    document = read_document(content.encode(), name, DocumentOptions(**reading))
    return document.render([text.upper() for text in document.segments]).decode()


def parse(content, delimiter=","):
    return list(csv.reader(io.StringIO(content, newline=""), delimiter=delimiter))


def test_the_translation_becomes_the_last_column():
    assert upper("x.tsv", "a\tb\r\n \tc\n\nd\t", column="1") == "a\tb\tA\r\n \tc\t\n\nd\t\tD"
    assert upper("x.tsv", "a\tb\nc\td", column="2") == "a\tb\tB\nc\td\tD"


def test_a_named_column_needs_a_header_row():
    rows = [line.split("\t") for line in upper("x.tsv", TSV, column="text").split("\r\n")]
    assert rows[0] == ["id", "text", "note", "translation"]
    assert [row[3] for row in rows if len(row) > 3] == ["translation", "HELLO THERE", "", "你好 🙂"]
    without = ["\t".join(row[:3]) for row in rows]
    assert "\r\n".join(without) == TSV


def test_short_rows_are_padded_to_align_translations():
    content = "id\ttext\tnote\n1\tHello.\tx\r\n2\tGood night.\n"
    assert upper("x.tsv", content, column="text") == (
        "id\ttext\tnote\ttranslation\n1\tHello.\tx\tHELLO.\r\n2\tGood night.\t\tGOOD NIGHT.\n"
    )
    assert upper("x.tsv", "a\nb\tc\td\n", column="1") == "a\t\t\tA\nb\tc\td\tB\n"
    titles = upper("x.tsv", "text\na\tb\n", column="text")
    assert titles == "text\t\ttranslation\na\tb\tA\n"


def test_an_existing_translation_column_is_filled_in_place():
    content = "translation\ttext\tnote\nun\tone\tx\n \ttwo\r\n\t\ty\n\tthree\tz"
    wanted = "translation\ttext\tnote\nun\tone\tx\nTWO\ttwo\r\n\t\ty\nTHREE\tthree\tz"
    assert upper("x.tsv", content, column="text") == wanted
    assert upper("x.tsv", wanted, column="text") == wanted
    assert read_tsv(wanted, "x.tsv", "text", overwrite=True).render(["1", "2", "3"]) == (
        "translation\ttext\tnote\n1\tone\tx\n2\ttwo\r\n\t\ty\n3\tthree\tz"
    )
    short = "text\tnote\ttranslation\na\nb\tc\n"
    assert upper("x.tsv", short, column="text") == "text\tnote\ttranslation\na\t\tA\nb\tc\tB\n"
    assert upper("x.tsv", "translation\na\n", column="translation") == "translation\ttranslation\na\tA\n"


def test_translating_a_table_twice_is_idempotent():
    once = upper("x.tsv", TSV, column="text")
    assert upper("x.tsv", once, column="text") == once


def test_a_missing_column_is_named_in_the_error():
    with pytest.raises(DataError, match="x.tsv line 2 has 1 columns, and none with number 2"):
        upper("x.tsv", "a\tb\nc\n", column="2")
    with pytest.raises(DataError, match="x.tsv has no column 'text'; it has 'id', 'words'"):
        upper("x.tsv", "id\twords\n1\ta\n", column="text")


def test_tabs_and_newlines_in_a_translation_become_spaces():
    document = read_document(b"a\nb", "x.tsv", DocumentOptions())
    assert document.render(["x\ty", "p\nq\r\n"]) == b"a\tx y\nb\tp q"


@pytest.mark.parametrize("name", ["x.tsv", "x.csv"])
def test_a_table_with_several_columns_needs_a_text_column(name):
    sign = "\t" if name == "x.tsv" else ","
    table = f"id{sign}words\n1{sign}a cat\n"
    message = (
        f"{name} has 2 columns; choose the text with --column NAME, or --column NUMBER if the first row is "
    )
    with pytest.raises(DataError) as error:
        upper(name, table)
    assert str(error.value) == f"{message}not a header: 1 'id', 2 'words'"
    with pytest.raises(DataError, match="1 'a cat', 2 'a dog that has an ove...'"):
        upper(name, f"a cat{sign}a dog that has an overlong name\n")
    assert upper(name, "a cat\n\na dog\n") == f"a cat{sign}A CAT\n\na dog{sign}A DOG\n"
    for title in ("text", "Source", "TEXT"):
        assert upper(name, f"id{sign}{title}\n1{sign}a\n") == (
            f"id{sign}{title}{sign}translation\n1{sign}a{sign}A\n"
        )
    assert upper(name, "text\na\n") == f"text{sign}translation\na{sign}A\n"
    assert upper(name, "") == ""


def test_cells_of_a_csv_keep_their_spelling_and_may_contain_line_breaks():
    translated = upper("x.csv", CSV)
    before, after = parse(CSV), parse(translated)
    assert [row[:3] for row in after] == [[*row, *[""] * (3 - len(row))] if row else row for row in before]
    assert [row[3] for row in after if row] == [
        "translation",
        'SAY "HI", YOU',
        "TWO\r\nLINES",
        "",
        'A 5" DISK',
        "ONE",
    ]
    assert translated.startswith(
        '\ufeffid,text,note,translation\r\n1,"say ""hi"", you", a,"SAY ""HI"", YOU"\r\n'
    )
    unquoted = [line for line in translated.split("\r\n") if line.startswith("5")]
    assert unquoted == ["5,one,,ONE"]


@pytest.mark.parametrize(
    "content", ["text,note\rThe cat,a\rA dog,b\r", '"text",note\r"The cat",a', "text\rcat\r"]
)
@pytest.mark.parametrize("name", ["x.csv", "x.tsv"])
def test_a_table_with_carriage_returns_alone_is_not_read_as_one_row(name, content):
    content = content.replace(",", "\t") if name == "x.tsv" else content
    with pytest.raises(DataError, match="line 1 has a (carriage return without|cell whose quotes are not)"):
        read_document(content.encode(), name, DocumentOptions(column="1"))


def test_the_delimiter_of_a_csv_is_found_in_it():
    assert upper("x.csv", "id;text\n1;Yes, sir\n2;No, sir\n") == (
        "id;text;translation\n1;Yes, sir;YES, SIR\n2;No, sir;NO, SIR\n"
    )
    assert upper("x.csv", "id\ttext\n1\tyes, sir\n") == "id\ttext\ttranslation\n1\tyes, sir\tYES, SIR\n"
    assert upper("x.csv", "id,text\n1,a; b\n2,c; d\n") == "id,text,translation\n1,a; b,A; B\n2,c; d,C; D\n"
    assert upper("x.csv", "sep=|\r\nid|text\r\n1|a\r\n") == "sep=|\r\nid|text|translation\r\n1|a|A\r\n"
    assert upper("x.csv", 'text\n"yes, sir"\nno\n') == 'text,translation\n"yes, sir","YES, SIR"\nno,NO\n'


def test_a_translation_column_of_a_csv_is_filled_in_place():
    content = 'text,translation,n\na,,1\n"b",b b,2\n" c",,3\n'
    assert upper("x.csv", content) == 'text,translation,n\na,A,1\n"b",b b,2\n" c","C",3\n'
    assert upper("x.csv", upper("x.csv", content)) == upper("x.csv", content)
    assert upper("x.csv", content, overwrite=True).splitlines()[2] == '"b","B",2'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("text\nyes, sir\n", "x.csv line 2 has 2 cells, and the first row 1; write a cell that contains ','"),
        ('text\n\n"a\nb\n', "x.csv line 3 has a cell whose quotes are not closed, or not at its end"),
        ('text,n\n"a\nb"\n"a"b,c\n', "x.csv line 4 has a cell whose quotes are not closed"),
        ('n,text\n1,"a\nb"\n2\n', "x.csv line 4 has 1 columns, and none with number 2"),
    ],
)
def test_a_malformed_csv_is_rejected_with_its_line(content, message):
    with pytest.raises(DataError) as error:
        upper("x.csv", content)
    assert str(error.value).startswith(message)


CELLS = st.text(st.sampled_from('ab ,;"\n\t|é'), max_size=8)


@given(
    st.lists(st.tuples(CELLS, CELLS), max_size=6),
    st.sampled_from(",;\t"),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_csv_is_read_and_written_as_the_csv_module_does(rows, delimiter, quoting, newline):
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=delimiter, quoting=quoting, lineterminator=newline)
    writer.writerows([("n", "text"), *rows])
    content = f"sep={delimiter}{newline}{file.getvalue()}"
    document = read_document(content.encode(), "x.csv", DocumentOptions())
    texts = [row[1].strip() for row in rows]
    assert list(document.segments) == [text for text in texts if text]
    written = document.render([f'"{text}", so{delimiter}' for text in document.segments]).decode()
    found = parse(written, delimiter)[2:]
    assert [row[:2] for row in found] == [list(row) for row in rows]
    assert [row[2] for row in found] == [f'"{text}", so{delimiter}'.strip() if text else "" for text in texts]


def test_reading_a_csv_takes_linear_time():
    def read(rows):
        content = ("id,text\n" + '1,"Hello, ""you"" there\nand there"\n2,plain words\n' * rows).encode()
        read_document(content, "x.csv", DocumentOptions())

    assert_linear(read, 4000)
