"""T4: a damaged checkpoint is named and skipped, never loaded. D7: a changed corpus is refused."""

import shutil
from random import Random

import pytest

from faults.faulty_disk import copy_folder
from faults.toy_task import ToyTask, read_exact_losses, step_digests, train_toy
from regard.checkpoint import FORMAT_VERSION, list_checkpoints
from regard.errors import DataError, FormatError
from regard.train.state import find_resume_point
from regard.train.task import ValidationResult

pytestmark = pytest.mark.fault


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with three checkpoints, of steps 6, 9 and 12."""
    folder = tmp_path_factory.mktemp("damage") / "run"
    train_toy(folder, keep_last=3)
    return folder


def found(folder):
    """The checkpoint that would be taken, and what was said."""
    said = []
    checkpoint = find_resume_point(folder, said.append)
    return (checkpoint and checkpoint.folder.name), " ".join(said)


def damaged(run, place, spoil, expected):
    folder = copy_folder(run, place)
    spoil(folder / "step-000012")
    taken, said = found(folder)
    assert taken == "step-000009"
    assert f"{folder / 'step-000012'}" in said
    assert expected in said
    assert "renamed to step-000012.damaged, and the checkpoint before it is used" in said


def files(run):
    return sorted(path.name for path in (run / "step-000012").iterdir())


@pytest.mark.parametrize("flips", [100, pytest.param(500, marks=pytest.mark.slow)])
def test_any_flipped_bit_is_found_and_its_file_named(run, tmp_path, flips):
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
        taken, said = found(tmp_path / "run")
        assert taken is None
        assert name in said
        shutil.rmtree(tmp_path / "run")


def test_a_file_cut_short_is_found_and_named(run, tmp_path):
    random = Random(0)
    for _ in range(20):
        name = random.choice(files(run))

        def cut(folder, name=name):
            content = (folder / name).read_bytes()
            (folder / name).write_bytes(content[: random.randrange(len(content))])

        damaged(run, tmp_path / "run", cut, name)


def test_a_missing_file_is_found_and_named(run, tmp_path):
    for name in files(run):
        damaged(run, tmp_path / "run", lambda folder, name=name: (folder / name).unlink(), name)


def test_files_of_two_checkpoints_that_changed_places_are_found(run, tmp_path):
    for name in files(run):
        folder = copy_folder(run, tmp_path / "run")
        first, second = folder / "step-000009" / name, folder / "step-000012" / name
        held = first.read_bytes()
        first.write_bytes(second.read_bytes())
        second.write_bytes(held)
        taken, said = found(folder)
        assert taken == "step-000006"
        for step in ("step-000009", "step-000012"):  # a manifest is whole, and names other files
            assert f"{step} is damaged: " in said
            assert name in said or name == "manifest.json"


def test_a_whole_checkpoint_under_another_steps_name_is_found(run, tmp_path):
    def swap(folder):
        shutil.rmtree(folder)
        shutil.copytree(folder.with_name("step-000009"), folder)

    damaged(run, tmp_path / "run", swap, "is of another step")


def test_a_run_whose_newest_checkpoint_is_damaged_ends_as_if_it_were_not(run, tmp_path):
    folder = copy_folder(run, tmp_path / "run")
    (folder / "step-000012" / "state.json").write_text("{}")
    train_toy(folder, keep_last=3)
    assert (folder / "step-000012.damaged").is_dir()
    assert read_exact_losses(folder) == read_exact_losses(run)
    assert step_digests(folder, 12) == step_digests(run, 12)


def test_a_run_of_nothing_but_damaged_checkpoints_begins_again(run, tmp_path):
    folder = copy_folder(run, tmp_path / "run")
    for path in list_checkpoints(folder):
        (path / "model.safetensors").write_bytes(b"")
    said = []
    train_toy(folder, messages=said, keep_last=3)
    assert [line.partition(".damaged, and ")[2] for line in said] == [
        "the checkpoint before it is used",
        "the checkpoint before it is used",
        "training starts from the beginning",
    ]
    assert step_digests(folder, 12) == step_digests(run, 12)


def test_a_checkpoint_of_a_later_regard_is_refused_and_stays(tmp_path, monkeypatch):
    folder = tmp_path / "run"
    with monkeypatch.context() as later:
        later.setattr("regard.checkpoint.FORMAT_VERSION", FORMAT_VERSION + 1)
        train_toy(folder, keep_last=3)
    with pytest.raises(FormatError, match="upgrade regard"):
        train_toy(folder, keep_last=3)
    assert [path.name for path in list_checkpoints(folder)] == ["step-000006", "step-000009", "step-000012"]


def test_a_flipped_bit_does_not_pass_for_a_later_regard(run, tmp_path):
    def flip(folder):
        manifest = folder / "manifest.json"
        manifest.write_text(
            manifest.read_text().replace(f'"format": {FORMAT_VERSION}', f'"format": {FORMAT_VERSION + 1}')
        )

    damaged(run, tmp_path / "run", flip, "manifest.json")


def test_a_best_checkpoint_that_is_damaged_is_named_and_another_found(tmp_path):
    class Told(ToyTask):
        """Step 3 is the best."""

        def validate(self):
            super().validate()
            return ValidationResult({"loss": next(self.values)})

    def told(*values):
        task = Told()
        task.values = iter(values)
        return task

    folder, said = tmp_path / "run", []
    assert train_toy(folder, told(1.0, 5.0, 4.0, 3.0)).step == 3
    shutil.rmtree(folder / "model")
    (folder / "step-000003" / "model.safetensors").write_bytes(b"")
    outcome = train_toy(folder, told(3.0), said)
    assert (outcome.step, outcome.metrics) == (12, {"loss": 3.0})
    assert "step-000003 is damaged: model.safetensors" in said[0]
    assert "it was the best checkpoint" in said[0]


def test_the_mean_is_taken_without_a_checkpoint_that_is_damaged(tmp_path):
    folder, said, seen = tmp_path / "run", [], []
    task = ToyTask()

    def spoil(loss):
        seen.append(loss)
        if len(seen) == 11:
            (folder / "step-000006" / "model.safetensors").write_bytes(b"")
        return loss

    task.hook = spoil
    assert train_toy(folder, task, said, average=4).stop_reason == "steps"
    damage, mean = said
    assert "step-000006 is damaged: model.safetensors" in damage
    assert "checkpoints are averaged without it" in damage
    assert mean.startswith("mean of the last 3 checkpoints: loss ")


def test_data_that_changed_is_refused_and_named(run, tmp_path):
    folder = copy_folder(run, tmp_path / "run")
    task = ToyTask()
    task.data = "1" * 64
    with pytest.raises(DataError, match="points changed since .*run was started"):
        train_toy(folder, task, keep_last=3)


def test_where_none_is_whole_none_before_is_promised(run, tmp_path):
    folder = copy_folder(run, tmp_path / "run")
    for checkpoint in folder.glob("step-*"):
        (checkpoint / "state.json").write_text("{")
    taken, said = found(folder)
    assert taken is None
    assert said.count("and the checkpoint before it is used") == 2
    assert said.endswith("renamed to step-000006.damaged, and training starts from the beginning")
