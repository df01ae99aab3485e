from dataclasses import replace
from itertools import count

import pytest
import torch

from regard.training.loop import PLANNED_SETTINGS, TrainConfig
from regard.training.optimizer import Ema, OptimizerConfig, build_optimizer
from regard.training.schedule import (
    TIME_MARGIN,
    VALIDATION_SHARE,
    MeasuredSpeed,
    count_limited_steps,
    describe_plan,
    fit_schedule,
    measure_speed,
    plan_schedule,
    read_limits,
)
from regard.training.step import EagerStep, Learner
from regard.training.task import BatchCounts
from regard.translation.run import TranslationRun

AUTO = TranslationRun(
    optimizer=OptimizerConfig(peak=0.005, warmup=1000, cooldown=3000),
    train=TrainConfig(steps=6000, save_every=600, ema=0.999, planned=PLANNED_SETTINGS),
)


def test_warmup_cooldown_validations_and_ema_follow_the_steps():
    schedule = fit_schedule(AUTO, 1450)
    assert (schedule.optimizer.warmup, schedule.optimizer.cooldown, schedule.train.save_every) == (
        290,
        725,
        145,
    )
    assert schedule.train.ema == 0.99
    assert schedule.optimizer.peak == pytest.approx(0.005 * 0.29**0.5)
    longer = fit_schedule(AUTO, 50_000)
    assert (longer.optimizer.warmup, longer.optimizer.cooldown, longer.train.ema) == (1000, 25_000, 0.999)


def test_settings_that_are_not_planned_stay():
    run = replace(AUTO, train=replace(AUTO.train, planned=("train.steps", "optimizer.cooldown")))
    schedule = fit_schedule(run, 100)
    assert (schedule.optimizer.warmup, schedule.optimizer.cooldown) == (1000, 50)
    assert (schedule.train.save_every, schedule.train.ema) == (600, 0.999)


def test_a_preset_gets_a_cooldown_and_a_lower_peak_with_a_short_warmup():
    run = TranslationRun(train=TrainConfig(planned=PLANNED_SETTINGS))
    schedule = fit_schedule(run, 1000)
    assert (schedule.optimizer.warmup, schedule.optimizer.cooldown) == (200, 500)
    assert schedule.optimizer.peak == pytest.approx((256 * 4000) ** -0.5 * 0.05**0.5)
    assert fit_schedule(run, 100_000).optimizer.peak is None


@pytest.mark.parametrize(("step", "spent"), [(0.1, 3.0), (2.0, 4.0)])
def test_the_steps_leave_time_for_validations_and_a_slower_machine(step, spent):
    steps = MeasuredSpeed(step, spent).steps_within(180.0)
    limit = 180 * (1 - TIME_MARGIN - VALIDATION_SHARE)
    assert limit - step - 1e-9 < spent + steps * step <= limit


def test_there_is_always_a_step():
    assert MeasuredSpeed(1.0, 70.0).steps_within(60.0) == 1


@pytest.mark.parametrize(("minutes", "save_every"), [(0.5, 3000), (3.0, 1000), (30.0, 300)])
def test_a_short_time_has_one_validation_per_minute(minutes, save_every):
    run = TranslationRun(train=TrainConfig(minutes=minutes, planned=PLANNED_SETTINGS))
    speed = MeasuredSpeed(minutes * 60 * (1 - TIME_MARGIN - VALIDATION_SHARE) / 3000.5)
    schedule, _ = plan_schedule(run, lambda: 1, lambda: speed)
    assert (schedule.train.steps, schedule.train.save_every) == (3000, save_every)


def test_the_first_of_several_limits_ends_the_training():
    planned = tuple(name for name in PLANNED_SETTINGS if name != "train.steps")
    train = TrainConfig(steps=500, minutes=3.0, epochs=2.0, planned=planned)
    for batches, step_seconds, steps in ((100, 0.01, 200), (10**6, 0.01, 500), (10**6, 1.0, 144)):
        run = TranslationRun(train=train)
        schedule, _ = plan_schedule(run, lambda n=batches: n, lambda s=step_seconds: MeasuredSpeed(s))
        assert schedule.train.steps == steps
    assert count_limited_steps(read_limits(train), lambda: 30) == [500, 60]


def test_the_plan_is_described_with_its_limit_and_the_measured_speed():
    run = replace(AUTO, train=replace(AUTO.train, minutes=3.0))
    text = describe_plan(fit_schedule(run, 1450), MeasuredSpeed(0.112))
    assert text == "3 minutes: about 1,450 steps (measured 0.11 s each), warm-up 290, cooldown 725"


class Clock:
    """A clock that only work moves."""

    now = 0.0

    def __call__(self):
        return self.now


class TimedTask:
    """A task whose first steps are slow."""

    def __init__(self, clock):
        torch.manual_seed(1)
        self.model, self.clock, self.losses = torch.nn.Linear(3, 1), clock, 0

    def batches(self, _):
        for number in count():
            yield torch.rand(4, 3), {"batch": number}

    def batch_counts(self, batch):
        return BatchCounts(len(batch), len(batch))

    def loss(self, batch):
        self.losses += 1
        self.clock.now += 5.0 if self.losses <= 2 else 0.5
        return self.model(torch.nn.functional.dropout(batch)).square().sum()

    def locate_lines(self, _):
        return []

    def fingerprint(self):
        return {}

    def save(self, _):
        return {}

    def validate(self):
        raise AssertionError("it is not timed")


def test_the_speed_is_measured_without_the_first_steps_and_changes_nothing():
    clock = Clock()
    task = TimedTask(clock)
    optimizer = build_optimizer(task.model, OptimizerConfig(weight_decay=0.1))
    learner = Learner(task.model, optimizer, Ema(task.model, 0.99))
    weights = {name: weight.clone() for name, weight in task.model.state_dict().items()}
    torch.manual_seed(42)
    expected = torch.rand(3)
    torch.manual_seed(42)
    speed = measure_speed(task, learner, EagerStep(task, learner, 1, None), TrainConfig(minutes=8.0), clock)
    assert torch.equal(torch.rand(3), expected)  # the random state, too
    assert speed.step_seconds == 0.5
    assert speed.spent_seconds == pytest.approx(24)  # a twentieth of the time
    for name, weight in task.model.state_dict().items():
        assert torch.equal(weight, weights[name])
        assert torch.equal(learner.ema.averages[name], weights[name])
    assert all(not value.any() for state in optimizer.state.values() for value in state.values())
    assert task.model.training
