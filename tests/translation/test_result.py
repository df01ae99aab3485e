import json
import math

from regard.jobs.line_report import JobReport, LineIssue
from regard.translation.result import RowFormat, Translation, WordConfidence, format_rows

FOUND = Translation(
    "le\tchat",
    -0.5,
    -1.25,
    (" le", "\t", "chat"),
    (Translation("un chat", -2.0, -3.0, (" un", " chat")),),
    ((0, 0), (1, 1)),
    (WordConfidence("le", 0.5), WordConfidence("chat", 1.0)),
)


def test_a_plain_row_is_the_text_alone():
    assert format_rows(RowFormat(), 7, "the cat", FOUND, None) == "le\tchat\n"


def test_columns_have_tabs_between_them_and_nowhere_else():
    form = RowFormat(include_alternatives=True, scores=True, alignments=True)
    assert (
        format_rows(form, 7, "the cat", FOUND, None)
        == "7\t-0.5000\tle chat\t0-0 1-1\n7\t-2.0000\tun chat\t\n"
    )
    assert format_rows(RowFormat(scores=True), 7, "the cat", FOUND, None) == "-0.5000\tle chat\n"


def test_json_has_all_that_is_known_on_one_line():
    form = RowFormat(include_alternatives=True, alignments=True, confidences=True, json=True)
    row = format_rows(form, 7, "the\u2028cat", FOUND, LineIssue(7, "split", "into 2 parts"))
    assert row.endswith("\n")
    assert row.count("\n") == 1
    assert json.loads(row) == {
        "line": 7,
        "source": "the\u2028cat",
        "translation": "le\tchat",
        "score": -0.5,
        "log_probability": -1.25,
        "tokens": [" le", "\t", "chat"],
        "alignment": [[0, 0], [1, 1]],
        "words": [{"text": "le", "confidence": 0.5}, {"text": "chat", "confidence": 1.0}],
        "alternatives": [
            {
                "translation": "un chat",
                "score": -2.0,
                "log_probability": -3.0,
                "tokens": [" un", " chat"],
                "alignment": [],
                "words": [],
            }
        ],
        "issue": {"kind": "split", "message": "into 2 parts"},
    }


def test_what_is_impossible_is_null_in_json():
    row = format_rows(RowFormat(json=True), 1, "a", Translation("", -math.inf, -math.inf), None)
    assert json.loads(row)["score"] is None


def test_a_report_counts_all_and_names_the_first():
    report = JobReport()
    for start in (1, 101):
        report.add(100, [LineIssue(line, "not UTF-8", "") for line in range(start, start + 8)])
    report.add(1, [LineIssue(201, "split", "")])
    bad, split = report.summary_lines()
    assert bad.startswith("16 lines (1, 2, 3, 4, 5, 6, 7, 8, 101, 102, ...) not UTF-8: left empty")
    assert split.startswith("1 line (201) too long: translated sentence by sentence")
