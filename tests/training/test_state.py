import pytest

import regard.checkpoint
from faults.toy_task import ToyTask, train_toy
from regard.checkpoint import list_checkpoints
from regard.errors import CheckpointError, DataError
from regard.training.optimizer import OptimizerConfig, build_optimizer
from regard.training.state import find_resume_point, read_resume_point, restore_training
from regard.training.step import Learner


@pytest.fixture
def run(tmp_path):
    """A finished run whose best checkpoint is its last one."""
    folder = tmp_path / "run"
    train_toy(folder, steps=6)
    return folder


def make_learner(task):
    return Learner(task.model, build_optimizer(task.model, OptimizerConfig()))


def test_a_resume_hashes_each_file_of_the_checkpoint_once(run, monkeypatch):
    hashed = []
    sha256 = regard.checkpoint.file_sha256

    def count_hash(path):
        hashed.append(path)
        return sha256(path)

    monkeypatch.setattr(regard.checkpoint, "file_sha256", count_hash)
    checkpoint = find_resume_point(run, pytest.fail)
    task = ToyTask()
    state = restore_training(checkpoint, task, make_learner(task), pytest.fail)
    assert state.step == 6
    assert state.best.step == 6
    assert sorted(path.name for path in hashed) == sorted(checkpoint.manifest["files"])


def test_a_resume_point_has_state_and_data_hashes(run):
    checkpoint = read_resume_point(list_checkpoints(run)[-1])
    assert (checkpoint.state.step, checkpoint.state.validated) == (6, 6)
    assert checkpoint.data_hashes == {"points": "0" * 64}
    assert checkpoint.manifest["task"] == "toy"


def test_changed_data_is_refused_at_a_resume(run):
    task = ToyTask()
    task.data = "1" * 64
    checkpoint = read_resume_point(list_checkpoints(run)[-1])
    with pytest.raises(DataError, match="points changed since .*run was started"):
        restore_training(checkpoint, task, make_learner(task), pytest.fail)


def test_a_published_model_is_no_resume_point(run):
    with pytest.raises(CheckpointError, match=r"does not name state.json"):
        read_resume_point(run / "model")
