"""Toy training in a separate process, slow enough for a signal to arrive at any moment."""

import os
import time
from unittest import mock

from faults.toy_task import ToyTask, train_toy
from faults.training_process import start_process


class SlowToyTask(ToyTask):
    """A toy whose steps, validations and saves take long enough for a signal to arrive."""

    def __init__(self, ready, validation):
        super().__init__()
        self.hook = lambda loss: time.sleep(0.002) or ready.touch() or loss
        self.validation = validation

    def validate(self):
        for _ in range(round(self.validation / 0.005)):
            time.sleep(0.005)
        return super().validate()


def train_slow_toy(folder, ready, steps, flush=0.002, validation=0.03):
    fsync = os.fsync

    def slowly(descriptor):
        time.sleep(flush if ready.exists() else 0)
        fsync(descriptor)

    with mock.patch("os.fsync", slowly):
        train_toy(folder, SlowToyTask(ready, validation), steps=steps, save_every=5, ema=0.9, average=2)


def start_slow_training(folder, ready, *arguments):
    """Return a process that is training, and so handles signals."""
    ready.unlink(missing_ok=True)
    process = start_process(train_slow_toy, folder, ready, *arguments)
    wait_until(ready.exists, process)
    return process


def wait_until(condition, process):
    while not condition():
        assert process.is_alive()
        time.sleep(0.0005)
