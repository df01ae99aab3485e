"""Training runs in separate processes, which tests can kill."""

import multiprocessing
import os
import time
from contextlib import contextmanager
from dataclasses import replace
from unittest import mock

import torch
from rich.console import Console

from regard.cli.verbs.demo import write_phrasebook
from regard.data.config import DataConfig
from regard.demo.phrasebook.corpus import phrasebook
from regard.model.config import TINY
from regard.training.loop import TrainConfig
from regard.training.optimizer import OptimizerConfig, learning_rate
from regard.training.setup import TrainingSetup
from regard.training.step import Learner
from regard.translation.run import TranslationRun
from regard.translation.task import TranslationTask, train_translation

CONTEXT = multiprocessing.get_context("forkserver")
# Imported once and not in each process; torch._dynamo is imported by the first optimizer.
CONTEXT.set_forkserver_preload(["regard.translation.task", "torch._dynamo", "regard.demo.phrasebook.corpus"])


def start_process(target, *arguments):
    """Start a process with all imports done, which shares no state with this one."""
    process = CONTEXT.Process(target=target, args=arguments)
    process.start()
    return process


def write_phrasebook_files(folder):
    """Write the files that `small_translation_run` reads."""
    write_phrasebook(phrasebook(train=300, valid=20, test=1), folder)


def small_translation_run(text, steps, save_every) -> TranslationRun:
    model = replace(TINY, d_model=16, heads=2, d_ff=32, encoder_layers=1, decoder_layers=1, vocab_size=500)
    data = DataConfig(
        source=(str(text / "train.en"),),
        target=(str(text / "train.fr"),),
        valid_source=str(text / "valid.en"),
        valid_target=str(text / "valid.fr"),
        cache=str(text / "cache"),
        batch_tokens=256,
        bleu_pairs=2,
    )
    train = TrainConfig(
        steps=steps, save_every=save_every, log_every=1, accumulate=2, clip=1.0, ema=0.9, average=3
    )
    optimizer = OptimizerConfig(peak=0.01, warmup=10, weight_decay=0.01)
    return TranslationRun(model=model, data=data, train=train, optimizer=optimizer)


def train_small_translation(text, out, steps, save_every, mutant="none", pause=0.0):
    """Train with dropout, accumulation, clipping, weight decay, EMA and checkpoint averaging.

    Each flush to disk takes `pause` seconds, so that a kill can hit a save.
    """
    torch.set_num_threads(1)
    fsync = os.fsync

    def slowly(descriptor):
        time.sleep(pause)
        fsync(descriptor)

    with (
        mock.patch("regard.inference.engine.EXTRA_LENGTH", 1),
        mock.patch("os.fsync", slowly),
        MUTANTS[mutant](),
    ):
        train_translation(small_translation_run(text, steps, save_every), out, Console(quiet=True))


@contextmanager
def _none():
    yield


def _ignores_the_seed():
    """Dropout ignores the step and continues the process's own random state."""
    return mock.patch("regard.training.step.torch.manual_seed", return_value=None)


def _forgets_moments():
    """Only the raw weights are restored, not the optimizer state."""
    restore = Learner.load_state_tensors
    return mock.patch.object(
        Learner,
        "load_state_tensors",
        lambda self, tensors, misfit: restore(
            self, {name: tensor for name, tensor in tensors.items() if name.endswith(".raw")}, misfit
        ),
    )


def _forgets_the_schedule():
    """The warm-up starts again in each process."""
    steps = []

    def rate(self, step):
        steps.append(step)
        run = self.run
        return learning_rate(step - steps[0] + 1, run.train.steps, run.model.d_model, run.optimizer)

    return mock.patch.object(TrainingSetup, "learning_rate", rate)


def _forgets_the_position():
    """The data starts again in each process."""
    batches = TranslationTask.batches
    return mock.patch.object(TranslationTask, "batches", lambda self, start: batches(self, {}))  # noqa: ARG005


MUTANTS = {
    "none": _none,
    "dropout seed": _ignores_the_seed,
    "optimizer": _forgets_moments,
    "schedule": _forgets_the_schedule,
    "position": _forgets_the_position,
}
