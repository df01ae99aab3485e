"""Closed, full and broken standard streams end a command with its exit code and at most one line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.fault
ROOT = Path(__file__).parent.parent.parent
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT / 'tests'}",
    "OMP_NUM_THREADS": "1",
    "PYTHONUNBUFFERED": "",
}


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """How each command ended with each kind of streams."""
    folder = tmp_path_factory.mktemp("streams")
    command = [sys.executable, "-m", "faults.hostile.run_streams", str(folder)]
    environment = {**ENVIRONMENT, "XDG_CACHE_HOME": str(folder / "cache")}
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr[-2000:]
    return [json.loads(line) for line in process.stdout.splitlines()]


def select(rows, streams):
    chosen = [row for row in rows if row["streams"] == streams]
    assert len(chosen) > 10
    return chosen


def error_lines(row):
    return [line for line in row["stderr"].splitlines() if line.startswith("regard: ")]


def test_no_stream_gives_a_traceback_or_a_signal(rows):
    for row in rows:
        assert row["signal"] == 0, row
        assert not any(word in row["stderr"] for word in ("Traceback", "unexpected", "Exception ignored")), (
            row
        )


def test_a_full_disk_behind_stdout_is_exit_code_3(rows):
    for row in select(rows, "stdout full"):
        assert row["code"] == 3, row
        assert error_lines(row) == ["regard: stdout cannot be written: No space left on device"], row


def test_a_closed_stdout_is_exit_code_3(rows):
    for row in select(rows, "stdout closed"):
        assert row["code"] == 3, row
        assert error_lines(row) == ["regard: stdout cannot be written: it is closed"], row


def test_a_reader_that_left_ends_the_command_quietly(rows):
    for row in select(rows, "stdout broken"):
        assert row["code"] == 1, row
        assert error_lines(row) == [], row


@pytest.mark.parametrize("streams", ["stderr closed", "stdin closed"])
def test_a_stream_that_is_not_needed_may_be_closed(rows, streams):
    for row in select(rows, streams):
        assert row["code"] == 0, row


def test_the_command_starts_without_any_stream(tmp_path):
    """In a new process, whose first opened files would otherwise become its standard streams."""
    (tmp_path / "a").write_text("the cat\n")
    command = f"{sys.executable} -m regard check --source a --target a -o b <&- >&- 2>&-"
    process = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, env=ENVIRONMENT, check=False, capture_output=True, timeout=60
    )
    assert process.returncode == 3
    assert json.loads((tmp_path / "b").read_text())
    assert (tmp_path / "a").read_text() == "the cat\n"


def test_an_interrupt_while_the_command_is_imported_is_quiet():
    interrupted = """
import builtins
import regard.__main__
real = builtins.__import__
def interrupt(name, *rest):
    if name == "regard.cli.main":
        raise KeyboardInterrupt
    return real(name, *rest)
builtins.__import__ = interrupt
regard.__main__.start_command()
"""
    process = subprocess.run(
        [sys.executable, "-c", interrupted], env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert (process.returncode, process.stderr) == (130, "")
