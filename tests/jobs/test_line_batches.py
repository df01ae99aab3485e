import gzip
import os
import threading

import pytest

from regard.errors import DataError
from regard.jobs.line_batches import (
    MAX_KEPT_LINE_BYTES,
    LineBatchLimits,
    batch_file_lines,
    batch_pipe_lines,
    batch_stream_lines,
)


def lines(windows):
    return [[line.content for line in window.lines] for window in windows]


def test_a_window_ends_with_its_lines_or_its_bytes(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"a\nb\nc\n" + b"d" * 50 + b"\ne\n\nf")
    assert lines(batch_file_lines(path, LineBatchLimits(2, 99))) == [
        [b"a", b"b"],
        [b"c", b"d" * 50],
        [b"e", b""],
        [b"f"],
    ]
    assert [len(each) for each in lines(batch_file_lines(path, LineBatchLimits(99, 50)))] == [4, 3]
    numbers = [
        (window.number, window.first_line) for window in batch_file_lines(path, LineBatchLimits(2, 99))
    ]
    assert numbers == [(0, 1), (1, 3), (2, 5), (3, 7)]


def test_windows_do_not_depend_on_how_a_file_is_packed(tmp_path):
    text = b"".join(b"line %d\n" % i for i in range(9000))
    (tmp_path / "a").write_bytes(text)
    (tmp_path / "a.gz").write_bytes(gzip.compress(text))
    size = LineBatchLimits(100, 2**20)
    assert lines(batch_file_lines(tmp_path / "a", size)) == lines(batch_file_lines(tmp_path / "a.gz", size))
    *_, last = batch_file_lines(tmp_path / "a", size)
    assert last.byte_offset == len(text)


def test_a_pipe_is_answered_with_what_has_come():
    reader, writer = os.pipe()
    windows = batch_stream_lines(reader, LineBatchLimits(100, 2**20), wait_until_full=False)
    os.write(writer, b"one\n")
    assert lines([next(windows)]) == [[b"one"]]
    os.write(writer, b"two\nthree\nfo")
    assert lines([next(windows)]) == [[b"two", b"three"]]
    threading.Timer(0.05, lambda: (os.write(writer, b"ur"), os.close(writer))).start()
    assert lines([next(windows)]) == [[b"four"]]
    assert next(windows, None) is None
    os.close(reader)


def test_a_pipe_with_a_name_is_answered_with_what_has_come_too(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    windows = batch_pipe_lines(tmp_path / "pipe", LineBatchLimits(100, 2**20), wait_until_full=False)
    writer = os.open(tmp_path / "pipe", os.O_RDWR)  # which waits for nobody
    os.write(writer, b"one\n")
    assert lines([next(windows)]) == [[b"one"]]
    threading.Timer(0.05, lambda: (os.write(writer, b"two"), os.close(writer))).start()
    assert lines(windows) == [[b"two"]]


def test_a_packed_pipe_is_refused(tmp_path):
    (tmp_path / "text.gz").write_bytes(gzip.compress(b"a\n"))
    with (
        (tmp_path / "text.gz").open("rb") as file,
        pytest.raises(DataError, match="stdin is compressed; unpack"),
    ):
        list(batch_stream_lines(file.fileno(), LineBatchLimits(9, 99), wait_until_full=True))


def test_full_windows_wait(tmp_path):
    (tmp_path / "text").write_bytes(b"a\n" * 100_000)
    with (tmp_path / "text").open("rb") as file:
        found = lines(batch_stream_lines(file.fileno(), LineBatchLimits(30_000, 2**20), wait_until_full=True))
    assert [len(window) for window in found] == [30_000, 30_000, 30_000, 10_000]


def test_a_huge_line_is_not_kept(tmp_path):
    (tmp_path / "text").write_bytes(b"a\n" + b"b" * (MAX_KEPT_LINE_BYTES + 7) + b"\nc\n")
    (window,) = batch_file_lines(tmp_path / "text", LineBatchLimits(99, 2**30))
    assert [(len(line.content), line.truncated_bytes) for line in window.lines] == [
        (1, 0),
        (MAX_KEPT_LINE_BYTES, 7),
        (1, 0),
    ]
