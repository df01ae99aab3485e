"""A task that trains in milliseconds and depends on everything that a resumed run must restore."""

import json
from itertools import count
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from torch.nn import functional

from regard.checkpoint import WEIGHTS_FILE, file_sha256, publish_model
from regard.text.corpus_files import FileLines
from regard.training.interrupt import InterruptHandler
from regard.training.logs.metrics_file import METRICS_FILE
from regard.training.logs.training_log import TrainingLog
from regard.training.loop import TrainConfig, TrainingLoop
from regard.training.optimizer import Ema, OptimizerConfig, build_optimizer, learning_rate
from regard.training.run_folder import open_run_folder
from regard.training.state import (
    OPTIMIZER_FILE,
    TRAINING_FILES,
    TrainingState,
    find_resume_point,
    restore_training,
)
from regard.training.step import EagerStep, Learner
from regard.training.task import BatchCounts, ValidationResult
from regard.training.weights import save_weights

BATCHES_PER_EPOCH = 7


class ToyTask:
    """Classifies points of three kinds, with dropout."""

    def __init__(self):
        torch.manual_seed(0)
        self.model = torch.nn.Sequential(
            torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Dropout(0.3), torch.nn.Linear(8, 3)
        )
        self.hook = lambda loss: loss
        """Called with each loss before the backward pass."""
        self.data = "0" * 64

    def batches(self, start):
        for number in count(start.get("epoch", 0) * BATCHES_PER_EPOCH + start.get("batch", 0)):
            epoch, batch = divmod(number, BATCHES_PER_EPOCH)
            after = divmod(number + 1, BATCHES_PER_EPOCH)
            kinds = np.random.default_rng([epoch, batch]).integers(0, 3, 6)
            points = np.random.default_rng([epoch, batch, 1]).normal(kinds[:, None], size=(6, 4))
            x, y = torch.from_numpy(points).float(), torch.from_numpy(kinds)
            yield (number, x, y), {"epoch": after[0], "batch": after[1]}

    def batch_counts(self, batch):
        return BatchCounts(4 * len(batch[1]), len(batch[1]))

    def loss(self, batch):
        _, x, y = batch
        return self.hook(functional.cross_entropy(self.model(x), y, reduction="sum"))

    def locate_lines(self, batch):
        return [FileLines(("points",), (batch[0],))]

    def fingerprint(self):
        return {"points": self.data}

    def validate(self):
        self.model.eval()
        with torch.no_grad():
            (_, x, y), _ = next(self.batches({"epoch": 1000}))
            return ValidationResult({"loss": functional.cross_entropy(self.model(x), y).item()})

    def save(self, folder):
        save_weights(folder, self.model)
        return {"task": "toy"}


def train_toy(folder, task=None, messages=None, **settings):
    """Train the toy in `folder`, or resume it; messages of the run are appended to `messages`."""
    config = TrainConfig(**{"steps": 12, "save_every": 3, "log_every": 1, **settings})
    task = task or ToyTask()
    console = Console(quiet=True)
    messages = [] if messages is None else messages
    with open_run_folder(folder, f'[train]\nsettings = "{config}"\n', ()):
        checkpoint = find_resume_point(folder, messages.append)
        ema = None if config.ema is None else Ema(task.model, config.ema)
        learner = Learner(task.model, build_optimizer(task.model, OptimizerConfig()), ema)
        state = TrainingState()
        if checkpoint is not None:
            state = restore_training(checkpoint, task, learner, messages.append)
        log = TrainingLog(
            folder / METRICS_FILE,
            console,
            config.steps,
            resumed_step=state.step,
            seconds_before=state.seconds,
        )
        log.log_message = messages.append
        with log, InterruptHandler() as interrupt:
            step = EagerStep(task, learner, config.seed, config.clip)
            result = TrainingLoop(
                task=task,
                folder=folder,
                config=config,
                learner=learner,
                step=step,
                schedule=toy_learning_rate,
                log=log,
                interrupt=interrupt,
                state=state,
            ).run()
            if result.stop_reason != "interrupt":
                publish_model(result.best_folder, folder / "model", exclude=TRAINING_FILES)
    return result


def toy_learning_rate(step):
    return learning_rate(step, 12, 64, OptimizerConfig(peak=0.02, warmup=5))


def read_exact_losses(folder: Path) -> dict[int, str]:
    """Return the exact loss of each step; no step may be recorded twice."""
    lines = [json.loads(line) for line in (folder / METRICS_FILE).read_text().splitlines()]
    losses = [(line["step"], float(line["loss"]).hex()) for line in lines if line["kind"] == "train"]
    assert len(losses) == len(dict(losses)), "a step is recorded twice"
    return dict(losses)


def step_digests(folder: Path, step: int) -> dict[str, str]:
    """Return the SHA-256 of a checkpoint's weights and optimizer, and of the published weights."""
    last = folder / f"step-{step:06}"
    paths = (last / WEIGHTS_FILE, last / OPTIMIZER_FILE, folder / "model" / WEIGHTS_FILE)
    return {str(path.relative_to(folder)): file_sha256(path) for path in paths}
