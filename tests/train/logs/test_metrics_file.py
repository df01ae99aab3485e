import errno
import json
import math
import os

import pytest

from regard.train.logs.metrics_file import MetricsWriter, find_validation


def lines(path):
    return [json.loads(line, parse_constant=pytest.fail) for line in path.read_text("utf-8").splitlines()]


def recorded(path, *facts, after=0, say=pytest.fail):
    record = MetricsWriter(path, say, after)
    for fact in facts:
        record.write(fact)
    record.close()


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "metrics.jsonl"
    recorded(path, {"kind": "run"}, *({"kind": "train", "step": step} for step in (10, 20, 30)))
    return path


def test_every_line_can_be_read_while_the_training_goes_on(tmp_path):
    record = MetricsWriter(tmp_path / "m", pytest.fail)
    record.write({"step": 1})
    assert lines(tmp_path / "m") == [{"step": 1}]
    record.close()


def test_what_is_no_number_is_null_however_deep(tmp_path):
    recorded(tmp_path / "m", {"loss": math.nan, "in": {"a": [math.inf, 1.5, -math.inf]}})
    assert lines(tmp_path / "m") == [{"loss": None, "in": {"a": [None, 1.5, None]}}]


def test_a_sentence_that_is_no_utf8_is_recorded_all_the_same(tmp_path):
    recorded(tmp_path / "m", {"text": "a\udc80"})
    assert lines(tmp_path / "m") == [{"text": "a\udc80"}]


def test_a_resumed_training_drops_what_it_will_do_again(path):
    recorded(path, {"kind": "train", "step": 21}, after=20)
    assert [line.get("step") for line in lines(path)] == [None, 10, 20, 21]
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "torn", [b'{"kind": "train", "st', b'{"kind": "train", "step": 5}', b"\xff\n", b"[]\n"]
)
def test_a_torn_line_is_dropped(path, torn):
    with path.open("ab") as file:
        file.write(torn)
    recorded(path, {"kind": "train", "step": 31}, after=30)
    assert [line.get("step") for line in lines(path)] == [None, 10, 20, 30, 31]


def test_a_training_from_the_beginning_starts_an_empty_file(path):
    recorded(path)
    assert path.read_bytes() == b""


def test_a_kill_while_lines_are_dropped_loses_none_of_the_others(path, monkeypatch):
    before = path.read_bytes()

    def die(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pathlib.Path.replace", die)
    with pytest.raises(KeyboardInterrupt):
        MetricsWriter(path, pytest.fail, resumed_step=10)
    assert path.read_bytes() == before


def test_what_stays_true_is_said_once(path):
    record = MetricsWriter(path, pytest.fail, resumed_step=30)
    for facts in ({"kind": "run", "steps": 30}, {"kind": "run", "steps": 30}, {"kind": "run", "steps": 60}):
        record.write_once(facts)
    record.close()
    assert [line["steps"] for line in lines(path) if "steps" in line] == [30, 60]


def test_the_validation_of_a_step_is_found_again(path):
    valid = {"kind": "valid", "step": 20, "loss": 1.5}
    recorded(path, valid, {**valid, "step": 25}, after=20)
    assert find_validation(path, 20) == valid
    assert find_validation(path, 10) == {}


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


def test_a_full_disk_is_said_once_and_leaves_no_half_line(tmp_path):
    said = []
    record = MetricsWriter(tmp_path / "m", said.append)
    record.write({"step": 1})
    disk = record._file = FullDisk(record._file)
    record.write({"step": 2, "loss": 2.5})
    record.write({"step": 3, "loss": 2.5})
    disk.full = False
    record.write({"step": 4})
    record.close()
    assert lines(tmp_path / "m") == [{"step": 1}, {"step": 4}]
    assert len(said) == 1
    assert "cannot be written: No space left on device; training goes on" in said[0]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_device_that_is_full_does_not_end_a_training(tmp_path):
    said = []
    record = MetricsWriter(tmp_path / "m", said.append)
    with open("/dev/full", "ab", buffering=0) as full:
        record._file.close()
        record._file = full
        record.write({"step": 1})
        record.write({"step": 2})
    assert len(said) == 1
