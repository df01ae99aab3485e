"""T3: a process may die at any call to the disk, and the newest complete checkpoint survives."""

import pytest

from faults.faulty_disk import FaultyDisk, SimulatedCrash, copy_folder, crash_at
from faults.toy_task import ToyTask, read_exact_losses, step_digests, train_toy
from regard.checkpoint import list_checkpoints, read_manifest
from regard.training.state import find_resume_point

pytestmark = pytest.mark.fault
STEPS = 12


@pytest.fixture
def interrupted(tmp_path):
    """A run interrupted at step 6; its rest prunes two checkpoints and publishes."""
    with pytest.raises(SimulatedCrash):
        train_toy(tmp_path / "interrupted", crashing_after(6), steps=STEPS)
    assert [path.name for path in list_checkpoints(tmp_path / "interrupted")] == [
        "step-000003",
        "step-000006",
    ]
    return tmp_path / "interrupted"


@pytest.fixture
def whole(tmp_path):
    train_toy(tmp_path / "whole", steps=STEPS)
    return tmp_path / "whole"


def crashing_after(steps):
    """Return a toy whose process dies in the step after those."""
    toy, losses = ToyTask(), []

    def stop(loss):
        losses.append(loss)
        if len(losses) > steps:
            raise SimulatedCrash
        return loss

    toy.hook = stop
    return toy


def count_disk_calls(interrupted, path):
    """Return how many calls to the disk the rest of the run makes."""
    disk = FaultyDisk(path, lambda *_: None)
    copy_folder(interrupted, path)
    with disk.intercept():
        train_toy(path, steps=STEPS)
    return disk.calls


def check_crash(interrupted, path, number, moment, whole):
    copy_folder(interrupted, path)
    disk = FaultyDisk(path, crash_at(number, moment))
    with disk.intercept(), pytest.raises(SimulatedCrash):
        train_toy(path, steps=STEPS)
    disk.lose_unsynced()
    checkpoints = list_checkpoints(path)
    assert len(checkpoints) >= 2
    for checkpoint in checkpoints:
        assert read_manifest(checkpoint)
    assert find_resume_point(path, pytest.fail).folder == checkpoints[-1]
    train_toy(path, steps=STEPS)
    assert not list(path.glob(".*-*"))
    assert read_exact_losses(path) == read_exact_losses(whole)
    assert step_digests(path, STEPS) == step_digests(whole, STEPS)


def crash_points(interrupted, tmp_path):
    calls = count_disk_calls(interrupted, tmp_path / "count")
    assert calls > 50
    return [(number, moment) for number in range(1, calls + 1) for moment in ("before", "after")]


def test_a_crash_at_one_call_in_seven_loses_no_checkpoint(interrupted, whole, tmp_path):
    for number, moment in crash_points(interrupted, tmp_path)[::7]:
        check_crash(interrupted, tmp_path / "run", number, moment, whole)


@pytest.mark.slow
def test_a_crash_at_any_call_loses_no_checkpoint(interrupted, whole, tmp_path):
    for number, moment in crash_points(interrupted, tmp_path):
        check_crash(interrupted, tmp_path / "run", number, moment, whole)
