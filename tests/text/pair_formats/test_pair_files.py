import gzip
import importlib.util
import os
from pathlib import Path

import pytest
from benchmarks.corpus_formats import WRITERS

from peak_memory import measure_peak_memory
from regard.errors import DataError
from regard.text.corpus_files import MALFORMED_ROW, FileLines
from regard.text.pair_formats.pair_files import PairFiles
from regard.text.pair_formats.units import PairOptions
from sample_foreign_files import KNOWN_BY_CONTENT

EN_DE = PairOptions("en", "de")
PAIRS = [(f'A <b>cat</b> & "{i}", it\'s 5 < 6', f"Eine „Katze“ {i}; \\n é\u2028") for i in range(40)]


def rows(path: Path, content: str | bytes | None = None, options: PairOptions = EN_DE):
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(PairFiles(path, None, options).read_rows())


def error(path: Path, content: str | bytes, options: PairOptions = EN_DE) -> str:
    with pytest.raises(DataError) as caught:
        rows(path, content, options)
    return str(caught.value).replace(f"{path}", path.name)


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_holds_the_pairs_that_other_software_wrote(tmp_path, name):
    WRITERS[name](tmp_path / "a", PAIRS)
    files = sorted(tmp_path.iterdir())
    corpus = PairFiles(files[-1], files[0]) if name == "text" else PairFiles(files[0], None, EN_DE)
    assert [corpus.normalize_row(row) for row in corpus.read_rows()] == [
        (source, target.strip()) for source, target in PAIRS
    ]
    assert [unit.skipped for unit in corpus.read_units()].count("header") == (name == "csv")


def test_line_breaks_in_a_segment_become_a_space(tmp_path):
    expected = [(b"a b", b"c d")]
    variants = "<tuv xml:lang='en'><seg>\n a \r\n  b\n</seg></tuv><tuv xml:lang='de'><seg>c\n\nd</seg></tuv>"
    assert rows(tmp_path / "a.tmx", f"<tmx><body><tu>{variants}</tu></body></tmx>") == expected
    assert rows(tmp_path / "a.csv", 'source,target\n"a\r\n b","c\n\nd"\n') == expected
    assert rows(tmp_path / "a.jsonl", r'{"source": "a\nb", "target": "c \r\n d"}') == expected
    assert rows(tmp_path / "a.po", 'msgid "a\\n"\n"b\\n"\nmsgstr "c\\n"\n"d"\n') == expected


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"PAR1\x15\x04", "a.txt is a Parquet file; its name must end in .parquet"),
        ("a.tsv", b"PAR1\x15\x04", "a.tsv is a Parquet file, not .tsv; its name must end in .parquet"),
        ("a.tsv", gzip.compress(b"a\tb\n", mtime=0), "a.tsv is compressed; its name must end in .gz"),
        ("a.csv", KNOWN_BY_CONTENT["files.zip"], "a.csv is a zip archive; unpack it and give the text file"),
        ("a.tsv", "a\tb\nc\td\n".encode("utf-16"), "a.tsv is UTF-16 text, not .tsv"),
        ("a.jsonl", bytes(500), "a.jsonl is binary data or UTF-16 text, not .jsonl"),
        ("a.csv", KNOWN_BY_CONTENT["page.html"], "a.csv is HTML, not .csv; convert it"),
        ("a.tmx", KNOWN_BY_CONTENT["page.html"], "a.tmx is HTML, not .tmx; convert it"),
        ("a.tmx", b"a\tb\n", "a.tmx line 1 is not well-formed XML"),
        ("a.tmx", KNOWN_BY_CONTENT["a.xliff"], "a.tmx is XLIFF, not .tmx; its name must end in .xliff"),
        (
            "a.po",
            KNOWN_BY_CONTENT["a.tmx"],
            "a.po is a translation memory, not .po; its name must end in .tmx",
        ),
        ("a.xml", KNOWN_BY_CONTENT["a.tmx"], "a.xml is a translation memory; its name must end in .tmx"),
        ("a.parquet", b"a\tb\n", "a.parquet is text, not Parquet"),
        ("a.parquet", b"PAR1 cut off", "a.parquet cannot be read as Parquet: "),
        (
            "a.parquet.gz",
            gzip.compress(b"PAR1", mtime=0),
            "a.parquet.gz is a compressed Parquet file; decompress it",
        ),
        ("a.jsonl", b'msgid "a"\nmsgstr "b"\n', "a.jsonl is gettext messages, not .jsonl; its name must end"),
        ("a", b"a\tb\n", "a does not say how it holds pairs; its name must end in .tsv, .csv, .jsonl"),
    ],
)
def test_content_of_another_type_than_the_name_says_is_rejected(tmp_path, name, content, message):
    assert error(tmp_path / name, content).startswith(message)


def test_a_table_may_begin_with_markup(tmp_path):
    assert rows(tmp_path / "a.tsv", "<p>a</p>\t<p>b</p>\n") == [(b"<p>a</p>", b"<p>b</p>")]


def test_a_file_of_pairs_among_text_files_is_pointed_to_its_flag(tmp_path):
    (tmp_path / "a.tmx").write_bytes(KNOWN_BY_CONTENT["a.tmx"])
    (tmp_path / "b").write_bytes(b"b\n")
    for files in ((tmp_path / "a.tmx", tmp_path / "b"), (tmp_path / "b", tmp_path / "a.tmx")):
        with pytest.raises(DataError, match=r"a.tmx is a translation memory.*, give it with --pairs"):
            PairFiles(*files).reject_other_content()


def test_parquet_without_pyarrow_names_the_extra(tmp_path, monkeypatch):
    WRITERS["parquet"](tmp_path / "a", PAIRS)
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pyarrow" else find(name))
    assert 'it needs the package pyarrow: pip install "regard[parquet]"' in error(
        tmp_path / "a.parquet", (tmp_path / "a.parquet").read_bytes()
    )


def test_positions_are_named_by_the_kind_of_file():
    assert str(FileLines(("a.tmx",), (3,))) == "a.tmx unit 3"
    assert str(FileLines(("a.csv.gz",), (3, 4))) == "a.csv.gz rows 3, 4"
    assert str(FileLines(("a.po",), (3,))) == "a.po line 3"


@pytest.mark.parametrize(
    ("header", "options"),
    [
        ("id,Source,Target", PairOptions()),
        ("id,en,de", EN_DE),
        ("id,en,de", PairOptions(target_language="de")),
        ("target,en,de", EN_DE),
        ("id,en-GB,de_DE", EN_DE),
        ("a,b,c", PairOptions(source_column="b", target_column="c")),
        ("a,b,c", PairOptions(source_column="b", target_column="3")),
    ],
)
def test_columns_are_chosen_by_name_language_or_number(tmp_path, header, options):
    assert rows(tmp_path / "a.csv", f"{header}\n1,the cat,die Katze\n", options) == [
        (b"the cat", b"die Katze")
    ]
    tsv = f"{header}\n1,the cat,die Katze\n".replace(",", "\t")
    assert rows(tmp_path / "a.tsv", tsv, options) == [(b"the cat", b"die Katze")]


def test_columns_by_number_leave_the_first_row_a_pair(tmp_path):
    options = PairOptions(source_column="3", target_column="1")
    assert rows(tmp_path / "a.tsv", "1\tx\ta\n2\ty\tb\n", options) == [(b"a", b"1"), (b"b", b"2")]


def test_a_table_of_two_columns_needs_no_header(tmp_path):
    assert rows(tmp_path / "a.csv", "Yes;Ja\nNo;Nein\n") == [(b"Yes", b"Ja"), (b"No", b"Nein")]


def test_unclear_columns_are_asked_for(tmp_path):
    assert error(tmp_path / "a.csv", "id,x,y\n1,a,b\n") == (
        "a.csv has the columns 'id', 'x', 'y'; name the one with the source texts with --source-column, by "
        "its name or number"
    )
    assert error(tmp_path / "a.csv", "en,de\na,b\n", PairOptions()) == (
        "a.csv has texts in en and de; say which are translated into which, as in --source-language en "
        "--target-language de, or the reverse"
    )
    assert "a.csv has no text in fr; it has en and de" in error(
        tmp_path / "a.csv", "en,de\na,b\n", PairOptions("fr", "de")
    )
    assert "has no column 'x'" in error(tmp_path / "a.tsv", "a\tb\n", PairOptions(source_column="x"))


def test_the_header_of_a_table_counts_in_the_position(tmp_path):
    (tmp_path / "a.csv").write_text('source,target\n"a\nb",c\nonly one\nd,e\n')
    units = list(PairFiles(tmp_path / "a.csv").read_units())
    assert [(unit.number, unit.line, unit.skipped) for unit in units] == [
        (1, 1, "header"),
        (2, 2, None),
        (3, 4, None),
        (4, 5, None),
    ]
    assert units[2].row is MALFORMED_ROW


def test_json_lines_may_hold_a_text_for_each_language(tmp_path):
    content = (
        '{"id": 1, "translation": {"de": "Katze", "en": "cat", "fr": "chat"}}\n{"translation": {"de": "x"}}\n'
    )
    expected = [(b"cat", b"Katze"), MALFORMED_ROW]
    assert rows(tmp_path / "a.jsonl", content) == expected
    assert "a.jsonl has texts in de, en and fr; say which" in error(
        tmp_path / "a.jsonl", content, PairOptions()
    )
    assert rows(tmp_path / "b.jsonl", '{"en": "cat", "de": "Katze"}\n') == expected[:1]
    columns = PairOptions(source_column="q", target_column="a")
    assert rows(tmp_path / "c.jsonl", '{"q": "cat", "a": "Katze"}\n', columns) == expected[:1]
    assert "a.jsonl has no key 'q'; it has 'id', 'translation'" in error(
        tmp_path / "a.jsonl", content, columns
    )


def test_a_null_is_an_untranslated_line(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"source": "a", "target": null}\n{"source": "b", "target": "c"}\n')
    units = list(PairFiles(tmp_path / "a.jsonl").read_units())
    assert [(unit.number, unit.skipped) for unit in units] == [(1, "untranslated"), (2, None)]


def write_parquet(path, columns, **options):
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table(columns), path, **options)
    return path


def test_parquet_columns_of_any_text_type(tmp_path):
    import pyarrow

    columns = {
        "id": [1, 2, 3],
        "source": pyarrow.array(["a", "b\nc", None], pyarrow.large_string()),
        "target": pyarrow.array(["x", "y", "x"]).dictionary_encode(),
    }
    path = write_parquet(tmp_path / "a.parquet", columns, row_group_size=2)
    units = list(PairFiles(path).read_units())
    assert [unit.row for unit in units[:2]] == [(b"a", b"x"), (b"b c", b"y")]
    assert (units[2].number, units[2].skipped) == (3, "untranslated")


def test_parquet_columns_are_chosen_or_asked_for(tmp_path):
    columns = {"en": ["a"], "de": ["b"], "n": [1]}
    path = write_parquet(tmp_path / "a.parquet", columns)
    assert rows(path) == [(b"a", b"b")]
    assert rows(path, options=PairOptions(source_column="de", target_column="en")) == [(b"b", b"a")]
    with pytest.raises(DataError, match="a.parquet has texts in en and de; say which"):
        rows(path, options=PairOptions())
    struct = write_parquet(
        tmp_path / "b.parquet", {"pair": [{"en": "a", "de": "b"}, {"en": "c", "de": None}]}
    )
    assert rows(struct) == [(b"a", b"b")]
    with pytest.raises(DataError, match=r"needs two columns of text, or a struct 'translation'; it has 'x'"):
        rows(write_parquet(tmp_path / "c.parquet", {"x": ["a"], "n": [1]}))
    with pytest.raises(DataError, match=r"has the columns 'x', 'y'; name the one with the source texts"):
        rows(write_parquet(tmp_path / "d.parquet", {"x": ["a"], "y": ["b"]}))


COUNT = """
import sys
from pathlib import Path
from regard.text.pair_formats.pair_files import PairFiles
from regard.text.pair_formats.units import PairOptions
corpus = PairFiles(Path(sys.argv[1]), None, PairOptions("en", "de"))
print(sum(1 for _ in corpus.read_rows()))
"""


def test_memory_does_not_grow_with_the_row_groups_of_a_parquet_file(tmp_path):
    peaks = []
    for count in (5_000, 100_000):
        noise = os.urandom(150 * count).hex()
        texts = [noise[start : start + 300] for start in range(0, len(noise), 300)]
        path = write_parquet(
            tmp_path / f"{count}.parquet", {"source": texts, "target": texts}, row_group_size=2000
        )
        lines, peak = measure_peak_memory(COUNT, path)
        assert lines == [str(count)]
        peaks.append(peak)
    assert path.stat().st_size > 20e6
    assert peaks[1] < peaks[0] + 10


def test_memory_does_not_grow_with_the_file(tmp_path):
    unit = (
        '<tu><tuv xml:lang="en"><seg>{0} %s</seg></tuv><tuv xml:lang="de"><seg>{0} b</seg></tuv></tu>\n'
        % ("a" * 300)
    )
    peaks = []
    for count in (100, 50_000):
        units = "".join(unit.format(i) for i in range(count))
        path = tmp_path / f"{count}.tmx.gz"
        path.write_bytes(gzip.compress(f"<tmx><body>{units}</body></tmx>".encode(), 1))
        lines, peak = measure_peak_memory(COUNT, path)
        assert lines == [str(count)]
        peaks.append(peak)
    assert peaks[1] < peaks[0] + 4  # of 21 megabytes of text
