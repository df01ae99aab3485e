import errno
import json
import math
import os

import pytest

from regard.training.logs.metrics_file import (
    MetricsReader,
    MetricsWriter,
    find_metrics_folder,
    find_validation,
    parse_metrics_line,
    read_losses,
    read_metrics,
)


def strict_rows(path):
    return [json.loads(line, parse_constant=pytest.fail) for line in path.read_text("utf-8").splitlines()]


def write_rows(path, *rows, resumed_step=0):
    writer = MetricsWriter(path, pytest.fail, resumed_step)
    for row in rows:
        writer.write(row)
    writer.close()


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "metrics.jsonl"
    write_rows(path, {"kind": "run"}, *({"kind": "train", "step": step} for step in (10, 20, 30)))
    return path


def test_each_row_can_be_read_as_soon_as_it_is_written(tmp_path):
    writer = MetricsWriter(tmp_path / "m", pytest.fail)
    writer.write({"step": 1})
    assert strict_rows(tmp_path / "m") == [{"step": 1}]
    writer.close()


def test_nan_and_infinity_become_null_at_any_depth(tmp_path):
    write_rows(tmp_path / "m", {"loss": math.nan, "in": {"a": [math.inf, 1.5, -math.inf]}})
    assert strict_rows(tmp_path / "m") == [{"loss": None, "in": {"a": [None, 1.5, None]}}]


def test_a_lone_surrogate_is_written_and_read_back(tmp_path):
    write_rows(tmp_path / "m", {"text": "a\udc80"})
    assert strict_rows(tmp_path / "m") == [{"text": "a\udc80"}]


def test_a_resumed_training_removes_the_rows_of_later_steps(path):
    write_rows(path, {"kind": "train", "step": 21}, resumed_step=20)
    assert [row.get("step") for row in strict_rows(path)] == [None, 10, 20, 21]
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "torn", [b'{"kind": "train", "st', b'{"kind": "train", "step": 5}', b"\xff\n", b"[]\n"]
)
def test_a_torn_line_is_removed_at_a_resume(path, torn):
    with path.open("ab") as file:
        file.write(torn)
    write_rows(path, {"kind": "train", "step": 31}, resumed_step=30)
    assert [row.get("step") for row in strict_rows(path)] == [None, 10, 20, 30, 31]


def test_a_new_training_starts_an_empty_file(path):
    write_rows(path)
    assert path.read_bytes() == b""


def test_a_kill_during_the_removal_of_rows_loses_no_row(path, monkeypatch):
    before = path.read_bytes()

    def die(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pathlib.Path.replace", die)
    with pytest.raises(KeyboardInterrupt):
        MetricsWriter(path, pytest.fail, resumed_step=10)
    assert path.read_bytes() == before


def test_equal_metadata_is_written_once(path):
    writer = MetricsWriter(path, pytest.fail, resumed_step=30)
    for row in ({"kind": "run", "steps": 30}, {"kind": "run", "steps": 30}, {"kind": "run", "steps": 60}):
        writer.write_once(row)
    writer.close()
    assert [row["steps"] for row in strict_rows(path) if "steps" in row] == [30, 60]


def test_the_last_validation_of_a_step_is_found(path):
    row = {"kind": "valid", "step": 20, "loss": 1.5}
    write_rows(path, {**row, "loss": 1.75}, row, {**row, "step": 25}, resumed_step=20)
    assert find_validation(path, 20) == row
    assert find_validation(path, 10) == {}


@pytest.mark.parametrize("line", [b"", b"[1]", b'{"a": 1', b"\xff", b"[" * 100_000, b"1"])
def test_a_line_that_is_no_json_object_is_an_empty_row(line):
    assert parse_metrics_line(line) == {}


def test_torn_lines_are_skipped_when_all_rows_are_read(path):
    with path.open("ab") as file:
        file.write(b'\n[]\n{"kind": "tr')
    assert [row.get("step") for row in read_metrics(path)] == [None, 10, 20, 30]


def test_losses_are_read_exactly_and_by_step(tmp_path):
    rows = [{"kind": "train", "step": 1, "loss": 0.1 + 0.2}, {"kind": "train", "step": 2, "loss": math.nan}]
    write_rows(tmp_path / "m", *rows, {"kind": "valid", "step": 2, "loss": 5.0})
    assert read_losses(tmp_path / "m") == {1: 0.1 + 0.2, 2: None}


def test_a_reader_returns_complete_rows_once(path):
    reader = MetricsReader(path)
    assert [row.get("step") for row in reader.read_new_rows()[1]] == [None, 10, 20, 30]
    with path.open("ab") as file:
        file.write(b'{"step": 40}\n{"st')
    assert reader.read_new_rows() == (False, [{"step": 40}])
    with path.open("ab") as file:
        file.write(b'ep": 50}\n')
    assert reader.read_new_rows() == (False, [{"step": 50}])
    assert reader.read_new_rows() == (False, [])


def test_a_reader_starts_again_where_the_file_was_replaced(path):
    reader = MetricsReader(path)
    assert reader.read_new_rows()[0]
    write_rows(path, {"kind": "train", "step": 11}, resumed_step=10)
    is_replaced, rows = reader.read_new_rows()
    assert is_replaced
    assert [row.get("step") for row in rows] == [None, 10, 11]


def test_a_reader_waits_for_a_file_that_is_not_there_yet(tmp_path):
    assert MetricsReader(tmp_path / "m").read_new_rows() == (False, [])


def test_the_run_folder_is_found_from_its_model_and_its_metrics(path):
    (path.parent / "model").mkdir()
    for inside in (path.parent, path.parent / "model", path):
        assert find_metrics_folder(inside).samefile(path.parent)
    assert find_metrics_folder(path.parent.parent) is None


class FullDisk:
    """Takes half of a line, then no more, until there is room again."""

    def __init__(self, file):
        self.file, self.name, self.full = file, file.name, True

    def write(self, content):
        if not self.full:
            return self.file.write(content)
        if len(content) > 5:
            return self.file.write(content[: len(content) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def __getattr__(self, name):
        return getattr(self.file, name)


def test_a_full_disk_is_reported_once_and_leaves_no_half_line(tmp_path):
    messages = []
    writer = MetricsWriter(tmp_path / "m", messages.append)
    writer.write({"step": 1})
    disk = writer._file = FullDisk(writer._file)
    writer.write({"step": 2, "loss": 2.5})
    writer.write({"step": 3, "loss": 2.5})
    disk.full = False
    writer.write({"step": 4})
    writer.close()
    assert strict_rows(tmp_path / "m") == [{"step": 1}, {"step": 4}]
    assert len(messages) == 1
    assert "cannot be written: No space left on device; training continues" in messages[0]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_full_device_does_not_end_a_training(tmp_path):
    messages = []
    writer = MetricsWriter(tmp_path / "m", messages.append)
    with open("/dev/full", "ab", buffering=0) as full:
        writer._file.close()
        writer._file = full
        writer.write({"step": 1})
        writer.write({"step": 2})
    assert len(messages) == 1
