import json
import math

from regard.jobs.line_report import LineIssue
from regard.translation.result import RowFormat, Translation, WordConfidence, format_rows

TRANSLATION = Translation(
    "le\tchat",
    -0.5,
    -1.25,
    (" le", "\t", "chat"),
    (Translation("un chat", -2.0, -3.0, (" un", " chat")),),
    ((0, 0), (1, 1)),
    (WordConfidence("le", 0.5), WordConfidence("chat", 1.0)),
)


def test_a_plain_row_is_the_text():
    assert format_rows(RowFormat(), 7, "the cat", TRANSLATION, None) == "le\tchat\n"


def test_columns_are_separated_by_tabs_and_texts_have_none():
    row_format = RowFormat(include_alternatives=True, scores=True, alignments=True)
    assert (
        format_rows(row_format, 7, "the cat", TRANSLATION, None)
        == "7\t-0.5000\tle chat\t0-0 1-1\n7\t-2.0000\tun chat\t\n"
    )
    assert format_rows(RowFormat(scores=True), 7, "the cat", TRANSLATION, None) == "-0.5000\tle chat\n"


def test_json_has_every_field_on_one_line():
    row_format = RowFormat(include_alternatives=True, alignments=True, confidences=True, json=True)
    row = format_rows(row_format, 7, "the\u2028cat", TRANSLATION, LineIssue(7, "split", "into 2 parts"))
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
        "unlike_training": None,
        "issue": {"kind": "split", "message": "into 2 parts"},
    }


def test_an_infinite_score_is_null_in_json():
    row = format_rows(RowFormat(json=True), 1, "a", Translation("", -math.inf, -math.inf), None)
    assert json.loads(row)["score"] is None
