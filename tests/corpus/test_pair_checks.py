import gzip
import json
import subprocess
import sys
from collections import Counter

import pytest

from peak_memory import measure_peak_memory
from regard.corpus import findings as kinds
from regard.corpus.findings import MAX_REPORTED_LINES, CorpusReport
from regard.corpus.pair_checks import PairCheckConfig, check_pair, check_pair_corpus
from regard.errors import ConfigError, DataError
from regard.text.pair_formats.pair_files import PairFiles

PAIRS = 20_000


@pytest.fixture(scope="module")
def book() -> list[tuple[bytes, bytes]]:
    """A corpus without defects, generated in a process without shape checks, which are slow."""
    code = (
        "import sys; from regard.demo.phrasebook.corpus import phrasebook\n"
        f"lines = [line + '\\n' for pair in phrasebook({PAIRS}, 0, 0).train for line in pair]\n"
        "sys.stdout.buffer.write(''.join(lines).encode())"
    )
    lines = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.splitlines()
    return list(zip(lines[::2], lines[1::2], strict=True))


@pytest.fixture
def check(tmp_path):
    """A function that writes two sides and checks them."""

    def write_and_check(source, target, **options) -> CorpusReport:
        paths = tmp_path / "source", tmp_path / "target"
        for path, lines in zip(paths, (source, target), strict=True):
            path.write_bytes(b"".join(line + b"\n" for line in lines))
        return check_pair_corpus(PairFiles(*paths), **options)

    return write_and_check


def lines_by_kind(report: CorpusReport) -> dict[str, list[int]]:
    return {finding.kind.name: list(finding.lines) for finding in report.findings}


def excluded_lines(report: CorpusReport) -> dict[int, str]:
    """Return the lines that are excluded from training, and why."""
    return {line: f.kind.name for f in report.findings if f.kind.excludes_line for line in f.lines}


def sides(pairs):
    return [a for a, _ in pairs], [b for _, b in pairs]


def test_a_corpus_without_defects_has_no_findings(check, book):
    report = check(*sides(book))
    assert report.findings == ()
    assert (report.pairs, report.fatal_finding, excluded_lines(report)) == (PAIRS, None, {})


def test_planted_defects_are_found_at_their_lines_and_nowhere_else(check, book):
    long = b"a word " * 150_000
    planted = {
        7: ("not UTF-8", lambda a, b: (b"caf\xe9 " + a, b)),
        8: ("NUL", lambda a, b: (a, b + b"\0")),
        1: ("blank side", lambda a, _: (a, b"")),
        501: ("blank side", lambda _, b: (b" \t\xc2\xa0", b)),
        9_999: ("long line", lambda a, _: (a, long)),
        10_000: ("control characters", lambda a, b: (a[:3] + b"\x0c" + a[3:], b)),
        10_001: ("control characters", lambda a, b: (a, b[:3] + "\x85".encode() + b[3:])),
        12_345: ("length ratio", lambda _, b: (b * 10, b)),
        PAIRS - 1: ("copy", lambda a, _: (a, a.upper())),
        PAIRS: ("not UTF-8", lambda a, b: (a, b + b"\xed\xa0\x80")),
    }
    bad = [planted[i][1](*pair) if i in planted else pair for i, pair in enumerate(book, start=1)]
    report = check(*sides(bad))
    assert excluded_lines(report) == {line: kind for line, (kind, _) in planted.items()}
    assert {f.kind.name: f.count for f in report.findings} == Counter(kind for kind, _ in planted.values())
    assert report.fatal_finding is None
    assert {finding.kind.severity for finding in report.findings} == {"bad"}


@pytest.mark.parametrize(
    "text",
    ["a\u2028b and so on", "tab\tis text", "non\u00a0breaking", "soft\u00adhyphen", "\u202bright to left"],
)
def test_unusual_printable_characters_are_accepted(text):
    assert check_pair(text.encode(), b"anything at all") == (text, "anything at all")


@pytest.mark.parametrize(
    ("source", "target", "kind"),
    [
        ("x" * 5000, "y" * 5000, None),
        ("x" * 5001, "y" * 5000, kinds.LONG_LINE),
        ("x" * 18, "yy", None),
        ("x" * 19, "yy", None),
        ("x" * 27, "yyy", None),
        ("x" * 28, "yyy", kinds.LENGTH_RATIO),
        ("yyy", "x" * 28, kinds.LENGTH_RATIO),
        ("Kinshasa", "Kinshasa", None),
        ("Kinshasa is", "KINSHASA IS", kinds.IDENTICAL_SIDES),
        (" Kinshasa is", "Kinshasa is ", kinds.IDENTICAL_SIDES),
        ("UTF-16\0", "anything", kinds.NUL_CHARACTER),
        ("\x0c", "a form feed alone is blank", kinds.BLANK_SIDE),
    ],
)
def test_a_pair_is_bad_from_the_threshold_on(source, target, kind):
    result = check_pair(source.encode(), target.encode())
    assert result == ((source, target) if kind is None else kind)


def test_thresholds_are_settings():
    assert check_pair(b"abcdef", b"uvwxyz", PairCheckConfig(max_length=5)) == kinds.LONG_LINE
    with pytest.raises(ConfigError, match="check.max_ratio = 0.5 cannot work"):
        PairCheckConfig(max_ratio=0.5)
    with pytest.raises(ConfigError, match="check.max_length = 0 cannot work"):
        PairCheckConfig(max_length=0)


def test_files_of_different_length_are_fatal_with_both_counts(check, book):
    source, target = sides(book[:1000])
    report = check(source, target[:-1])
    assert report.fatal_finding is not None
    assert "source has 1000 lines and " in report.fatal_finding.detail
    assert "target 999; the two sides must pair line by line" in report.fatal_finding.detail
    assert (report.fatal_finding.count, report.fatal_finding.lines) == (1, [1000])
    assert report.pairs == 999


def test_a_missing_line_is_located_when_the_counts_differ(check, book):
    source, target = sides(book[:6_000])
    report = check(source, target[:4_000] + target[4_001:])
    assert report.fatal_finding is not None
    assert abs(lines_by_kind(report)["misalignment"][0] - 4_001) < 1000


@pytest.mark.parametrize("empty", [0, 1])
def test_an_empty_file_is_fatal(check, empty):
    content = [[b"a"], [b"b"]]
    content[empty] = []
    fatal = check(*content).fatal_finding
    assert fatal is not None
    assert "is empty" in fatal.detail


def test_files_without_one_good_pair_are_fatal(check):
    report = check([b"", b"b"], [b"a", b" "])
    assert report.fatal_finding is not None
    assert "no usable pair" in report.fatal_finding.detail
    assert excluded_lines(report) == {1: "blank side", 2: "blank side"}


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(DataError, match="none does not exist"):
        check_pair_corpus(PairFiles(tmp_path / "none", tmp_path / "none"))


@pytest.mark.parametrize(("offset", "line"), [(1, 10_001), (-1, 1_501), (2, PAIRS - 700), (-3, 15_000)])
def test_a_misalignment_is_located_and_measured(check, book, offset, line):
    source, target = sides(book)
    at = line - 1
    if offset > 0:  # extra lines, then missing lines at the end: the counts agree
        target = (target[:at] + target[:offset] + target[at:])[:PAIRS]
    else:
        target = target[:at] + target[at - offset :] + target[:-offset]
    report = check(source, target)
    misalignment = next(finding for finding in report.findings if finding.kind == kinds.MISALIGNED)
    assert len(misalignment.lines) == 1
    assert abs(misalignment.lines[0] - line) <= 200
    assert f"{abs(offset)} line" in misalignment.detail
    assert f"further {'down' if offset > 0 else 'up'}" in misalignment.detail
    assert "to the end" in misalignment.detail
    assert report.fatal_finding is None
    assert report.bad_findings == (misalignment,)


def test_a_misalignment_that_is_corrected_has_an_end(check, book):
    source, target = sides(book[:10_000])
    report = check(source, target[:5_000] + target[5_001:8_000] + [b"Rien."] + target[8_000:])
    misalignment = report.findings[0]
    assert misalignment.kind == kinds.MISALIGNED
    assert abs(misalignment.lines[0] - 5_001) <= 200
    assert "to about line 8" in misalignment.detail or "to about line 7" in misalignment.detail
    assert abs(misalignment.count - 3_000) <= 400


def test_two_misalignments_are_distinguished(check, book):
    source, target = sides(book)
    target = (
        target[:3_000]
        + target[3_001:9_000]
        + [b"Rien."]
        + target[9_000:12_000]
        + [b"Rien."]
        + target[12_000:]
    )
    misalignment = check(source, target[:PAIRS]).findings[0]
    assert [round(line, -3) for line in misalignment.lines] == [3_000, 12_000]
    assert "further up" in misalignment.detail
    assert "further down" in misalignment.detail


def test_sorting_by_length_and_unrelated_files_are_no_misalignment(check, book):
    book = book[:10_000]
    in_order = sorted(book, key=lambda pair: len(pair[0]))
    assert check(*sides(in_order)).findings == ()
    source, target = sides(book)
    assert "misalignment" not in lines_by_kind(check(source, target[::-1]))
    assert "misalignment" not in lines_by_kind(check([b"ten letters"] * 1_000, [b"dix lettres"] * 1_000))


def test_duplicates_are_reported_from_the_second_on(check):
    source = [b"one", b"two", b"one", b" one ", b"one", "e\u0301".encode(), "é".encode(), b"", b""]
    target = [b"un", b"deux", b"un", b"un", b"une", b"e", b"e", b"", b""]
    report = check(source, target)
    assert lines_by_kind(report) == {"blank side": [8, 9], "duplicate": [3, 4, 7]}
    assert {f.kind.name: f.kind.severity for f in report.findings}["duplicate"] == "note"
    assert set(excluded_lines(report)) == {8, 9}


def test_a_pair_that_shares_either_side_with_another_corpus_is_reported(check, book, tmp_path):
    book = book[:10_000]  # more than one block
    test = tmp_path / "test.en.gz", tmp_path / "test.fr"
    test[0].write_bytes(gzip.compress(b"\n".join([book[10][0], b"", b"never seen"])))
    test[1].write_bytes(b"\n".join([b"jamais vu", b"", book[9_000][1], b"autre chose"]))
    report = check(*sides(book), against=PairFiles(*test))
    english, french = book[10][0], book[9_000][1]
    expected = [i for i, (a, b) in enumerate(book, start=1) if a == english or b == french]
    assert lines_by_kind(report) == {"shared": expected}
    assert set(excluded_lines(report)) == set(expected) >= {11, 9_001}


def test_nothing_is_shared_with_an_empty_corpus(check, tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    assert check([b"a"], [b"b"], against=PairFiles(tmp_path / "empty", tmp_path / "empty")).findings == ()


def test_the_json_report_has_full_counts_and_the_first_lines(check):
    report = check([b"", b"a"] * (MAX_REPORTED_LINES + 1), [b"b"] * (2 * MAX_REPORTED_LINES + 2))
    document = json.loads(report.to_json())
    blank = document["findings"][0]
    assert (blank["kind"], blank["severity"], blank["count"]) == ("blank side", "bad", MAX_REPORTED_LINES + 1)
    assert blank["lines"] == list(range(1, 2 * MAX_REPORTED_LINES, 2))
    assert (document["pairs"], document["bad"], document["fatal"]) == (
        2 * MAX_REPORTED_LINES + 2,
        MAX_REPORTED_LINES + 1,
        False,
    )
    assert len(excluded_lines(report)) == MAX_REPORTED_LINES + 1


def test_a_bomb_of_blank_lines_is_rejected_in_little_memory(tmp_path):
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b"\n" * (30 * 2**20)))
    code = (
        "import sys; from pathlib import Path; from regard.corpus.pair_checks import check_pair_corpus\n"
        "from regard.text.pair_formats.pair_files import PairFiles\n"
        "try: check_pair_corpus(PairFiles(Path(sys.argv[1]), Path(sys.argv[1])))\n"
        "except Exception as error: print(error)\n"
    )
    [message], megabytes = measure_peak_memory(code, tmp_path / "bomb.gz")
    assert "bomb.gz unpacks to more than 100 times its size" in message
    assert megabytes < 200


def test_every_kind_of_pair_defect_has_a_meaning_and_a_remedy():
    every = [kind for kind in vars(kinds).values() if isinstance(kind, kinds.FindingKind)]
    assert len(every) == 15
    assert all(kind.meaning and kind.remedy for kind in every)


def test_lines_that_hold_no_pair_are_reported(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_bytes(b"one line\tune ligne\nno tab\n\t\nx\xff\ty\n")
    report = check_pair_corpus(PairFiles(path))
    assert excluded_lines(report) == {2: "no pair", 3: "blank side", 4: "not UTF-8"}
    assert (report.name, report.pairs, report.fatal_finding) == (str(path), 4, None)


def test_a_lone_surrogate_in_json_is_not_utf8(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"source": "\\ud800 x", "target": "b"}\n{"source": "one", "target": "un"}\n')
    assert excluded_lines(check_pair_corpus(PairFiles(path))) == {1: "not UTF-8"}
