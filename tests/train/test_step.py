import pytest
import torch

from faults.toy_task import ToyTask
from regard.errors import CheckpointError
from regard.train.optimizer import Ema, OptimizerConfig, average_weights, build_optimizer
from regard.train.step import EagerStep, Learner, batch_seed
from regard.train.weights import load_tensors, load_weights, save_tensors, save_weights


def learner(steps):
    task = ToyTask()
    found = Learner(task.model, build_optimizer(task.model, OptimizerConfig()), Ema(task.model, 0.9))
    step, batches = EagerStep(task, found, 1, None), task.batches({})
    for number in range(1, steps + 1):
        step(number, [next(batches)[0]], 0.01)
    return found


def test_what_goes_to_a_file_comes_back(tmp_path):
    before, after = learner(3), learner(0)
    with before.ema_weights():
        save_weights(tmp_path, before.model)
        save_tensors(tmp_path / "rest", before.state_tensors())
    with after.ema_weights():
        load_weights(tmp_path, after.model)
        after.load_state_tensors(load_tensors(tmp_path / "rest"), "no fit")
    for one, two in zip(before.model.parameters(), after.model.parameters(), strict=True):
        assert torch.equal(one, two)
        for kind, value in before.optimizer.state[one].items():
            assert torch.equal(value, after.optimizer.state[two][kind])
    assert before.ema.averages.keys() == after.ema.averages.keys()
    assert all(torch.equal(mean, after.ema.averages[name]) for name, mean in before.ema.averages.items())


def test_what_came_back_no_longer_needs_its_file():
    tensors, after = learner(1).state_tensors(), learner(0)
    after.load_state_tensors(tensors, "no fit")
    given = {tensor.data_ptr() for tensor in tensors.values()}
    assert not given & {tensor.data_ptr() for tensor in after.state_tensors().values()}


def test_what_belongs_to_no_weight_is_refused():
    tensors = learner(1).state_tensors()
    with pytest.raises(CheckpointError, match="no fit: 9.weight.exp_avg belongs to no weight"):
        learner(0).load_state_tensors({**tensors, "9.weight.exp_avg": torch.zeros(())}, "no fit")
    tensors["0.bias.exp_avg"] = torch.zeros(5)
    with pytest.raises(CheckpointError, match="0.bias.exp_avg belongs to no weight"):
        learner(0).load_state_tensors(tensors, "no fit")


def test_a_file_that_lacks_a_moment_is_refused():
    tensors = learner(1).state_tensors()
    del tensors["0.bias.exp_avg"]
    with pytest.raises(CheckpointError, match="no fit: 0.bias.exp_avg is missing"):
        learner(0).load_state_tensors(tensors, "no fit")


def test_a_file_without_the_raw_weights_is_refused_where_there_is_a_moving_mean():
    tensors = {
        name: tensor for name, tensor in learner(1).state_tensors().items() if not name.endswith(".raw")
    }
    with pytest.raises(CheckpointError, match="is on one side only"):
        learner(0).load_state_tensors(tensors, "no fit")


def test_the_mean_of_checkpoints_is_their_mean(tmp_path):
    found = []
    for steps in (1, 2, 3):
        (tmp_path / str(steps)).mkdir()
        model = learner(steps).model
        save_weights(tmp_path / str(steps), model)
        found.append(model[0].weight.detach())
    mean = average_weights([tmp_path / "1", tmp_path / "2", tmp_path / "3"])["0.weight"]
    torch.testing.assert_close(mean, torch.stack(found).mean(0))


def test_every_batch_of_every_step_of_every_seed_has_its_own_luck():
    keys = {batch_seed(seed, step, batch) for seed in range(5) for step in range(50) for batch in range(4)}
    assert len({one % 2**32 for one in keys}) == 1000  # all that a CPU's generator takes
