import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat

import pytest
import torch
from rich.console import Console

from regard.checkpoint import checkpoints
from regard.errors import ConfigError, RegardError
from regard.train.interrupt import Interrupt
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
        return Validation({"loss": value}, {"signature": "squares"})

    def save(self, folder, step, validation):
        assert step >= 1
        assert "loss" in validation.metrics
        folder.mkdir()


def run(task, folder, rate=lambda _: 0.1, **settings):
    with (
        Log(folder / "metrics.jsonl", Console(quiet=True), steps=settings.get("steps", 10)) as log,
        Interrupt() as interrupt,
    ):
        optimizer = torch.optim.SGD(task.model.parameters(), lr=0.0)
        return train(task, folder, TrainConfig(**settings), optimizer, rate, log, interrupt)


def steps_kept(folder):
    return [path.name for path in checkpoints(folder)]


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
    outcome = run(OneParameter([5.0, 1.0, 4.0, 2.0, 3.0]), tmp_path, steps=9, save_every=2, keep_last=1)
    assert steps_kept(tmp_path) == ["step-000004", "step-000009"]
    assert (outcome.best.name, outcome.step, outcome.metrics["loss"]) == ("step-000004", 4, 1.0)


def test_minutes_end_a_training(tmp_path):
    assert run(OneParameter(), tmp_path, steps=10**6, minutes=0.001).ending == "minutes"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_saves_and_leaves(tmp_path, number):
    task = OneParameter()
    task.on_loss = lambda: os.kill(os.getpid(), number)
    before = signal.getsignal(signal.SIGINT)
    outcome = run(task, tmp_path, steps=1000)
    assert (outcome.ending, outcome.step) == ("interrupt", 1)
    assert steps_kept(tmp_path) == ["step-000001"]
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_during_a_validation_costs_no_second_one(tmp_path):
    task = OneParameter()
    validate, validated = task.validate, []

    def interrupted():
        validated.append(1)
        os.kill(os.getpid(), signal.SIGINT)
        return validate()

    task.validate = interrupted
    outcome = run(task, tmp_path, steps=1000, save_every=3)
    assert (outcome.ending, outcome.step, len(validated)) == ("interrupt", 3, 1)


def test_the_person_is_told_at_once_that_it_will_stop(capfd):
    with Interrupt() as interrupt:
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupt.asked
    assert "the model is saved first" in capfd.readouterr().err


def test_a_thread_can_train_though_it_cannot_listen_for_signals(tmp_path):
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(run, OneParameter(), tmp_path, steps=2).result().ending == "steps"


def test_a_second_ctrl_c_leaves_at_once(tmp_path):
    task = OneParameter()

    def twice():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    task.on_loss = twice
    with pytest.raises(KeyboardInterrupt):
        run(task, tmp_path, steps=1000)
    assert steps_kept(tmp_path) == []


def test_a_loss_that_is_no_number_stops_with_advice(tmp_path):
    with pytest.raises(RegardError, match="the loss is nan at step .*; a lower optimizer.peak"):
        run(OneParameter(), tmp_path, rate=lambda _: float("nan"), steps=50)


NAN = float("nan")


@pytest.mark.parametrize(
    ("losses", "best"), [([NAN, 2.0, 3.0], 2), ([2.0, NAN, 3.0], 1), ([2.0, 3.0, NAN], 1)]
)
def test_a_validation_of_no_number_is_never_the_best(tmp_path, losses, best):
    outcome = run(OneParameter(losses), tmp_path, steps=3, save_every=1, keep_last=1)
    assert outcome.step == best
    assert outcome.best.is_dir()
    for line in (tmp_path / "metrics.jsonl").read_text().splitlines():
        json.loads(line, parse_constant=pytest.fail)


def test_a_training_whose_every_validation_is_no_number_gives_no_model(tmp_path):
    with pytest.raises(RegardError, match="the loss is nan"):
        run(OneParameter([NAN, NAN]), tmp_path, steps=2, save_every=1)


def test_a_screen_that_is_gone_does_not_end_a_training(tmp_path):
    class Gone:
        def write(self, _):
            raise BrokenPipeError

        def flush(self):
            pass

    with Log(tmp_path / "metrics.jsonl", Console(file=Gone()), steps=3) as log, Interrupt() as interrupt:
        task = OneParameter()
        optimizer = torch.optim.SGD(task.model.parameters(), lr=0.0)
        outcome = train(task, tmp_path, TrainConfig(steps=3), optimizer, lambda _: 0.1, log, interrupt)
    assert outcome.ending == "steps"


def test_checkpoints_are_in_order_of_their_steps_and_not_of_their_names(tmp_path):
    for name in ("step-999000", "step-1000000", "step-000005", "step-notes"):
        (tmp_path / name).mkdir()
    assert steps_kept(tmp_path) == ["step-000005", "step-999000", "step-1000000"]


def test_dropout_is_keyed_by_seed_and_step(tmp_path):
    def drawn(folder, seed, before):
        torch.manual_seed(before)
        task, numbers = OneParameter(), []
        task.on_loss = lambda: numbers.append(torch.rand(()).item())
        folder.mkdir()
        run(task, folder, steps=3, seed=seed)
        return numbers

    first = drawn(tmp_path / "a", 1, before=5)
    assert drawn(tmp_path / "b", 1, before=6) == first
    assert drawn(tmp_path / "c", 2, before=5) != first
    assert len(set(first)) == 3


def test_the_speed_counts_no_time_and_no_token_twice(tmp_path):
    task = OneParameter()
    task.on_loss = lambda: time.sleep(0.01)
    run(task, tmp_path, steps=12, save_every=5, log_every=6)
    events = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert all(event["tokens_per_second"] <= 4 / 0.01 for event in events if event["event"] == "step")


def test_clipping_bounds_the_step(tmp_path):
    task = OneParameter()
    torch.nn.init.zeros_(task.model.weight)
    run(task, tmp_path, steps=1, clip=0.5)
    assert task.model.weight.item() == pytest.approx(0.1 * 0.5, rel=1e-4)


def test_metrics_are_written_as_json_lines(tmp_path):
    run(OneParameter(), tmp_path, steps=10, save_every=5, log_every=2)
    events = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [e["step"] for e in events if e["event"] == "step"] == [2, 4, 5, 6, 8, 10]
    assert [e["step"] for e in events if e["event"] == "validation"] == [5, 10]
    assert all(e["loss"] >= 0 and e["seconds"] >= 0 for e in events)
    assert {e["signature"] for e in events if e["event"] == "validation"} == {"squares"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"steps": 0},
        {"save_every": 0},
        {"minutes": 0.0},
        {"seed": -1},
        {"clip": 0.0},
    ],
)
def test_settings_that_cannot_work_are_refused(wrong):
    (name,) = wrong
    with pytest.raises(ConfigError, match=f"train.{name} = .* cannot work"):
        TrainConfig(**wrong)
