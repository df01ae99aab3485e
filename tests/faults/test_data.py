"""D1 to D7: guarantees about training data, at reduced sizes.

With REGARD_FULL=1 in the environment at full sizes: ten million lines, a compression bomb of 10 GB.
"""

import gzip
import json
import os
import subprocess
import sys
import time
import zlib
from pathlib import Path

import pytest
from rich.console import Console

from peak_memory import measure_peak_memory
from regard.data.config import DataConfig
from regard.errors import DataError
from regard.text.lines import count_lines, read_lines
from regard.training.state import reject_changed_data
from regard.translation.corpus import prepare_pair_corpora

pytestmark = pytest.mark.fault

FULL = bool(os.environ.get("REGARD_FULL"))
QUIET = Console(quiet=True)
PREPARE = """
import json, sys, time
from rich.console import Console
from regard.data.config import DataConfig
from regard.data.stream import TokenBudget, stream_batches
from regard.translation.corpus import prepare_pair_corpora
from regard.errors import RegardError
data = DataConfig((sys.argv[1],), (sys.argv[2],), cache=sys.argv[3], strict=sys.argv[4:] == ["strict"])
start = time.process_time()
try:
    corpora = prepare_pair_corpora(data, 2000, 512, 1, Console(quiet=True))
    next(stream_batches(corpora.train, TokenBudget(4096), 1))
    print(json.dumps({**corpora.report, "description": [*corpora.describe()]}), time.process_time() - start)
except RegardError as error:
    print(error, time.process_time() - start)
anonymous = next(line for line in open("/proc/self/status") if line.startswith("RssAnon"))
print(int(anonymous.split()[1]) / 1024)
"""


def prepare(source, target, **settings):
    data = DataConfig((str(source),), (str(target),), **settings)
    return prepare_pair_corpora(data, 2000, 512, 1, QUIET)


def prepare_in_process(source, target, cache, *strict) -> tuple[str, float, float, float]:
    """Prepare in a separate process, without the shape checks of the tests.

    Returns the report or the error, the CPU seconds to the first batch, and megabytes of memory: anonymous
    at the end, and peak.
    """
    [output, anonymous], peak = measure_peak_memory(PREPARE, source, target, cache, *strict)
    report, seconds = output.rsplit(" ", 1)
    return report, float(seconds), float(anonymous), peak


@pytest.fixture(scope="session")
def book(tmp_path_factory) -> tuple[Path, Path]:
    """Write a hundred thousand valid pairs, in a process without the shape checks of the tests."""
    folder = tmp_path_factory.mktemp("book")
    code = (
        "import sys; from pathlib import Path; from regard.demo.phrasebook.corpus import phrasebook\n"
        "for name, side in zip(('en', 'fr'), zip(*phrasebook(100_000, 0, 0).train)):\n"
        "    Path(sys.argv[1], name).write_text(''.join(f'{line}\\n' for line in side), 'utf-8')\n"
    )
    subprocess.run([sys.executable, "-c", code, str(folder)], check=True)
    return folder / "en", folder / "fr"


@pytest.fixture
def copy(book, tmp_path):
    """The lines of the book, and a function that writes changed ones."""
    lines = [path.read_bytes().split(b"\n")[:-1] for path in book]

    def write(source, target):
        paths = tmp_path / "en", tmp_path / "fr"
        for path, side in zip(paths, (source, target), strict=True):
            path.write_bytes(b"\n".join(side) + b"\n")
        return paths

    return *lines, write


LINE_ENDINGS = [
    "a\u2028b\u2029c\u0085d\n".encode(),
    b"a\x0bb\x0cc\x1cd\x1de\x1e\n",
    b"a\rb\nc\n",
    b"a\r\nb\r\n",
    b"\xef\xbb\xbfa\nb\n",
    b"no final newline\nhere",
    b"\n\n\n",
    b"",
]


@pytest.mark.parametrize("content", LINE_ENDINGS, ids=range(len(LINE_ENDINGS)))
def test_d1_lines_end_at_newline_bytes_only(tmp_path, content):
    text = content.removeprefix(b"\xef\xbb\xbf")
    expected = text.count(b"\n") + (text != b"" and not text.endswith(b"\n"))
    for path, packed in ((tmp_path / "a", content), (tmp_path / "a.gz", gzip.compress(content))):
        path.write_bytes(packed)
        assert count_lines(path).lines == len(list(read_lines(path))) == expected


@pytest.mark.parametrize("missing", [0, 50_000, 99_999])
def test_d2_different_line_counts_are_refused_with_both_counts(copy, missing):
    source, target, write = copy
    paths = write(source, target[:missing] + target[missing + 1 :])
    with pytest.raises(DataError, match="en has 100000 lines and .*fr 99999; the two sides must pair"):
        prepare(*paths)


def test_d2_an_empty_side_is_refused(copy):
    source, _, write = copy
    paths = write(source, [])
    paths[1].write_bytes(b"")
    with pytest.raises(DataError, match="fr is empty; it must hold one sentence per line"):
        prepare(*paths)


def test_d2_different_line_counts_are_detected_in_five_seconds_per_gigabyte(book, tmp_path):
    source, target = tmp_path / "en", tmp_path / "fr"
    times = 20 if FULL else 2
    source.write_bytes(book[0].read_bytes() * times * 10)
    target.write_bytes(book[1].read_bytes() * times * 10 + b"one more\n")
    gigabytes = (source.stat().st_size + target.stat().st_size) / 1e9
    report, seconds, _, peak = prepare_in_process(source, target, tmp_path / "cache")
    assert "the two sides must pair line by line" in report
    assert seconds < 5 * gigabytes
    assert peak < 200


def test_d2_a_misalignment_in_the_middle_is_located(copy, tmp_path):
    source, target, write = copy
    paths = write(source, target[:60_000] + target[60_001:] + target[:1])
    report = json.loads(prepare_in_process(*paths, tmp_path / "cache")[0])
    [warning] = [line for line in report["description"] if line.startswith("WARNING")]
    assert "are misaligned: from about line 60" in warning
    [finding] = [f for f in report["train"]["corpora"][0]["findings"] if f["kind"] == "misalignment"]
    assert abs(finding["lines"][0] - 60_001) < 1000
    error = prepare_in_process(*paths, tmp_path / "cache", "strict")[0]
    assert f"line {finding['lines'][0]}: misalignment; in all misalignment" in error


def test_d3_bad_lines_are_counted_and_named_and_not_fatal(copy, tmp_path):
    source, target, write = copy
    planted = {
        "not UTF-8": (lambda a, b: (a[:4] + b"\xe9" + a[4:], b), [1, 50_000]),
        "NUL": (lambda a, b: (a, b[:4] + b"\0" + b[4:]), [99_999]),
        "blank side": (lambda a, _: (a, b""), [777, 8_193]),
        "long line": (lambda a, _: (a, b"a word " * 150_000), [31_415]),
        "control characters": (lambda a, b: (a, b[:4] + b"\x0c" + b[4:]), [65_536, 65_537]),
        "length ratio": (lambda _, b: (b * 12, b), [100_000]),
        "copy": (lambda a, _: (a, a), [27_182]),
    }
    planted["blank side"][1].append(8_194)
    for damage, lines in planted.values():
        for line in lines:
            source[line - 1], target[line - 1] = damage(source[line - 1], target[line - 1])
    source[8_193] = b" \t\xc2\xa0"
    paths = write(source, target)
    report = json.loads(prepare_in_process(*paths, tmp_path / "cache")[0])
    findings = report["train"]["corpora"][0]["findings"]
    bad_lines = {f["kind"]: f["lines"] for f in findings if f["severity"] == "bad"}
    assert bad_lines == {kind: sorted(lines) for kind, (_, lines) in planted.items()}
    bad = sum(len(lines) for _, lines in planted.values())
    assert sum(report["train"]["left_out"].values()) >= bad
    left = report["train"]["pairs"] + report["valid"]["pairs"]
    assert left + sum(report["train"]["left_out"].values()) == 100_000
    error = prepare_in_process(*paths, tmp_path / "cache", "strict")[0]
    assert "line 1: not UTF-8; in all not UTF-8 (2), " in error
    assert error.endswith("and --strict refuses them")


def test_d4_time_and_memory_of_a_second_start_do_not_grow_with_the_corpus(book, tmp_path):
    lines, sizes = (100_000, (1, 100)) if FULL else (60_000, (1, 3))
    starts, memories = [], []
    for times in sizes:
        paths = [tmp_path / f"{path.name}-{times}" for path in book]
        for path, to in zip(book, paths, strict=True):
            _number(path, to, lines, times)
        prepare_in_process(*paths, tmp_path / "cache")
        time.sleep(0.2)  # so that the files are old enough to be cached
        prepare_in_process(*paths, tmp_path / "cache")
        warm = [prepare_in_process(*paths, tmp_path / "cache") for _ in range(5)]
        starts.append(min(seconds for _, seconds, _, _ in warm))
        memories.append(min(anonymous for _, _, anonymous, _ in warm))
    assert starts[1] < 1.2 * starts[0] + 0.02
    assert memories[1] < memories[0] + 50


def _number(path: Path, to: Path, lines: int, times: int) -> None:
    """Write the first lines of a file several times, numbered so that the sentences differ."""
    text = b"".join(path.read_bytes().splitlines(keepends=True)[:lines])
    with to.open("wb") as file:
        for i in range(times):
            file.write(text if i == 0 else text.replace(b"\n", b" %d\n" % i))


def test_d5_any_position_of_a_billion_pairs_is_reached_at_once():
    code = """
import time
from regard.data.stream import StreamPosition, TokenBudget, stream_batches
class Fake:
    epoch_size = 10**9
    def epoch_indexes(self, epoch, positions): return positions
    def lengths_of(self, indexes): return indexes % 30, indexes % 28
best = 1.0
for epoch in range(5):
    start = time.process_time()
    next(stream_batches(Fake(), TokenBudget(4096), 1, StreamPosition(epoch, 15_000, 100)))
    best = min(best, time.process_time() - start)
print(best)
"""
    [seconds], _ = measure_peak_memory(code)
    assert float(seconds) < 0.05


@pytest.mark.parametrize("line", [b"", b"a" * 99 + b"\n"], ids=["one line", "many lines"])
def test_d6_a_compression_bomb_is_refused_in_little_memory(tmp_path, line):
    bomb = tmp_path / "bomb.gz"
    compressor, chunk = zlib.compressobj(9, wbits=31), (line or b"a" * 100) * 10_000
    with bomb.open("wb") as file:
        for _ in range(10_000 if FULL else 100):
            file.write(compressor.compress(chunk))
        file.write(compressor.flush())
    error, _, _, peak = prepare_in_process(bomb, bomb, tmp_path / "cache")
    assert "bomb.gz unpacks to more than 100 times its size (seen after " in error
    assert peak < 200
    assert not list((tmp_path / "cache").rglob("manifest.json"))


def test_d6_a_zip_is_refused(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"PK\x03\x04" + bytes(99))
    with pytest.raises(DataError, match="is a zip archive; unpack it"):
        prepare(tmp_path / "a.txt", tmp_path / "a.txt")


def test_d7_a_changed_corpus_is_refused_with_the_name_of_the_file(copy, tmp_path):
    source, target, write = copy
    source, target = source[:200], target[:200]

    def resume_on(files):
        reject_changed_data(tmp_path / "run", first, prepare(*files).fingerprint)

    first = prepare(*write(source, target)).fingerprint
    resume_on(write(source, target))
    for changed, name in (
        ((source, [*target[:199], target[199] + b"!"]), "fr"),
        (([*source, b"one more line"], [*target, b"une ligne de plus"]), "en"),
        ((target, source), "en"),
    ):
        with pytest.raises(DataError, match=f"/{name}.* changed since .*run was started"):
            resume_on(write(*changed))
    with pytest.raises(DataError, match="changed since .*run was started"):
        resume_on(reversed(write(source, target)))
