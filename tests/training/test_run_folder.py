import os
import signal
import subprocess
import sys
import time

import pytest

from regard.errors import ConfigError, RegardError
from regard.training.run_folder import open_run_folder

SETTINGS = "[train]\nsteps = 3\nseed = 1\n[model]\nheads = 2\n"


def open_and_save(out, settings=SETTINGS, changeable=()):
    with open_run_folder(out, settings, changeable):
        (out / "step-000001").mkdir(exist_ok=True)


def test_a_run_resumes_with_the_same_settings_and_refuses_others(tmp_path):
    open_and_save(tmp_path / "run")
    open_and_save(tmp_path / "run")
    other = SETTINGS.replace("seed = 1", "seed = 2").replace("heads = 2", "heads = 4")
    with pytest.raises(
        ConfigError,
        match="other settings: model.heads was 2 and is 4, train.seed was 1 and is 2; give the same",
    ):
        open_and_save(tmp_path / "run", other)
    assert (tmp_path / "run" / "config.toml").read_text() == SETTINGS


def test_a_changeable_setting_may_differ_and_is_stored(tmp_path):
    open_and_save(tmp_path / "run")
    longer = SETTINGS.replace("steps = 3", "steps = 9")
    open_and_save(tmp_path / "run", longer, changeable=["train.steps"])
    assert (tmp_path / "run" / "config.toml").read_text() == longer


def test_a_missing_setting_is_a_difference(tmp_path):
    open_and_save(tmp_path / "run")
    with pytest.raises(ConfigError, match="train.seed was 1 and is not there"):
        open_and_save(tmp_path / "run", SETTINGS.replace("seed = 1\n", ""))


def test_leftovers_of_killed_processes_are_removed_and_nothing_else(tmp_path):
    out = tmp_path / "run"
    open_and_save(out)
    (out / ".step-000002.writing-77").mkdir()
    (out / ".step-000001.deleting-77").mkdir()
    (out / ".config.toml.writing-77").write_text("half")
    (out / ".mine").write_text("precious")
    open_and_save(out)
    assert sorted(path.name for path in out.iterdir()) == [".lock", ".mine", "config.toml", "step-000001"]


def test_a_folder_that_is_no_run_is_refused_and_unchanged(tmp_path):
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(RegardError, match="is not empty and holds no run"):
        open_and_save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes"]


def test_a_new_run_that_fails_is_removed_and_an_old_one_stays(tmp_path):
    def fail(out):
        with pytest.raises(KeyboardInterrupt), open_run_folder(out, SETTINGS, ()):
            raise KeyboardInterrupt

    fail(tmp_path / "run")
    assert not (tmp_path / "run").exists()
    open_and_save(tmp_path / "run")
    (tmp_path / "run" / "step-000001").rmdir()
    fail(tmp_path / "run")
    assert (tmp_path / "run" / "config.toml").exists()


HOLD_LOCK = """
import os, sys, time
from pathlib import Path
from regard.training.run_folder import open_run_folder
with open_run_folder(Path(sys.argv[1]), sys.argv[2], ()):
    child = os.fork()
    if child:
        print(child, flush=True)
    time.sleep(60)
"""


def test_a_second_process_is_refused_until_the_first_is_killed(tmp_path):
    """The forked child of the first process lives on, as data workers may, and does not hold the lock."""
    command = [sys.executable, "-c", HOLD_LOCK, str(tmp_path / "run"), SETTINGS]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        child = int(process.stdout.readline())
        try:
            with pytest.raises(RegardError, match="run is in use by another process; wait until it has"):
                open_and_save(tmp_path / "run")
            process.kill()
            process.wait()
            for _ in range(100):  # the child closes its copy of the lock soon after it was forked
                try:
                    open_and_save(tmp_path / "run")
                    break
                except RegardError:
                    time.sleep(0.1)
            else:
                pytest.fail("the child holds the lock")
        finally:
            os.kill(child, signal.SIGKILL)
