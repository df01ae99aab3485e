import json
from collections import Counter

import pytest

from regard.corpus import label_checks
from regard.corpus.findings import CorpusReport, FindingKind
from regard.corpus.label_checks import LabelCheckConfig, check_labelled_corpus, check_labelled_text
from regard.errors import ConfigError
from regard.text.corpus_files import LabelledFiles

MANY = 9_000
"""More than one slab."""


def sound(count: int) -> list[bytes]:
    return [f"{'good' if i % 3 else 'bad'}\ttext number {i}".encode() for i in range(count)]


@pytest.fixture
def check(tmp_path):
    def examined(lines, **options) -> CorpusReport:
        path = tmp_path / "train.tsv"
        path.write_bytes(b"".join(line + b"\n" for line in lines))
        return check_labelled_corpus(LabelledFiles(path), **options)

    return examined


def found(report: CorpusReport) -> dict[str, list[int]]:
    return {finding.kind.name: list(finding.lines) for finding in report.findings}


def test_sound_texts_have_no_findings_and_their_labels_are_counted(check):
    report = check(sound(MANY))
    assert report.findings == ()
    assert list(report.labels.items()) == [("good", 6_000), ("bad", 3_000)]
    assert (report.pairs, report.fatal_finding, report.bad_lines) == (MANY, None, {})


def test_planted_defects_are_found_at_their_lines_and_nowhere_else(check):
    planted = {
        1: ("not UTF-8", b"good\tcaf\xe9"),
        2: ("NUL", b"good\ta\0b"),
        77: ("blank", b"good\t \xc2\xa0"),
        78: ("blank", b"\ta text"),
        500: ("no label", b"only a text"),
        501: ("no label", b"good\ttwo\ttabs"),
        8_000: ("control characters", b"good\ta\x0cb"),
        8_193: ("long text", b"good\t" + b"word " * 5_000),
        MANY: ("long label", b"a label of many words " * 5 + b"\ta text"),
    }
    lines = [planted[i][1] if i in planted else line for i, line in enumerate(sound(MANY), start=1)]
    report = check(lines)
    assert report.bad_lines == {line: kind for line, (kind, _) in planted.items()}
    assert {f.kind.name: f.count for f in report.findings} == Counter(kind for kind, _ in planted.values())
    assert sum(report.labels.values()) == MANY - len(planted)


def test_one_text_under_two_labels_is_named_at_every_line_it_stands_on(check):
    lines = sound(MANY)
    lines[10], lines[8_500], lines[20], lines[21] = (
        b"good\tSame",
        b"bad\t Same ",
        b"good\tTwice",
        b"good\tTwice",
    )
    report = check(lines)
    assert found(report) == {"conflict": [11, 8_501], "duplicate": [22]}
    assert report.bad_lines == {}  # it is said, and learned from
    assert [finding.kind.severity for finding in report.findings] == ["bad", "note"]


def test_a_text_of_the_test_set_is_named_whatever_its_label(check, tmp_path):
    (tmp_path / "test.jsonl").write_text(json.dumps({"label": "bad", "text": "text number 8200"}) + "\n")
    report = check(sound(MANY), against=LabelledFiles(tmp_path / "test.jsonl"))
    assert found(report) == {"shared": [8_201]}
    assert report.bad_lines == {8_201: "shared"}


def test_a_header_is_a_line_and_no_text(check):
    report = check(
        [b"text\tlabel", b"a\tgood", b"b\tbad", b"\tbad"], settings=LabelCheckConfig(min_texts_per_label=1)
    )
    assert found(report) == {"header": [1], "blank": [4]}
    assert report.labels == {"good": 1, "bad": 1}
    assert report.bad_lines == {1: "header", 4: "blank"}
    assert [finding.kind.name for finding in report.bad_findings] == ["blank"]
    assert json.loads(report.to_json())["bad"] == 1


def test_rare_labels_and_imbalance_are_noted(check):
    report = check([*sound(300), b"odd\tone", b"odd\ttwo"])
    said = {finding.kind.name: finding.detail for finding in report.findings}
    assert said == {
        "rare label": "fewer than 5 texts have odd",
        "imbalance": "200 texts have the label good, and 2 the label odd",
    }
    assert report.fatal_finding is None
    assert report.bad_findings == ()


def test_a_single_label_is_fatal(check):
    fatal = check([b"good\ta", b"good\tb"]).fatal_finding
    assert fatal is not None
    assert fatal.detail.endswith("train.tsv: all 2 texts have the label good; there must be at least two")


def test_texts_where_labels_should_be_are_fatal_with_the_remedy(check):
    fatal = check([b"text number %d\t%d" % (i, i % 2) for i in range(100)]).fatal_finding
    assert fatal is not None
    assert (
        "100 labels for 100 texts; put the label first, label<TAB>text, or say in a first line"
        in fatal.detail
    )


def test_an_empty_file_and_one_without_a_good_line_are_fatal(check):
    assert "is empty" in check([]).fatal_finding.detail
    assert "no text that could be used; most: no label" in check([b"a", b"b"]).fatal_finding.detail


def test_two_files_of_different_length_are_fatal(tmp_path):
    (tmp_path / "texts").write_bytes(b"a\nb\nc\n")
    (tmp_path / "labels").write_bytes(b"0\n1\n")
    report = check_labelled_corpus(LabelledFiles(tmp_path / "texts", tmp_path / "labels"))
    assert report.fatal_finding is not None
    assert "texts has 3 lines and " in report.fatal_finding.detail


def test_thresholds_are_settings():
    assert check_labelled_text(b"abcdef", b"x", LabelCheckConfig(max_length=5)) == label_checks.LONG_TEXT
    assert check_labelled_text(b" abcdef ", b" x") == ("abcdef", "x")
    with pytest.raises(ConfigError, match="check.min_texts_per_label = 0 cannot work"):
        LabelCheckConfig(min_texts_per_label=0)
    with pytest.raises(ConfigError, match="check.max_labels_per_text = 0.0 cannot work"):
        LabelCheckConfig(max_labels_per_text=0.0)


def test_every_kind_says_what_it_means_and_what_to_do():
    every = [kind for kind in vars(label_checks).values() if isinstance(kind, FindingKind)]
    assert all(kind.meaning and kind.remedy for kind in every)
    assert {kind.name for kind in label_checks.LABELLED_ROW_KINDS.by_priority} == {
        k.name for k in every if k.excludes_line
    }
