"""T5: on a full, over-quota or read-only disk only the save fails, not the training."""

import errno
import re
import resource

import pytest

from faults.faulty_disk import FaultyDisk, SimulatedCrash, disk_full_from
from faults.toy_task import ToyTask, read_exact_losses, step_digests, train_toy
from faults.training_process import start_process
from regard.checkpoint import list_checkpoints, read_manifest
from regard.errors import SaveError

pytestmark = pytest.mark.fault


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "run"
    train_toy(folder)
    return folder


@pytest.fixture(scope="module")
def saves(tmp_path_factory):
    """Return the calls to the disk, and the numbers of those that end a save."""
    folder, names = tmp_path_factory.mktemp("saves") / "run", []
    with FaultyDisk(folder, lambda number, name, when: names.append((number, name, when))).intercept():
        train_toy(folder)
    calls = [(number, name) for number, name, when in names if when == "before"]
    ends = [number for number, name in calls if name == "rename"]
    assert len(ends) >= 4
    return calls, ends


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
def test_a_failed_save_is_reported_and_training_continues(whole, saves, tmp_path, error):
    """The disk fails during the second save, at each of its calls in turn."""
    calls, ends = saves
    second = [n for n, name in calls if ends[0] < n < ends[1] and name in ("open", "write", "mkdir", "fsync")]
    second = second[1:]  # the first is the flush that ends the first save
    assert len(second) > 8
    for first in second if error == errno.ENOSPC else second[::5]:
        folder, messages = tmp_path / f"{error}-{first}", []
        with FaultyDisk(
            folder, disk_full_from(first, error, until=lambda messages=messages: bool(messages))
        ).intercept():
            train_toy(folder, messages=messages)
        assert not list(folder.glob(".step-*"))
        (message,) = messages
        assert re.search(
            rf"{folder}/step-000006 cannot be written: .*; it needs [\d,]+ bytes and [\d,]+ are free; "
            rf"training continues, the last good checkpoint is {folder}/step-000003",
            message,
        )
        assert [path.name for path in list_checkpoints(folder)] == ["step-000009", "step-000012"]
        assert read_exact_losses(folder) == read_exact_losses(whole)
        assert step_digests(folder, 12) == step_digests(whole, 12)


def test_three_failed_saves_in_a_row_end_the_training_with_exit_code_3(saves, tmp_path):
    _, ends = saves
    messages = []
    with (
        FaultyDisk(tmp_path / "run", disk_full_from(ends[0] + 2)).intercept(),
        pytest.raises(SaveError) as failure,
    ):
        train_toy(tmp_path / "run", messages=messages, steps=100)
    assert len(messages) == 2
    assert "step-000012 cannot be written: No space left on device" in str(failure.value)
    assert "the last good checkpoint is" in str(failure.value)
    assert failure.value.exit_code == 3
    (left,) = list_checkpoints(tmp_path / "run")
    assert read_manifest(left)["step"] == 3
    assert not list((tmp_path / "run").glob(".step-*"))


def test_a_run_resumes_bit_by_bit_when_there_is_space_again(whole, saves, tmp_path):
    _, ends = saves
    with FaultyDisk(tmp_path / "run", disk_full_from(ends[0] + 2)).intercept(), pytest.raises(SaveError):
        train_toy(tmp_path / "run", steps=12)
    train_toy(tmp_path / "run")
    assert read_exact_losses(tmp_path / "run") == read_exact_losses(whole)
    assert step_digests(tmp_path / "run", 12) == step_digests(whole, 12)


def train_with_file_size_limit(folder):
    """Train with a limit on file sizes after step 5, so that the kernel refuses a write."""
    task, steps = ToyTask(), []

    def limit(loss):
        steps.append(loss)
        if len(steps) == 5:
            size = (folder / "step-000003" / "optimizer.safetensors").stat().st_size - 100
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        return loss

    task.hook = limit
    try:
        train_toy(folder, task, steps=30, log_every=30)
    except SaveError as error:
        (folder.parent / "error").write_text(str(error))
        raise SystemExit(error.exit_code) from None


def test_a_write_refused_by_the_kernel_is_handled(tmp_path):
    process = start_process(train_with_file_size_limit, tmp_path / "run")
    process.join(300)
    assert process.exitcode == 3
    assert "step-000012 cannot be written: File too large" in (tmp_path / "error").read_text()
    (left,) = list_checkpoints(tmp_path / "run")
    assert read_manifest(left)["step"] == 3
    assert not list((tmp_path / "run").glob(".step-*"))


def test_a_crash_is_not_handled_as_a_full_disk(tmp_path):
    def crash(number, name, when):  # noqa: ARG001
        if name == "rename":
            raise SimulatedCrash

    with FaultyDisk(tmp_path / "run", crash).intercept(), pytest.raises(SimulatedCrash):
        train_toy(tmp_path / "run")
