"""Two processes with one run folder: the second is refused, and a dead one does not block it."""

import os
import signal
from unittest import mock

import pytest

from faults.slow_training import SlowToyTask, start_slow_training, train_slow_toy
from faults.toy_task import train_toy
from faults.training_process import start_process
from regard.errors import RegardError

pytestmark = pytest.mark.fault


def test_a_second_process_is_refused_until_the_first_has_ended(tmp_path):
    folder = tmp_path / "run"
    first = start_slow_training(folder, tmp_path / "ready", 1000)
    settings = {"steps": 1000, "save_every": 5, "ema": 0.9, "average": 2}
    with pytest.raises(RegardError, match="run is in use by another process"):
        train_toy(folder, **settings)
    assert first.is_alive()
    os.kill(first.pid, signal.SIGKILL)
    first.join()
    second = start_slow_training(folder, tmp_path / "ready", 1000)
    second.kill()
    second.join()


def test_a_forked_worker_that_outlives_its_parent_does_not_hold_the_folder(tmp_path):
    parent = start_process(fork_and_die, tmp_path / "run", tmp_path / "ready")
    parent.join(60)
    worker = int((tmp_path / "worker").read_text())
    try:
        os.kill(worker, 0)  # raises if it has ended
        start_process(train_slow_toy, tmp_path / "run", tmp_path / "ready", 5).join(60)
        assert (tmp_path / "run" / "model").is_dir()
    finally:
        os.kill(worker, signal.SIGKILL)


def fork_and_die(folder, ready):
    """Fork a child that waits for a signal, then die in the first save."""

    def die(descriptor):  # noqa: ARG001
        if ready.exists():
            worker = os.fork()
            if worker == 0:
                signal.pause()
            (folder.parent / "worker").write_text(str(worker))
            os.kill(os.getpid(), signal.SIGKILL)

    with mock.patch("os.fsync", die):
        train_toy(folder, SlowToyTask(ready, 0.0), steps=5, save_every=5, ema=0.9, average=2)
