"""T3: whatever call to the disk a process dies at, the newest complete checkpoint survives."""

import pytest

from faults.faulty_disk import FaultyDisk, SimulatedCrash, copy_folder, crash_at
from faults.toy_task import ToyTask, read_exact_losses, step_digests, train_toy
from regard.checkpoint import list_checkpoints, read_manifest
from regard.train.state import find_resume_point

pytestmark = pytest.mark.fault
STEPS = 12


@pytest.fixture
def begun(tmp_path):
    """A run that stands at step 6, with two checkpoints; what is left of it prunes twice and publishes."""
    with pytest.raises(SimulatedCrash):
        train_toy(tmp_path / "begun", stopping_after(6), steps=STEPS)
    assert [path.name for path in list_checkpoints(tmp_path / "begun")] == ["step-000003", "step-000006"]
    return tmp_path / "begun"


@pytest.fixture
def whole(tmp_path):
    train_toy(tmp_path / "whole", steps=STEPS)
    return tmp_path / "whole"


def stopping_after(steps):
    """A toy whose process dies in the step after those."""
    toy, seen = ToyTask(), []

    def stop(loss):
        seen.append(loss)
        if len(seen) > steps:
            raise SimulatedCrash
        return loss

    toy.hook = stop
    return toy


def calls_of(begun, place):
    """How many calls to the disk the rest of the run makes."""
    disk = FaultyDisk(place, lambda *_: None)
    copy_folder(begun, place)
    with disk.intercept():
        train_toy(place, steps=STEPS)
    return disk.calls


def survives(begun, place, number, moment, whole):
    copy_folder(begun, place)
    disk = FaultyDisk(place, crash_at(number, moment))
    with disk.intercept(), pytest.raises(SimulatedCrash):
        train_toy(place, steps=STEPS)
    disk.lose_unsynced()
    found = list_checkpoints(place)
    assert len(found) >= 2
    for path in found:
        assert read_manifest(path)
    assert find_resume_point(place, pytest.fail).folder == found[-1]
    train_toy(place, steps=STEPS)
    assert not list(place.glob(".*-*"))
    assert read_exact_losses(place) == read_exact_losses(whole)
    assert step_digests(place, STEPS) == step_digests(whole, STEPS)


def crash_points(begun, tmp_path):
    calls = calls_of(begun, tmp_path / "count")
    assert calls > 50
    return [(number, moment) for number in range(1, calls + 1) for moment in ("before", "after")]


def test_a_crash_at_one_call_in_seven_loses_no_checkpoint(begun, whole, tmp_path):
    for number, moment in crash_points(begun, tmp_path)[::7]:
        survives(begun, tmp_path / "run", number, moment, whole)


@pytest.mark.slow
def test_a_crash_at_any_call_loses_no_checkpoint(begun, whole, tmp_path):
    for number, moment in crash_points(begun, tmp_path):
        survives(begun, tmp_path / "run", number, moment, whole)
