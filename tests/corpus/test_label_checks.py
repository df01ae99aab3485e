import json
from collections import Counter

import pytest

from regard.corpus import label_checks
from regard.corpus.findings import CorpusReport, FindingKind
from regard.corpus.label_checks import LabelCheckConfig, check_labelled_corpus, check_labelled_text
from regard.errors import ConfigError
from regard.text.labelled_files import LabelledFiles

MANY = 9_000
"""More than one block."""


def good_lines(count: int) -> list[bytes]:
    return [f"{'good' if i % 3 else 'bad'}\ttext number {i}".encode() for i in range(count)]


@pytest.fixture
def check(tmp_path):
    def write_and_check(lines, **options) -> CorpusReport:
        path = tmp_path / "train.tsv"
        path.write_bytes(b"".join(line + b"\n" for line in lines))
        return check_labelled_corpus(LabelledFiles(path), **options)

    return write_and_check


def lines_by_kind(report: CorpusReport) -> dict[str, list[int]]:
    return {finding.kind.name: list(finding.lines) for finding in report.findings}


def excluded_lines(report: CorpusReport) -> dict[int, str]:
    """Return the lines that are excluded from training, and why."""
    return {line: f.kind.name for f in report.findings if f.kind.excludes_line for line in f.lines}


def test_good_texts_have_no_findings_and_their_labels_are_counted(check):
    report = check(good_lines(MANY))
    assert report.findings == ()
    assert list(report.labels.items()) == [("good", 6_000), ("bad", 3_000)]
    assert (report.pairs, report.fatal_finding, excluded_lines(report)) == (MANY, None, {})


def test_planted_defects_are_found_at_their_lines_and_nowhere_else(check):
    planted = {
        1: ("not UTF-8", b"good\tcaf\xe9"),
        2: ("NUL", b"good\ta\0b"),
        77: ("blank", b"good\t \xc2\xa0"),
        78: ("blank", b"\ta text"),
        500: ("no label", b"only a text"),
        501: ("no label", b"good\ttwo\ttabs"),
        MANY: ("long label", b"a label of many words " * 5 + b"\ta text"),
    }
    lines = [planted[i][1] if i in planted else line for i, line in enumerate(good_lines(MANY), start=1)]
    report = check(lines)
    assert excluded_lines(report) == {line: kind for line, (kind, _) in planted.items()}
    assert {f.kind.name: f.count for f in report.findings} == Counter(kind for kind, _ in planted.values())
    assert sum(report.labels.values()) == MANY - len(planted)


def test_a_text_with_two_labels_is_reported_at_all_its_lines(check):
    lines = good_lines(MANY)
    lines[10], lines[8_500], lines[20], lines[21] = (
        b"good\tSame",
        b"bad\t Same ",
        b"good\tTwice",
        b"good\tTwice",
    )
    report = check(lines)
    assert lines_by_kind(report) == {"conflict": [11, 8_501], "duplicate": [22]}
    assert excluded_lines(report) == {}  # reported, but used for training
    assert [finding.kind.severity for finding in report.findings] == ["bad", "note"]


def test_a_text_of_the_test_set_is_reported_with_any_label(check, tmp_path):
    (tmp_path / "test.jsonl").write_text(json.dumps({"label": "bad", "text": "text number 8200"}) + "\n")
    report = check(good_lines(MANY), against=LabelledFiles(tmp_path / "test.jsonl"))
    assert lines_by_kind(report) == {"shared": [8_201]}
    assert excluded_lines(report) == {8_201: "shared"}


def test_a_header_counts_as_a_line_but_not_as_a_text(check):
    report = check(
        [b"text\tlabel", b"a\tgood", b"b\tbad", b"\tbad"], settings=LabelCheckConfig(min_texts_per_label=1)
    )
    assert lines_by_kind(report) == {"header": [1], "blank": [4]}
    assert report.labels == {"good": 1, "bad": 1}
    assert excluded_lines(report) == {1: "header", 4: "blank"}
    assert [finding.kind.name for finding in report.bad_findings] == ["blank"]
    assert json.loads(report.to_json())["bad"] == 1


def test_rare_labels_and_imbalance_are_reported(check):
    report = check([*good_lines(300), b"odd\tone", b"odd\ttwo"])
    details = {finding.kind.name: finding.detail for finding in report.findings}
    assert details == {
        "rare label": "fewer than 5 texts have odd",
        "imbalance": "200 texts have the label good, and 2 the label odd",
    }
    assert report.fatal_finding is None
    assert report.bad_findings == ()


def test_a_single_label_is_fatal(check):
    fatal = check([b"good\ta", b"good\tb"]).fatal_finding
    assert fatal is not None
    assert fatal.detail.endswith(
        "train.tsv: all 2 texts have the label good; there must be at least two labels"
    )


def test_texts_in_the_label_column_are_fatal_with_the_remedy(check):
    fatal = check([b"text number %d\t%d" % (i, i % 2) for i in range(100)]).fatal_finding
    assert fatal is not None
    assert (
        "100 labels for 100 texts; if these are the texts, name the other column with --label" in fatal.detail
    )


def test_an_empty_file_and_one_without_a_good_line_are_fatal(check):
    assert "is empty" in check([]).fatal_finding.detail
    assert "no usable text; most frequent defect: no label" in check([b"a", b"b"]).fatal_finding.detail


def test_two_files_of_different_length_are_fatal(tmp_path):
    (tmp_path / "texts").write_bytes(b"a\nb\nc\n")
    (tmp_path / "labels").write_bytes(b"0\n1\n")
    report = check_labelled_corpus(LabelledFiles(tmp_path / "texts", tmp_path / "labels"))
    assert report.fatal_finding is not None
    assert "texts has 3 lines and " in report.fatal_finding.detail


def test_thresholds_are_settings():
    strict = LabelCheckConfig(max_label_length=5)
    assert check_labelled_text(b"x", b"abcdef", strict) == label_checks.LONG_LABEL
    assert check_labelled_text(b" abcdef ", b" x") == ("abcdef", "x")
    with pytest.raises(ConfigError, match="check.min_texts_per_label = 0 cannot work"):
        LabelCheckConfig(min_texts_per_label=0)
    with pytest.raises(ConfigError, match="check.max_labels_per_text = 0.0 cannot work"):
        LabelCheckConfig(max_labels_per_text=0.0)


def test_every_kind_has_a_meaning_and_a_remedy():
    all_kinds = [kind for kind in vars(label_checks).values() if isinstance(kind, FindingKind)]
    assert all(kind.meaning and kind.remedy for kind in all_kinds)
    assert {kind.name for kind in label_checks.LABELLED_ROW_KINDS.by_priority if kind.excludes_line} == {
        k.name for k in all_kinds if k.excludes_line
    }


def test_control_characters_and_long_texts_are_noted_and_trained_on(check):
    lines = good_lines(MANY)
    lines[20], lines[8_195] = "good\tcaf\x85\x9f".encode(), b"good\t" + b"word " * 5_000
    report = check(lines)
    assert lines_by_kind(report) == {"long text": [8_196], "control characters": [21]}
    assert (excluded_lines(report), report.bad_findings, report.fatal_finding) == ({}, (), None)
    assert sum(report.labels.values()) == MANY


@pytest.mark.parametrize("first", [b"Kategorie\tSatz", b"label\tSatz"])
def test_a_first_label_that_no_other_line_has_is_asked_about(check, first):
    fatal = check([first, *good_lines(30)]).fatal_finding
    assert fatal is not None
    label = first.split(b"\t")[0].decode()
    assert f"line 1 has the label '{label}'" in fatal.detail
    assert f"--label-column {label}" in fatal.detail
    assert "--label-column 1" in fatal.detail


def test_the_question_about_a_header_is_answered_by_the_label_column(tmp_path):
    path = tmp_path / "train.tsv"
    path.write_bytes(b"".join(line + b"\n" for line in [b"Kategorie\tSatz", *good_lines(30)]))
    by_name = check_labelled_corpus(LabelledFiles(path, label_column="Kategorie"))
    assert (by_name.fatal_finding, set(by_name.labels)) == (None, {"good", "bad"})
    by_number = check_labelled_corpus(LabelledFiles(path, label_column="1"))
    assert (by_number.fatal_finding, by_number.labels["Kategorie"]) == (None, 1)


def test_no_header_is_suspected_where_another_label_is_as_rare(check):
    assert check([b"odd\tone", *good_lines(30), b"rare\ttwo"]).fatal_finding is None
    assert check([*good_lines(30), b"odd\tone"]).fatal_finding is None
