import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest
import torch
from rich.console import Console

from regard.checkpoint import list_checkpoints
from regard.errors import ConfigError, RegardError
from regard.train.interrupt import InterruptHandler
from regard.train.logs.step_stats import StepStats
from regard.train.logs.training_log import TrainingLog
from regard.train.loop import TrainConfig, run_training_loop
from regard.train.optimizer import Ema
from regard.train.state import TrainingState, read_training_state
from regard.train.step import EagerStep, Learner
from regard.train.task import BatchCounts, FileLines, ValidationResult
from regard.train.weights import load_tensors, save_weights


class OneParameter:
    """Learns the number 3; what it validates to can be told."""

    def __init__(self, validations=None):
        self.model = torch.nn.Linear(1, 1, bias=False)
        self.validations = iter(validations) if validations else None
        self.on_loss = lambda: None

    def batches(self, start):
        for number in count(start.get("batch", 0)):
            yield torch.ones(4, 1), {"batch": number + 1}

    def batch_counts(self, batch):
        return BatchCounts(len(batch), len(batch))

    def loss(self, batch):
        self.on_loss()
        return (self.model(batch) - 3).square().sum()

    def locate_lines(self, batch):
        return [FileLines(("ones",), tuple(range(1, len(batch) + 1)))]

    def fingerprint(self):
        return {"ones": "1" * 64}

    def validate(self):
        self.model.eval()
        value = next(self.validations) if self.validations else (self.model.weight.item() - 3) ** 2
        metrics = value if isinstance(value, dict) else {"loss": value}
        return ValidationResult(metrics, {"signature": "squares"})

    def save(self, folder):
        save_weights(folder, self.model)
        return {"task": "three"}


BEGIN = TrainingState()


def run(task, folder, rate=lambda _: 0.1, state=BEGIN, **settings):
    config = TrainConfig(**settings)
    sgd = torch.optim.SGD(task.model.parameters(), lr=0.0, fused=True)
    learner = Learner(task.model, sgd, None if config.ema is None else Ema(task.model, config.ema))
    with (
        TrainingLog(
            folder / "metrics.jsonl", Console(quiet=True), config.steps, state.step, state.seconds
        ) as log,
        InterruptHandler() as interrupt,
    ):
        step = EagerStep(task, learner, config.seed, config.clip)
        return run_training_loop(task, folder, config, learner, step, rate, log, interrupt, state)


def steps_kept(folder):
    return [path.name for path in list_checkpoints(folder)]


def test_the_loss_goes_down_to_where_it_should(tmp_path):
    task = OneParameter()
    outcome = run(task, tmp_path, steps=60)
    assert task.model.weight.item() == pytest.approx(3, abs=0.01)
    assert (outcome.step, outcome.stop_reason) == (60, "steps")


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
    outcome = run(OneParameter([5.0, 1.0, 4.0, 2.0, 3.0]), tmp_path, steps=9, save_every=2)
    assert steps_kept(tmp_path) == ["step-000004", "step-000008", "step-000009"]
    assert (outcome.best_folder.name, outcome.step, outcome.metrics["loss"]) == ("step-000004", 4, 1.0)


def test_minutes_end_a_training(tmp_path):
    assert run(OneParameter(), tmp_path, steps=10**6, minutes=0.001).stop_reason == "minutes"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_ctrl_c_saves_and_leaves(tmp_path, number):
    task = OneParameter()
    task.on_loss = lambda: os.kill(os.getpid(), number)
    before = signal.getsignal(signal.SIGINT)
    outcome = run(task, tmp_path, steps=1000)
    assert (outcome.stop_reason, outcome.step) == ("interrupt", 1)
    assert steps_kept(tmp_path) == ["step-000001"]
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_during_a_validation_abandons_it_and_saves(tmp_path):
    task = OneParameter()

    def interrupted():
        os.kill(os.getpid(), signal.SIGINT)
        pytest.fail("the validation went on")

    task.validate = interrupted
    outcome = run(task, tmp_path, steps=1000, save_every=3)
    assert (outcome.stop_reason, outcome.step, steps_kept(tmp_path)) == ("interrupt", 3, ["step-000003"])
    assert task.model.training


def test_a_validation_that_was_abandoned_is_done_after_the_resume(tmp_path):
    task = OneParameter()
    task.on_loss = lambda: os.kill(os.getpid(), signal.SIGINT)
    run(task, tmp_path, steps=3, save_every=1)
    state = read_training_state(tmp_path / "step-000001")
    assert (state.step, state.validated, state.best) == (1, 0, None)
    outcome = run(OneParameter([1.0, 2.0, 3.0]), tmp_path, steps=3, save_every=1, state=state)
    assert (outcome.step, outcome.metrics) == (1, {"loss": 1.0, "signature": "squares"})


def test_the_person_is_told_at_once_that_it_will_stop(capfd):
    with InterruptHandler() as interrupt:
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupt.requested
    assert "the model is saved first" in capfd.readouterr().err


def test_a_thread_can_train_though_it_cannot_listen_for_signals(tmp_path):
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(run, OneParameter(), tmp_path, steps=2).result().stop_reason == "steps"


def test_a_second_ctrl_c_leaves_at_once(tmp_path):
    task = OneParameter()

    def twice():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    task.on_loss = twice
    with pytest.raises(KeyboardInterrupt):
        run(task, tmp_path, steps=1000)
    assert steps_kept(tmp_path) == []


def test_a_loss_that_is_never_a_number_stops_with_advice(tmp_path):
    task = OneParameter()
    task.loss = lambda batch: task.model(batch).sum() * NAN
    with pytest.raises(
        RegardError, match="not finite, 10 steps in a row up to step 10; a lower optimizer.peak"
    ):
        run(task, tmp_path, steps=50)
    assert task.model.weight.isfinite()


NAN = float("nan")


@pytest.mark.parametrize(
    ("losses", "best"), [([NAN, 2.0, 3.0], 2), ([2.0, NAN, 3.0], 1), ([2.0, 3.0, NAN], 1)]
)
def test_a_validation_of_no_number_is_never_the_best(tmp_path, losses, best):
    outcome = run(OneParameter(losses), tmp_path, steps=3, save_every=1)
    assert outcome.step == best
    assert outcome.best_folder.is_dir()
    for line in (tmp_path / "metrics.jsonl").read_text().splitlines():
        json.loads(line, parse_constant=pytest.fail)


def test_a_training_whose_every_validation_is_no_number_gives_no_model(tmp_path):
    with pytest.raises(RegardError, match="train.judge = loss was no finite number at any validation"):
        run(OneParameter([NAN, NAN]), tmp_path, steps=2, save_every=1)


def test_a_screen_that_is_gone_does_not_end_a_training(tmp_path):
    class Gone:
        def write(self, _):
            raise BrokenPipeError

        def flush(self):
            pass

    with (
        TrainingLog(tmp_path / "metrics.jsonl", Console(file=Gone()), steps=3) as log,
        InterruptHandler() as interrupt,
    ):
        task = OneParameter()
        learner = Learner(task.model, torch.optim.SGD(task.model.parameters(), lr=0.0, fused=True))
        step = EagerStep(task, learner, 1, None)
        config = TrainConfig(steps=3)
        outcome = run_training_loop(
            task, tmp_path, config, learner, step, lambda _: 0.1, log, interrupt, BEGIN
        )
    assert outcome.stop_reason == "steps"


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
    assert all(event["tokens_per_s"] <= 8 / 0.01 for event in events if event["kind"] == "train")


def test_the_speed_counts_the_wait_for_the_device(tmp_path, monkeypatch):
    """A GPU is told of many steps before it has done the first: their figures come when they are done."""
    flags = StepStats.skipped_flags
    monkeypatch.setattr(StepStats, "skipped_flags", lambda self: time.sleep(0.05) or flags(self))
    run(OneParameter(), tmp_path, steps=4, log_every=2)
    events = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert all(event["tokens_per_s"] <= 16 / 0.05 for event in events if event["kind"] == "train")


def test_clipping_bounds_the_step(tmp_path):
    task = OneParameter()
    torch.nn.init.zeros_(task.model.weight)
    run(task, tmp_path, steps=1, clip=0.5)
    assert task.model.weight.item() == pytest.approx(0.1 * 0.5, rel=1e-4)


def test_metrics_are_written_as_json_lines(tmp_path):
    run(OneParameter(), tmp_path, steps=10, save_every=5, log_every=2)
    events = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [e["step"] for e in events if e["kind"] == "train"] == [2, 4, 5, 6, 8, 10]
    assert [e["step"] for e in events if e["kind"] == "valid"] == [5, 10]
    assert all(e["loss"] >= 0 and e["time_s"] >= 0 for e in events)
    assert {e["signature"] for e in events if e["kind"] == "valid"} == {"squares"}


def test_batches_make_one_step_as_one_batch_would(tmp_path):
    """Two of four ones give the gradient of one of eight, and count as much."""
    task = OneParameter()
    torch.nn.init.zeros_(task.model.weight)
    run(task, tmp_path, lambda _: 0.05, steps=1, accumulate=2)
    assert task.model.weight.item() == pytest.approx(0.05 * 6)
    assert read_training_state(tmp_path / "step-000001").position == {"batch": 2}
    (event, _) = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert (event["target_tokens"], event["loss"]) == (8, 9.0)


def test_patience_ends_a_training_that_gets_no_better(tmp_path):
    outcome = run(OneParameter([5.0, 4.0, 4.0, 4.5, 1.0]), tmp_path, steps=10, save_every=1, patience=2)
    assert (outcome.stop_reason, outcome.step, outcome.metrics["loss"]) == ("patience", 2, 4.0)
    assert read_training_state(tmp_path / "step-000004").waited == 2


def test_bleu_can_be_the_judge_and_more_of_it_is_better(tmp_path):
    validations = [{"loss": 1.0, "bleu": 3.0}, {"loss": 2.0, "bleu": 9.0}, {"loss": 0.5, "bleu": 4.0}]
    assert run(OneParameter(validations), tmp_path, steps=3, save_every=1, judge="bleu").step == 2


def test_a_judge_that_the_task_does_not_have_is_refused(tmp_path):
    with pytest.raises(RegardError, match="train.judge = bleu cannot work here; there are loss"):
        run(OneParameter(), tmp_path, steps=1, judge="bleu")


def test_the_mean_of_the_last_checkpoints_is_taken_if_it_is_better(tmp_path):
    """The last validation is the mean's: what it is worth decides."""
    outcome = run(OneParameter([3.0, 2.0, 1.5, 1.0]), tmp_path, steps=3, save_every=1, average=2)
    last = [load_tensors(tmp_path / f"step-00000{n}" / "model.safetensors")["weight"] for n in (2, 3)]
    assert outcome.best_folder.name == "mean"
    assert outcome.metrics["loss"] == 1.0
    assert torch.equal(
        load_tensors(outcome.best_folder / "model.safetensors")["weight"], (last[0] + last[1]) / 2
    )
    worse = tmp_path / "worse"
    worse.mkdir()
    assert run(OneParameter([3.0, 2.0, 1.5, 9.0]), worse, steps=3, save_every=1, average=2).step == 3


def test_as_many_checkpoints_are_kept_as_the_mean_needs(tmp_path):
    run(OneParameter([6.0, 5.0, 4.0, 3.0, 2.0, 9.0]), tmp_path, steps=5, save_every=1, average=4)
    assert steps_kept(tmp_path) == ["step-000002", "step-000003", "step-000004", "step-000005"]


def test_the_moving_mean_is_what_is_judged_and_saved_while_the_raw_weights_go_on(tmp_path):
    task, seen = OneParameter(), []
    torch.nn.init.zeros_(task.model.weight)
    validate = task.validate
    task.validate = lambda: seen.append(task.model.weight.item()) or validate()
    run(task, tmp_path, steps=3, save_every=3, ema=0.5)
    raw, mean = 0.0, 0.0
    for step in (1, 2, 3):
        raw += 0.1 * 2 * (3 - raw)
        mean += (1 - min(0.5, (1 + step) / (10 + step))) * (raw - mean)
    assert task.model.weight.item() == pytest.approx(raw)
    assert seen == [pytest.approx(mean)]
    assert load_tensors(tmp_path / "step-000003/model.safetensors")["weight"].item() == seen[0]
    kept = load_tensors(tmp_path / "step-000003/optimizer.safetensors")["weight.raw"].item()
    assert kept == task.model.weight.item()


@pytest.mark.parametrize(
    "wrong",
    [
        {"steps": 0},
        {"save_every": 0},
        {"minutes": 0.0},
        {"seed": -1},
        {"clip": 0.0},
        {"keep_last": 1},
        {"accumulate": 0},
        {"ema": 1.0},
        {"average": 1},
        {"patience": 0},
    ],
)
def test_settings_that_cannot_work_are_refused(wrong):
    (name,) = wrong
    with pytest.raises(ConfigError, match=f"train.{name} = .* cannot work"):
        TrainConfig(**wrong)
