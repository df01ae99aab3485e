import json

from regard.jobs.line_report import JobReport, LineIssue


def test_a_report_counts_all_lines_and_lists_the_first():
    report = JobReport()
    for start in (1, 101):
        report.add(100, [LineIssue(line, "not UTF-8", "") for line in range(start, start + 8)])
    report.add(1, [LineIssue(201, "split", "")])
    failed, split = report.summary_lines()
    assert failed.startswith("16 lines (1, 2, 3, 4, 5, 6, 7, 8, 101, 102, ...) not UTF-8: left empty")
    assert split.startswith("1 line (201) too long: translated sentence by sentence")


def test_an_issue_is_a_json_object_with_line_kind_and_message():
    issue = LineIssue(7, "cut", "only the beginning is translated")
    assert json.loads(issue.to_json()) == {
        "line": 7,
        "kind": "cut",
        "message": "only the beginning is translated",
    }
