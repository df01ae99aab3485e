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


def contents(batches):
    return [[line.content for line in batch.lines] for batch in batches]


def test_a_batch_is_full_by_its_lines_or_its_bytes(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"a\nb\nc\n" + b"d" * 50 + b"\ne\n\nf")
    assert contents(batch_file_lines(path, LineBatchLimits(2, 99))) == [
        [b"a", b"b"],
        [b"c", b"d" * 50],
        [b"e", b""],
        [b"f"],
    ]
    assert [len(each) for each in contents(batch_file_lines(path, LineBatchLimits(99, 50)))] == [4, 3]
    numbers = [(batch.number, batch.first_line) for batch in batch_file_lines(path, LineBatchLimits(2, 99))]
    assert numbers == [(0, 1), (1, 3), (2, 5), (3, 7)]


def test_batches_do_not_depend_on_the_compression_of_the_file(tmp_path):
    text = b"".join(b"line %d\n" % i for i in range(9000))
    (tmp_path / "a").write_bytes(text)
    (tmp_path / "a.gz").write_bytes(gzip.compress(text))
    size = LineBatchLimits(100, 2**20)
    assert contents(batch_file_lines(tmp_path / "a", size)) == contents(
        batch_file_lines(tmp_path / "a.gz", size)
    )
    *_, last = batch_file_lines(tmp_path / "a", size)
    assert last.byte_offset == len(text)


def test_a_pipe_yields_the_lines_that_have_arrived():
    reader, writer = os.pipe()
    batches = batch_stream_lines(reader, LineBatchLimits(100, 2**20), wait_until_full=False)
    os.write(writer, b"one\n")
    assert contents([next(batches)]) == [[b"one"]]
    os.write(writer, b"two\nthree\nfo")
    assert contents([next(batches)]) == [[b"two", b"three"]]
    threading.Timer(0.05, lambda: (os.write(writer, b"ur"), os.close(writer))).start()
    assert contents([next(batches)]) == [[b"four"]]
    assert next(batches, None) is None
    os.close(reader)


def test_a_named_pipe_yields_the_lines_that_have_arrived(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    batches = batch_pipe_lines(tmp_path / "pipe", LineBatchLimits(100, 2**20), wait_until_full=False)
    writer = os.open(tmp_path / "pipe", os.O_RDWR)  # does not wait for a reader
    os.write(writer, b"one\n")
    assert contents([next(batches)]) == [[b"one"]]
    threading.Timer(0.05, lambda: (os.write(writer, b"two"), os.close(writer))).start()
    assert contents(batches) == [[b"two"]]


def test_a_compressed_pipe_is_refused(tmp_path):
    (tmp_path / "text.gz").write_bytes(gzip.compress(b"a\n"))
    with (
        (tmp_path / "text.gz").open("rb") as file,
        pytest.raises(DataError, match="stdin is compressed; unpack"),
    ):
        list(batch_stream_lines(file.fileno(), LineBatchLimits(9, 99), wait_until_full=True))


def test_full_batches_wait(tmp_path):
    (tmp_path / "text").write_bytes(b"a\n" * 100_000)
    with (tmp_path / "text").open("rb") as file:
        batches = contents(
            batch_stream_lines(file.fileno(), LineBatchLimits(30_000, 2**20), wait_until_full=True)
        )
    assert [len(batch) for batch in batches] == [30_000, 30_000, 30_000, 10_000]


def test_a_huge_line_is_truncated(tmp_path):
    (tmp_path / "text").write_bytes(b"a\n" + b"b" * (MAX_KEPT_LINE_BYTES + 7) + b"\nc\n")
    (batch,) = batch_file_lines(tmp_path / "text", LineBatchLimits(99, 2**30))
    assert [(len(line.content), line.truncated_bytes) for line in batch.lines] == [
        (1, 0),
        (MAX_KEPT_LINE_BYTES, 7),
        (1, 0),
    ]
