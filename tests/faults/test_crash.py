"""T3: whatever call to the disk a process dies at, the newest complete checkpoint survives."""

import pytest

from faults.faulty_disk import Crash, Disk, copy_of, crash_at
from faults.toy_task import Toy, digests, losses, run_toy
from regard.checkpoint import checkpoints, read_manifest
from regard.train.state import newest_whole

pytestmark = pytest.mark.fault
STEPS = 12


@pytest.fixture
def begun(tmp_path):
    """A run that stands at step 6, with two checkpoints; what is left of it prunes twice and publishes."""
    with pytest.raises(Crash):
        run_toy(tmp_path / "begun", stopping_after(6), steps=STEPS)
    assert [path.name for path in checkpoints(tmp_path / "begun")] == ["step-000003", "step-000006"]
    return tmp_path / "begun"


@pytest.fixture
def whole(tmp_path):
    run_toy(tmp_path / "whole", steps=STEPS)
    return tmp_path / "whole"


def stopping_after(steps):
    """A toy whose process dies in the step after those."""
    toy, seen = Toy(), []

    def stop(loss):
        seen.append(loss)
        if len(seen) > steps:
            raise Crash
        return loss

    toy.hook = stop
    return toy


def calls_of(begun, place):
    """How many calls to the disk the rest of the run makes."""
    disk = Disk(place, lambda *_: None)
    copy_of(begun, place)
    with disk.watched():
        run_toy(place, steps=STEPS)
    return disk.calls


def survives(begun, place, number, moment, whole):
    copy_of(begun, place)
    disk = Disk(place, crash_at(number, moment))
    with disk.watched(), pytest.raises(Crash):
        run_toy(place, steps=STEPS)
    disk.lose_unsynced()
    found = checkpoints(place)
    assert len(found) >= 2
    for path in found:
        assert read_manifest(path)
    assert newest_whole(place, pytest.fail) == found[-1]
    run_toy(place, steps=STEPS)
    assert not list(place.glob(".*-*"))
    assert losses(place) == losses(whole)
    assert digests(place, STEPS) == digests(whole, STEPS)


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
