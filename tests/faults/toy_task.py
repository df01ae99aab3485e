"""A task that trains in milliseconds, to which everything that a resume must restore matters."""

import json
from itertools import count
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from torch.nn import functional

from regard.checkpoint import WEIGHTS, publish, sha256
from regard.train.interrupt import Interrupt
from regard.train.logs.training_log import Log
from regard.train.loop import TrainConfig, train
from regard.train.optimizer import Ema, OptimizerConfig, adam, learning_rate
from regard.train.run_folder import METRICS, open_run
from regard.train.state import TENSORS, TRAINING, State, newest_whole, resume
from regard.train.step import EagerStep, Learner
from regard.train.task import Counts, Lines, Validation
from regard.train.weights import save_weights

BATCHES = 7
"""In an epoch."""


class Toy:
    """Tells three kinds of points apart, with dropout."""

    def __init__(self):
        torch.manual_seed(0)
        self.model = torch.nn.Sequential(
            torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Dropout(0.3), torch.nn.Linear(8, 3)
        )
        self.hook = lambda loss: loss
        """Called with each loss, before the gradient is taken."""
        self.data = "0" * 64

    def batches(self, start):
        for number in count(start.get("epoch", 0) * BATCHES + start.get("batch", 0)):
            epoch, batch = divmod(number, BATCHES)
            after = divmod(number + 1, BATCHES)
            kinds = np.random.default_rng([epoch, batch]).integers(0, 3, 6)
            points = np.random.default_rng([epoch, batch, 1]).normal(kinds[:, None], size=(6, 4))
            x, y = torch.from_numpy(points).float(), torch.from_numpy(kinds)
            yield (number, x, y), {"epoch": after[0], "batch": after[1]}

    def counts(self, batch):
        return Counts(4 * len(batch[1]), len(batch[1]))

    def loss(self, batch):
        _, x, y = batch
        return self.hook(functional.cross_entropy(self.model(x), y, reduction="sum"))

    def where(self, batch):
        return [Lines(("points",), (batch[0],))]

    def fingerprint(self):
        return {"points": self.data}

    def validate(self):
        self.model.eval()
        with torch.no_grad():
            (_, x, y), _ = next(self.batches({"epoch": 1000}))
            return Validation({"loss": functional.cross_entropy(self.model(x), y).item()})

    def save(self, folder):
        save_weights(folder, self.model)
        return {"task": "toy"}


def run_toy(folder, task=None, said=None, **settings):
    """A training of the toy in `folder`, gone on with where it was cut short; `said` gathers what is said."""
    config = TrainConfig(**{"steps": 12, "save_every": 3, "log_every": 1, **settings})
    task = task or Toy()
    console = Console(quiet=True)
    said = [] if said is None else said
    with open_run(folder, f'[train]\nsettings = "{config}"\n', ()):
        begun = newest_whole(folder, said.append)
        ema = None if config.ema is None else Ema(task.model, config.ema)
        learner = Learner(task.model, adam(task.model, OptimizerConfig()), ema)
        state = State() if begun is None else resume(begun, task, learner, said.append)
        log = Log(folder / METRICS, console, config.steps, after=state.step, seconds=state.seconds)
        log.said = said.append
        with log, Interrupt() as interrupt:
            step = EagerStep(task, learner, config.seed, config.clip)
            outcome = train(task, folder, config, learner, step, rate, log, interrupt, state)
            if outcome.ending != "interrupt":
                publish(outcome.best, folder / "model", without=TRAINING)
    return outcome


def rate(step):
    return learning_rate(step, 12, 64, OptimizerConfig(peak=0.02, warmup=5))


def losses(folder: Path) -> dict[int, str]:
    """The loss of each step, exactly; no step stands there twice."""
    lines = [json.loads(line) for line in (folder / METRICS).read_text().splitlines()]
    found = [(line["step"], float(line["loss"]).hex()) for line in lines if line["kind"] == "train"]
    assert len(found) == len(dict(found)), "a step is recorded twice"
    return dict(found)


def digests(folder: Path, step: int) -> dict[str, str]:
    """The SHA-256 of what a step left, and of the model that came out."""
    last = folder / f"step-{step:06}"
    paths = (last / WEIGHTS, last / TENSORS, folder / "model" / WEIGHTS)
    return {str(path.relative_to(folder)): sha256(path) for path in paths}
