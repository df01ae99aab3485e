"""T5: a disk that is full, over its quota or read-only costs the save and nothing else."""

import errno
import re
import resource

import pytest

from faults.faulty_disk import Crash, Disk, full_from
from faults.toy_task import Toy, digests, losses, run_toy
from faults.training_process import start
from regard.checkpoint import checkpoints, read_manifest
from regard.errors import SaveError

pytestmark = pytest.mark.fault


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "run"
    run_toy(folder)
    return folder


@pytest.fixture(scope="module")
def saves(tmp_path_factory):
    """The numbers of the calls to the disk that each save makes."""
    folder, names = tmp_path_factory.mktemp("saves") / "run", []
    with Disk(folder, lambda number, name, when: names.append((number, name, when))).watched():
        run_toy(folder)
    calls = [(number, name) for number, name, when in names if when == "before"]
    ends = [number for number, name in calls if name == "rename"]
    assert len(ends) >= 4
    return calls, ends


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
def test_a_save_that_fails_is_said_and_the_training_goes_on(whole, saves, tmp_path, error):
    """The disk fails during the second save, at each of its calls in turn."""
    calls, ends = saves
    second = [n for n, name in calls if ends[0] < n < ends[1] and name in ("open", "write", "mkdir", "fsync")]
    second = second[1:]  # the first is the flush that ends the first save
    assert len(second) > 8
    for first in second if error == errno.ENOSPC else second[::5]:
        folder, said = tmp_path / f"{error}-{first}", []
        with Disk(folder, full_from(first, error, until=lambda said=said: bool(said))).watched():
            run_toy(folder, said=said)
        assert not list(folder.glob(".step-*"))
        (message,) = said
        assert re.search(
            rf"{folder}/step-000006 cannot be written: .*; it needs [\d,]+ bytes and [\d,]+ are free; "
            rf"training goes on, the last good checkpoint is {folder}/step-000003",
            message,
        )
        assert [path.name for path in checkpoints(folder)] == ["step-000009", "step-000012"]
        assert losses(folder) == losses(whole)
        assert digests(folder, 12) == digests(whole, 12)


def test_three_saves_that_fail_in_a_row_end_it_with_an_exit_code_of_their_own(saves, tmp_path):
    _, ends = saves
    said = []
    with Disk(tmp_path / "run", full_from(ends[0] + 2)).watched(), pytest.raises(SaveError) as failure:
        run_toy(tmp_path / "run", said=said, steps=100)
    assert len(said) == 2
    assert "step-000012 cannot be written: No space left on device" in str(failure.value)
    assert "the last good checkpoint is" in str(failure.value)
    assert failure.value.exit_code == 3
    (left,) = checkpoints(tmp_path / "run")
    assert read_manifest(left)["step"] == 3
    assert not list((tmp_path / "run").glob(".step-*"))


def test_room_that_comes_back_is_used_and_the_same_bits_come_out(whole, saves, tmp_path):
    _, ends = saves
    with Disk(tmp_path / "run", full_from(ends[0] + 2)).watched(), pytest.raises(SaveError):
        run_toy(tmp_path / "run", steps=12)
    run_toy(tmp_path / "run")
    assert losses(tmp_path / "run") == losses(whole)
    assert digests(tmp_path / "run", 12) == digests(whole, 12)


def limited(folder):
    """After step 5 no file may be longer than this: the kernel itself refuses the rest of a write."""
    task, steps = Toy(), []

    def limit(loss):
        steps.append(loss)
        if len(steps) == 5:
            size = (folder / "step-000003" / "optimizer.safetensors").stat().st_size - 100
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        return loss

    task.hook = limit
    try:
        run_toy(folder, task, steps=30, log_every=30)
    except SaveError as error:
        (folder.parent / "said").write_text(str(error))
        raise SystemExit(error.exit_code) from None


def test_the_kernels_own_refusal_is_handled_as_well(tmp_path):
    process = start(limited, tmp_path / "run")
    process.join(300)
    assert process.exitcode == 3
    assert "step-000012 cannot be written: File too large" in (tmp_path / "said").read_text()
    (left,) = checkpoints(tmp_path / "run")
    assert read_manifest(left)["step"] == 3
    assert not list((tmp_path / "run").glob(".step-*"))


def test_a_crash_is_not_taken_for_a_full_disk(tmp_path):
    def crash(number, name, when):  # noqa: ARG001
        if name == "rename":
            raise Crash

    with Disk(tmp_path / "run", crash).watched(), pytest.raises(Crash):
        run_toy(tmp_path / "run")
