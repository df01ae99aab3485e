import json
import os
import signal
from itertools import repeat

import pytest
import torch
from rich.console import Console

from regard.errors import ConfigError, RegardError
from regard.train.log import Log
from regard.train.loop import TrainConfig, Validation, train


class OneParameter:
    """Learns the number 3; what it validates to can be told."""

    def __init__(self, validations=None):
        self.model = torch.nn.Linear(1, 1, bias=False)
        self.validations = iter(validations) if validations else None
        self.on_loss = lambda: None

    def batches(self):
        return repeat(torch.ones(4, 1))

    def loss(self, batch):
        self.on_loss()
        return (self.model(batch) - 3).square().sum(), len(batch)

    def validate(self):
        self.model.eval()
        value = next(self.validations) if self.validations else (self.model.weight.item() - 3) ** 2
        return Validation({"loss": value})

    def save(self, folder, step, metrics):
        assert step >= 1
        assert "loss" in metrics
        folder.mkdir()


def run(task, folder, rate=lambda _: 0.1, **settings):
    with Log(folder / "metrics.jsonl", Console(quiet=True), steps=settings.get("steps", 10)) as log:
        optimizer = torch.optim.SGD(task.model.parameters(), lr=0.0)
        return train(task, folder, TrainConfig(**settings), optimizer, rate, log)


def checkpoints(folder):
    return sorted(path.name for path in folder.glob("step-*"))


def test_the_loss_goes_down_to_where_it_should(tmp_path):
    task = OneParameter()
    outcome = run(task, tmp_path, steps=60)
    assert task.model.weight.item() == pytest.approx(3, abs=0.01)
    assert (outcome.step, outcome.ending) == (60, "steps")


def test_the_rate_of_each_step_is_the_schedules(tmp_path):
    task, asked = OneParameter(), []

    def rate(step):
        asked.append(step)
        return 0.0 if step > 1 else 0.05

    torch.nn.init.zeros_(task.model.weight)
    run(task, tmp_path, rate, steps=5)
    assert task.model.weight.item() == pytest.approx(0.05 * 6)  # gradient -6, first step only
    assert set(asked) == {1, 2, 3, 4, 5}


def test_the_last_step_is_always_saved_and_the_best_is_kept(tmp_path):
    outcome = run(OneParameter([5.0, 1.0, 4.0, 2.0, 3.0]), tmp_path, steps=9, save_every=2, keep=1)
    assert checkpoints(tmp_path) == ["step-000004", "step-000009"]
    assert (outcome.best.name, outcome.step, outcome.metrics["loss"]) == ("step-000004", 4, 1.0)


def test_minutes_end_a_training(tmp_path):
    assert run(OneParameter(), tmp_path, steps=10**6, minutes=0.001).ending == "minutes"


def test_ctrl_c_saves_and_leaves(tmp_path):
    task = OneParameter()
    task.on_loss = lambda: os.kill(os.getpid(), signal.SIGINT)
    before = signal.getsignal(signal.SIGINT)
    outcome = run(task, tmp_path, steps=1000)
    assert (outcome.ending, outcome.step) == ("interrupt", 1)
    assert checkpoints(tmp_path) == ["step-000001"]
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_ctrl_c_leaves_at_once(tmp_path):
    task = OneParameter()

    def twice():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    task.on_loss = twice
    with pytest.raises(KeyboardInterrupt):
        run(task, tmp_path, steps=1000)
    assert checkpoints(tmp_path) == []


def test_a_loss_that_is_no_number_stops_with_advice(tmp_path):
    with pytest.raises(RegardError, match="the loss is nan at step .*; a lower optimizer.peak"):
        run(OneParameter(), tmp_path, rate=lambda _: float("nan"), steps=50)


def test_clipping_bounds_the_step(tmp_path):
    task = OneParameter()
    torch.nn.init.zeros_(task.model.weight)
    run(task, tmp_path, steps=1, clip=0.5)
    assert task.model.weight.item() == pytest.approx(0.1 * 0.5, rel=1e-4)


def test_metrics_are_written_as_json_lines(tmp_path):
    run(OneParameter(), tmp_path, steps=10, save_every=5, log_every=2)
    events = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [e["step"] for e in events if e["event"] == "step"] == [2, 4, 6, 8, 10]
    assert [e["step"] for e in events if e["event"] == "validation"] == [5, 10]
    assert all(e["loss"] >= 0 and e["seconds"] >= 0 for e in events)


@pytest.mark.parametrize(
    "wrong",
    [
        {"steps": 0},
        {"save_every": 0},
        {"minutes": 0.0},
        {"label_smoothing": 1.0},
        {"seed": -1},
        {"clip": 0.0},
    ],
)
def test_settings_that_cannot_work_are_refused(wrong):
    (name,) = wrong
    with pytest.raises(ConfigError, match=f"train.{name} = .* cannot work"):
        TrainConfig(**wrong)
