"""T4: a damaged checkpoint is reported and skipped, never loaded. D7: a changed corpus is refused."""

import os
import shutil
import time
from random import Random

import pytest

from faults.faulty_disk import copy_folder
from faults.toy_task import ToyTask, read_exact_losses, step_digests, train_toy
from regard.checkpoint import FORMAT_VERSION, list_checkpoints
from regard.data.cache import DiskCache
from regard.errors import DataError, FormatError
from regard.strict_json import parse_sealed_json, seal_json
from regard.training.state import find_resume_point
from regard.training.task import ValidationResult

pytestmark = pytest.mark.fault


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with three checkpoints, of steps 6, 9 and 12."""
    folder = tmp_path_factory.mktemp("damage") / "run"
    train_toy(folder, keep_last=3)
    return folder


def resume_point(folder):
    """Return the name of the checkpoint that would be resumed, and the messages."""
    messages = []
    checkpoint = find_resume_point(folder, messages.append)
    return (checkpoint and checkpoint.folder.name), " ".join(messages)


def check_damage(run, path, damage, expected):
    folder = copy_folder(run, path)
    damage(folder / "step-000012")
    resumed, message = resume_point(folder)
    assert resumed == "step-000009"
    assert f"{folder / 'step-000012'}" in message
    assert expected in message
    assert "renamed to step-000012.damaged, and the checkpoint before it is used" in message


def files(run):
    return sorted(path.name for path in (run / "step-000012").iterdir())


@pytest.mark.parametrize("flips", [100, pytest.param(500, marks=pytest.mark.slow)])
def test_a_flipped_bit_is_detected_and_its_file_named(run, tmp_path, flips):
    random = Random(flips)
    for _ in range(flips):
        name = random.choice(files(run))

        def flip(folder, name=name):
            content = bytearray((folder / name).read_bytes())
            bit = random.randrange(8 * len(content))
            content[bit // 8] ^= 1 << bit % 8
            (folder / name).write_bytes(content)

        folder = copy_folder(run / "step-000012", tmp_path / "run" / "step-000012")
        flip(folder)
        resumed, message = resume_point(tmp_path / "run")
        assert resumed is None
        assert name in message
        shutil.rmtree(tmp_path / "run")


def test_a_truncated_file_is_detected_and_named(run, tmp_path):
    random = Random(0)
    for _ in range(20):
        name = random.choice(files(run))

        def cut(folder, name=name):
            content = (folder / name).read_bytes()
            (folder / name).write_bytes(content[: random.randrange(len(content))])

        check_damage(run, tmp_path / "run", cut, name)


def test_a_missing_file_is_detected_and_named(run, tmp_path):
    for name in files(run):
        check_damage(run, tmp_path / "run", lambda folder, name=name: (folder / name).unlink(), name)


def test_files_swapped_between_checkpoints_are_detected(run, tmp_path):
    for name in files(run):
        folder = copy_folder(run, tmp_path / "run")
        first, second = folder / "step-000009" / name, folder / "step-000012" / name
        content = first.read_bytes()
        first.write_bytes(second.read_bytes())
        second.write_bytes(content)
        resumed, message = resume_point(folder)
        assert resumed == "step-000006"
        for step in ("step-000009", "step-000012"):  # a swapped manifest is undamaged, and names other files
            assert f"{step} is damaged: " in message
            assert name in message or name == "manifest.json"


def test_a_checkpoint_under_the_name_of_another_step_is_detected(run, tmp_path):
    def swap(folder):
        shutil.rmtree(folder)
        shutil.copytree(folder.with_name("step-000009"), folder)

    check_damage(run, tmp_path / "run", swap, "is of another step")


def test_a_run_with_a_damaged_newest_checkpoint_ends_with_the_same_bits(run, tmp_path):
    folder = copy_folder(run, tmp_path / "run")
    (folder / "step-000012" / "state.json").write_text("{}")
    train_toy(folder, keep_last=3)
    assert (folder / "step-000012.damaged").is_dir()
    assert read_exact_losses(folder) == read_exact_losses(run)
    assert step_digests(folder, 12) == step_digests(run, 12)


def test_a_run_with_only_damaged_checkpoints_starts_again(run, tmp_path):
    folder = copy_folder(run, tmp_path / "run")
    for path in list_checkpoints(folder):
        (path / "model.safetensors").write_bytes(b"")
    messages = []
    train_toy(folder, messages=messages, keep_last=3)
    assert [line.partition(".damaged, and ")[2] for line in messages] == [
        "the checkpoint before it is used",
        "the checkpoint before it is used",
        "training starts from the beginning",
    ]
    assert step_digests(folder, 12) == step_digests(run, 12)


def test_a_checkpoint_of_a_later_format_is_refused_and_kept(tmp_path, monkeypatch):
    folder = tmp_path / "run"
    with monkeypatch.context() as later:
        later.setattr("regard.checkpoint.FORMAT_VERSION", FORMAT_VERSION + 1)
        train_toy(folder, keep_last=3)
    with pytest.raises(FormatError, match="upgrade regard"):
        train_toy(folder, keep_last=3)
    assert [path.name for path in list_checkpoints(folder)] == ["step-000006", "step-000009", "step-000012"]


def test_a_flipped_bit_in_the_format_is_reported_as_damage(run, tmp_path):
    def flip(folder):
        manifest = folder / "manifest.json"
        manifest.write_text(
            manifest.read_text().replace(f'"format": {FORMAT_VERSION}', f'"format": {FORMAT_VERSION + 1}')
        )

    check_damage(run, tmp_path / "run", flip, "manifest.json")


def test_a_damaged_best_checkpoint_is_reported_and_replaced(tmp_path):
    class GivenLosses(ToyTask):
        """A toy with given validation losses."""

        def validate(self):
            super().validate()
            return ValidationResult({"loss": next(self.values)})

    def with_losses(*values):
        task = GivenLosses()
        task.values = iter(values)
        return task

    folder, messages = tmp_path / "run", []
    assert train_toy(folder, with_losses(1.0, 5.0, 4.0, 3.0)).step == 3
    shutil.rmtree(folder / "model")
    (folder / "step-000003" / "model.safetensors").write_bytes(b"")
    result = train_toy(folder, with_losses(3.0), messages)
    assert (result.step, result.metrics) == (12, {"loss": 3.0})
    assert "step-000003 is damaged: model.safetensors" in messages[0]
    assert "it was the best checkpoint" in messages[0]


def test_checkpoints_are_averaged_without_a_damaged_one(tmp_path):
    folder, messages, losses = tmp_path / "run", [], []
    task = ToyTask()

    def damage_checkpoint(loss):
        losses.append(loss)
        if len(losses) == 11:
            (folder / "step-000006" / "model.safetensors").write_bytes(b"")
        return loss

    task.hook = damage_checkpoint
    assert train_toy(folder, task, messages, average=4).stop_reason == "steps"
    damage, mean = messages
    assert "step-000006 is damaged: model.safetensors" in damage
    assert "checkpoints are averaged without it" in damage
    assert mean.startswith("mean of the last 3 checkpoints: loss ")


def test_changed_data_is_refused_and_named(run, tmp_path):
    folder = copy_folder(run, tmp_path / "run")
    task = ToyTask()
    task.data = "1" * 64
    with pytest.raises(DataError, match="points changed since .*run was started"):
        train_toy(folder, task, keep_last=3)


def test_without_an_undamaged_checkpoint_the_message_says_that_training_starts_again(run, tmp_path):
    folder = copy_folder(run, tmp_path / "run")
    for checkpoint in folder.glob("step-*"):
        (checkpoint / "state.json").write_text("{")
    resumed, message = resume_point(folder)
    assert resumed is None
    assert message.count("and the checkpoint before it is used") == 2
    assert message.endswith("renamed to step-000006.damaged, and training starts from the beginning")


def flipped(content, random):
    """Return the content with one bit flipped."""
    place = random.randrange(8 * len(content))
    changed = bytearray(content)
    changed[place // 8] ^= 1 << place % 8
    return bytes(changed)


def test_a_flipped_bit_in_a_sealed_file_is_always_detected():
    content = seal_json({"format": 3, "input": "ab" * 32, "batch_limits": [512, 262144], "beam": 4}).encode()
    assert parse_sealed_json(content)["beam"] == 4
    random = Random(0)
    for _ in range(500):
        with pytest.raises(ValueError):  # noqa: PT011
            parse_sealed_json(flipped(content, random))


def test_a_flipped_bit_in_a_note_on_a_file_is_detected_and_the_note_written_again(tmp_path):
    text, cache = tmp_path / "text", DiskCache(str(tmp_path / "cache"), print)
    text.write_text("the cat\n")
    os.utime(text, (time.time() - 60,) * 2)
    time.sleep(0.2)  # a file that changed just now is not remembered
    facts = cache.file_facts(text)
    [note] = (tmp_path / "cache" / "files").glob("*.json")
    written, random = note.read_bytes(), Random(0)
    for _ in range(500):
        note.write_bytes(flipped(written, random))
        assert cache.file_facts(text) == facts
        assert note.read_bytes() == written
