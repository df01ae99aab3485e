"""T6: a signal saves and exits at any moment of the training; a second one exits at once."""

import os
import signal
import time
from contextlib import suppress
from random import Random

import pytest

from faults.slow_training import start_slow_training, train_slow_toy, wait_until
from faults.toy_task import read_exact_losses, step_digests
from faults.training_process import start_process
from regard.checkpoint import list_checkpoints, read_manifest
from regard.training.interrupt import InterruptHandler

pytestmark = pytest.mark.fault
SIGNALS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT, signal.SIGHUP)
MAX_EXIT_SECONDS = 5.0


def seconds_to_exit(process):
    start = time.monotonic()
    process.join(30)
    return time.monotonic() - start


@pytest.mark.parametrize("signals", [8, pytest.param(50, marks=pytest.mark.slow)])
def test_signals_at_any_moment_save_and_the_run_has_the_same_bits(tmp_path, signals):
    steps = 50 * signals
    start_process(train_slow_toy, tmp_path / "whole", tmp_path / "ready", steps, 0.0, 0.0).join(120)
    random, folder = Random(signals), tmp_path / "run"
    for number in range(signals):
        process = start_slow_training(folder, tmp_path / "ready", steps)
        time.sleep(random.uniform(0, 0.15))
        os.kill(process.pid, SIGNALS[number % 4])
        assert seconds_to_exit(process) < MAX_EXIT_SECONDS
        assert process.exitcode == 0
        assert read_manifest(list_checkpoints(folder)[-1])
        assert not (folder / "model").exists()
    process = start_process(train_slow_toy, folder, tmp_path / "ready", steps)
    process.join(120)
    assert process.exitcode == 0
    assert read_exact_losses(folder) == read_exact_losses(tmp_path / "whole")
    assert step_digests(folder, steps) == step_digests(tmp_path / "whole", steps)


def test_a_signal_ends_a_long_validation(tmp_path):
    folder = tmp_path / "run"
    process = start_slow_training(folder, tmp_path / "ready", 100, 0.0, 60.0)
    wait_until(
        lambda: len(read_exact_losses(folder)) == 5 if (folder / "metrics.jsonl").exists() else False, process
    )
    time.sleep(0.2)
    os.kill(process.pid, signal.SIGTERM)
    assert seconds_to_exit(process) < MAX_EXIT_SECONDS
    assert [path.name for path in list_checkpoints(folder)] == ["step-000005"]


def test_a_second_signal_ends_a_long_save_at_once(tmp_path):
    process = start_slow_training(tmp_path / "run", tmp_path / "ready", 100, 60.0)
    wait_until(lambda: any((tmp_path / "run").glob(".step-*.writing-*")), process)
    os.kill(process.pid, signal.SIGTERM)
    time.sleep(0.2)
    assert process.is_alive()  # it is still saving
    os.kill(process.pid, signal.SIGTERM)
    assert seconds_to_exit(process) < MAX_EXIT_SECONDS
    assert process.exitcode not in (0, None)


def test_a_closed_terminal_that_is_reported_twice_still_saves(tmp_path):
    folder = tmp_path / "run"
    process = start_slow_training(folder, tmp_path / "ready", 1000)
    os.kill(process.pid, signal.SIGHUP)
    time.sleep(0.01)
    with suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGHUP)
    seconds_to_exit(process)
    assert process.exitcode == 0
    assert read_manifest(list_checkpoints(folder)[-1])


def test_a_closed_terminal_is_ignored_under_nohup():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with InterruptHandler() as interrupt:
            os.kill(os.getpid(), signal.SIGHUP)
            assert not interrupt.requested
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
