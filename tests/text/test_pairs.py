import gzip
import json

import pytest

from regard.corpus.pair_checks import check_pair_corpus
from regard.errors import DataError
from regard.text.corpus_files import MALFORMED_ROW, PairFiles


def rows(path, content, ending=""):
    path = path.with_name(path.name + ending)
    path.write_bytes(gzip.compress(content) if ending == ".gz" else content)
    return list(PairFiles(path).read_rows())


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_a_tsv_line_is_two_columns(tmp_path, ending):
    content = b"a\tb\r\nno tab\none\ttwo\tthree\n\t\n\n"
    found = rows(tmp_path / "x.tsv", content, ending)
    assert found == [(b"a", b"b"), MALFORMED_ROW, MALFORMED_ROW, (b"", b""), MALFORMED_ROW]


def test_a_json_line_has_two_texts(tmp_path):
    lines = [
        {"source": "a\u2028", "target": "é", "id": 3},
        {"source": "a"},
        {"source": 1, "target": "b"},
        ["a", "b"],
    ]
    content = "".join(json.dumps(line) + "\n" for line in lines).encode() + b"{\n\xff\n" + b"[" * 100_000
    found = rows(tmp_path / "x.JSONL", content)
    assert found == [("a\u2028".encode(), "é".encode()), *[MALFORMED_ROW] * 6]


def test_two_files_are_paired_by_line_to_the_end_of_the_longer(tmp_path):
    (tmp_path / "a").write_bytes(b"a\nb\n")
    (tmp_path / "b").write_bytes(b"c\n")
    assert list(PairFiles(tmp_path / "a", tmp_path / "b").read_rows()) == [(b"a", b"c"), (b"b", None)]


def test_a_name_that_does_not_say_how_is_refused(tmp_path):
    for name in ("pairs.csv", "pairs", "pairs.gz"):
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(DataError, match="its name must end in .tsv or .jsonl"):
            PairFiles(tmp_path / name).read_rows()


def test_the_doctor_names_lines_that_hold_no_pair(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_bytes(b"one line\tune ligne\nno tab\n\t\nx\xff\ty\n")
    report = check_pair_corpus(PairFiles(path))
    assert report.bad_lines == {2: "no pair", 3: "blank side", 4: "not UTF-8"}
    assert (report.name, report.pairs, report.fatal_finding) == (str(path), 4, None)


def test_half_a_character_in_json_is_not_utf8(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"source": "\\ud800 x", "target": "b"}\n{"source": "one", "target": "un"}\n')
    assert check_pair_corpus(PairFiles(path)).bad_lines == {1: "not UTF-8"}
