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
from regard.text.corpus_files import FileLines
from regard.training.interrupt import InterruptHandler
from regard.training.logs.step_stats import StepStats
from regard.training.logs.training_log import TrainingLog
from regard.training.loop import TrainConfig, TrainingLoop
from regard.training.optimizer import Ema
from regard.training.state import TrainingState, read_resume_point
from regard.training.step import EagerStep, Learner
from regard.training.task import BatchCounts, ValidationResult
from regard.training.weights import load_tensors, save_weights


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


START = TrainingState()


def run(task, folder, schedule=lambda _: 0.1, state=START, **settings):
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
        return TrainingLoop(
            task=task,
            folder=folder,
            config=config,
            learner=learner,
            step=step,
            schedule=schedule,
            log=log,
            interrupt=interrupt,
            state=state,
        ).run()


def steps_kept(folder):
    return [path.name for path in list_checkpoints(folder)]


def test_training_converges_to_the_minimum(tmp_path):
    task = OneParameter()
    result = run(task, tmp_path, steps=60)
    assert task.model.weight.item() == pytest.approx(3, abs=0.01)
    assert (result.step, result.stop_reason) == (60, "steps")


def test_each_step_uses_the_learning_rate_of_the_schedule(tmp_path):
    task, steps = OneParameter(), []

    def schedule(step):
        steps.append(step)
        return 0.0 if step > 1 else 0.05

    torch.nn.init.zeros_(task.model.weight)
    run(task, tmp_path, schedule, steps=5)
    assert task.model.weight.item() == pytest.approx(0.05 * 6)  # gradient -6, first step only
    assert set(steps) == {1, 2, 3, 4, 5}


def test_the_last_step_is_saved_and_the_best_checkpoint_kept(tmp_path):
    result = run(OneParameter([5.0, 1.0, 4.0, 2.0, 3.0]), tmp_path, steps=9, save_every=2)
    assert steps_kept(tmp_path) == ["step-000004", "step-000008", "step-000009"]
    assert (result.best_folder.name, result.step, result.metrics["loss"]) == ("step-000004", 4, 1.0)


def test_training_stops_after_train_minutes(tmp_path):
    assert run(OneParameter(), tmp_path, steps=10**6, minutes=0.001).stop_reason == "minutes"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_saves_and_stops(tmp_path, number):
    task = OneParameter()
    task.on_loss = lambda: os.kill(os.getpid(), number)
    before = signal.getsignal(signal.SIGINT)
    result = run(task, tmp_path, steps=1000)
    assert (result.stop_reason, result.step) == ("interrupt", 1)
    assert steps_kept(tmp_path) == ["step-000001"]
    assert signal.getsignal(signal.SIGINT) is before


def test_a_signal_during_a_validation_abandons_it_and_saves(tmp_path):
    task = OneParameter()

    def interrupted():
        os.kill(os.getpid(), signal.SIGINT)
        pytest.fail("the validation went on")

    task.validate = interrupted
    result = run(task, tmp_path, steps=1000, save_every=3)
    assert (result.stop_reason, result.step, steps_kept(tmp_path)) == ("interrupt", 3, ["step-000003"])
    assert task.model.training


def test_an_abandoned_validation_is_done_after_the_resume(tmp_path):
    task = OneParameter()
    task.on_loss = lambda: os.kill(os.getpid(), signal.SIGINT)
    run(task, tmp_path, steps=3, save_every=1)
    state = read_resume_point(tmp_path / "step-000001").state
    assert (state.step, state.validated, state.best) == (1, 0, None)
    result = run(OneParameter([1.0, 2.0, 3.0]), tmp_path, steps=3, save_every=1, state=state)
    assert (result.step, result.metrics) == (1, {"loss": 1.0, "signature": "squares"})


def test_a_signal_prints_at_once_that_training_will_stop(capfd):
    with InterruptHandler() as interrupt:
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupt.requested
    assert "the model is saved first" in capfd.readouterr().err


def test_training_works_in_a_thread_that_cannot_handle_signals(tmp_path):
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(run, OneParameter(), tmp_path, steps=2).result().stop_reason == "steps"


def test_a_second_signal_stops_at_once_without_saving(tmp_path):
    task = OneParameter()

    def twice():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    task.on_loss = twice
    with pytest.raises(KeyboardInterrupt):
        run(task, tmp_path, steps=1000)
    assert steps_kept(tmp_path) == []


def test_a_loss_that_stays_nan_stops_training_with_advice(tmp_path):
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
def test_a_validation_loss_of_nan_is_never_the_best(tmp_path, losses, best):
    result = run(OneParameter(losses), tmp_path, steps=3, save_every=1)
    assert result.step == best
    assert result.best_folder.is_dir()
    for line in (tmp_path / "metrics.jsonl").read_text().splitlines():
        json.loads(line, parse_constant=pytest.fail)


def test_validations_that_are_all_nan_publish_no_model(tmp_path):
    with pytest.raises(RegardError, match="train.judge = loss was not finite at any validation"):
        run(OneParameter([NAN, NAN]), tmp_path, steps=2, save_every=1)


def test_a_broken_pipe_does_not_end_a_training(tmp_path):
    class BrokenPipe:
        def write(self, _):
            raise BrokenPipeError

        def flush(self):
            pass

    with (
        TrainingLog(tmp_path / "metrics.jsonl", Console(file=BrokenPipe()), steps=3) as log,
        InterruptHandler() as interrupt,
    ):
        task = OneParameter()
        learner = Learner(task.model, torch.optim.SGD(task.model.parameters(), lr=0.0, fused=True))
        step = EagerStep(task, learner, 1, None)
        config = TrainConfig(steps=3)
        result = TrainingLoop(
            task=task,
            folder=tmp_path,
            config=config,
            learner=learner,
            step=step,
            schedule=lambda _: 0.1,
            log=log,
            interrupt=interrupt,
        ).run()
    assert result.stop_reason == "steps"


def test_checkpoints_are_ordered_by_step_and_not_by_name(tmp_path):
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


def test_the_logged_speed_counts_each_token_and_second_once(tmp_path):
    task = OneParameter()
    task.on_loss = lambda: time.sleep(0.01)
    run(task, tmp_path, steps=12, save_every=5, log_every=6)
    events = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert all(event["tokens_per_s"] <= 8 / 0.01 for event in events if event["kind"] == "train")


def test_the_logged_speed_includes_the_wait_for_the_device(tmp_path, monkeypatch):
    """Steps are queued on a GPU: their results come later than the calls return."""
    flags = StepStats.skipped_flags
    monkeypatch.setattr(StepStats, "skipped_flags", lambda self: time.sleep(0.05) or flags(self))
    run(OneParameter(), tmp_path, steps=4, log_every=2)
    events = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert all(event["tokens_per_s"] <= 16 / 0.05 for event in events if event["kind"] == "train")


def test_clipping_bounds_the_update(tmp_path):
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


def test_accumulated_batches_equal_one_large_batch(tmp_path):
    """Two batches of four give the gradient and the counts of one batch of eight."""
    task = OneParameter()
    torch.nn.init.zeros_(task.model.weight)
    run(task, tmp_path, lambda _: 0.05, steps=1, accumulate=2)
    assert task.model.weight.item() == pytest.approx(0.05 * 6)
    assert read_resume_point(tmp_path / "step-000001").state.position == {"batch": 2}
    (event, _) = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert (event["target_tokens"], event["loss"]) == (8, 9.0)


def test_training_stops_after_train_patience(tmp_path):
    result = run(OneParameter([5.0, 4.0, 4.0, 4.5, 1.0]), tmp_path, steps=10, save_every=1, patience=2)
    assert (result.stop_reason, result.step, result.metrics["loss"]) == ("patience", 2, 4.0)
    assert read_resume_point(tmp_path / "step-000004").state.validations_since_best == 2


def test_train_judge_bleu_selects_the_highest_bleu(tmp_path):
    validations = [{"loss": 1.0, "bleu": 3.0}, {"loss": 2.0, "bleu": 9.0}, {"loss": 0.5, "bleu": 4.0}]
    assert run(OneParameter(validations), tmp_path, steps=3, save_every=1, judge="bleu").step == 2


def test_a_train_judge_that_the_task_does_not_have_is_refused(tmp_path):
    with pytest.raises(RegardError, match="train.judge = bleu cannot work here; there are loss"):
        run(OneParameter(), tmp_path, steps=1, judge="bleu")


def test_averaged_checkpoints_are_used_if_they_are_better(tmp_path):
    """The last validation is the mean's: what it is worth decides."""
    result = run(OneParameter([3.0, 2.0, 1.5, 1.0]), tmp_path, steps=3, save_every=1, average=2)
    last = [load_tensors(tmp_path / f"step-00000{n}" / "model.safetensors")["weight"] for n in (2, 3)]
    assert result.best_folder.name == "mean"
    assert result.metrics["loss"] == 1.0
    assert torch.equal(
        load_tensors(result.best_folder / "model.safetensors")["weight"], (last[0] + last[1]) / 2
    )
    worse = tmp_path / "worse"
    worse.mkdir()
    assert run(OneParameter([3.0, 2.0, 1.5, 9.0]), worse, steps=3, save_every=1, average=2).step == 3


def test_the_checkpoints_to_average_are_kept(tmp_path):
    run(OneParameter([6.0, 5.0, 4.0, 3.0, 2.0, 9.0]), tmp_path, steps=5, save_every=1, average=4)
    assert steps_kept(tmp_path) == ["step-000002", "step-000003", "step-000004", "step-000005"]


def test_the_ema_is_validated_and_saved_while_training_continues_with_raw_weights(tmp_path):
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
def test_invalid_train_settings_are_refused(wrong):
    (name,) = wrong
    with pytest.raises(ConfigError, match=f"train.{name} = .* cannot work"):
        TrainConfig(**wrong)


def test_a_signal_between_two_batches_of_a_step_abandons_the_step_and_saves_the_one_before(tmp_path):
    task, calls = OneParameter(), count(1)

    def kill_in_the_third_step():
        if next(calls) == 2 * 1000 + 3:
            os.kill(os.getpid(), signal.SIGTERM)

    task.on_loss = kill_in_the_third_step
    result = run(task, tmp_path, steps=10, accumulate=1000, schedule=lambda _: 0.01)
    assert (result.stop_reason, result.step) == ("interrupt", 2)
    assert next(calls) == 2 * 1000 + 4  # no batch after the signal was computed
    state = read_resume_point(tmp_path / "step-000002").state
    assert (state.step, state.position) == (2, {"batch": 2000})
    weight = load_tensors(tmp_path / "step-000002" / "model.safetensors")["weight"]
    assert torch.equal(weight, task.model.weight)


def test_a_signal_in_the_first_step_saves_nothing(tmp_path):
    task = OneParameter()
    task.on_loss = lambda: os.kill(os.getpid(), signal.SIGTERM)
    result = run(task, tmp_path, steps=10, accumulate=1000)
    assert (result.stop_reason, result.step) == ("interrupt", 0)
    assert steps_kept(tmp_path) == []


def test_the_batches_of_a_step_are_held_one_at_a_time(tmp_path):
    class CountedBatch:
        alive = 0

        def __init__(self):
            CountedBatch.alive += 1

        def __del__(self):
            CountedBatch.alive -= 1

    class CountedBatches(OneParameter):
        def batches(self, start):
            for number in count(start.get("batch", 0)):
                yield CountedBatch(), {"batch": number + 1}

        def batch_counts(self, _):
            return BatchCounts(4, 4)

        def loss(self, _):
            most_alive.append(CountedBatch.alive)
            return super().loss(torch.ones(4, 1))

    most_alive = []
    run(CountedBatches(), tmp_path, steps=2, accumulate=50)
    assert max(most_alive) <= 3  # the one computed, and those that generators have just yielded
