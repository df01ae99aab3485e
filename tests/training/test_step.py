import pytest
import torch

from faults.toy_task import ToyTask
from regard.errors import CheckpointError
from regard.training.optimizer import Ema, OptimizerConfig, average_weights, build_optimizer
from regard.training.step import EagerStep, Learner, batch_seed
from regard.training.weights import load_tensors, load_weights, save_tensors, save_weights


def train_learner(steps):
    task = ToyTask()
    learner = Learner(task.model, build_optimizer(task.model, OptimizerConfig()), Ema(task.model, 0.9))
    step, batches = EagerStep(task, learner, 1, None), task.batches({})
    for number in range(1, steps + 1):
        step(number, [next(batches)[0]], 0.01)
    return learner


def test_weights_moments_and_averages_survive_a_round_trip(tmp_path):
    before, after = train_learner(3), train_learner(0)
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


def test_restored_tensors_are_copies():
    tensors, after = train_learner(1).state_tensors(), train_learner(0)
    after.load_state_tensors(tensors, "no fit")
    pointers = {tensor.data_ptr() for tensor in tensors.values()}
    assert not pointers & {tensor.data_ptr() for tensor in after.state_tensors().values()}


def test_a_tensor_that_belongs_to_no_weight_is_refused():
    tensors = train_learner(1).state_tensors()
    with pytest.raises(CheckpointError, match="no fit: 9.weight.exp_avg belongs to no weight"):
        train_learner(0).load_state_tensors({**tensors, "9.weight.exp_avg": torch.zeros(())}, "no fit")
    tensors["0.bias.exp_avg"] = torch.zeros(5)
    with pytest.raises(CheckpointError, match="0.bias.exp_avg belongs to no weight"):
        train_learner(0).load_state_tensors(tensors, "no fit")


def test_a_missing_moment_is_refused():
    tensors = train_learner(1).state_tensors()
    del tensors["0.bias.exp_avg"]
    with pytest.raises(CheckpointError, match="no fit: 0.bias.exp_avg is missing"):
        train_learner(0).load_state_tensors(tensors, "no fit")


def test_missing_raw_weights_are_refused_with_an_ema():
    tensors = {
        name: tensor for name, tensor in train_learner(1).state_tensors().items() if not name.endswith(".raw")
    }
    with pytest.raises(CheckpointError, match="is on one side only"):
        train_learner(0).load_state_tensors(tensors, "no fit")


def test_average_weights_is_the_mean_of_the_checkpoints(tmp_path):
    weights = []
    for steps in (1, 2, 3):
        (tmp_path / str(steps)).mkdir()
        model = train_learner(steps).model
        save_weights(tmp_path / str(steps), model)
        weights.append(model[0].weight.detach())
    mean = average_weights([tmp_path / "1", tmp_path / "2", tmp_path / "3"])["0.weight"]
    torch.testing.assert_close(mean, torch.stack(weights).mean(0))


def test_every_batch_of_every_step_and_seed_has_another_dropout_seed():
    seeds = {batch_seed(seed, step, batch) for seed in range(5) for step in range(50) for batch in range(4)}
    assert len({seed % 2**32 for seed in seeds}) == 1000  # bits that the generator of a CPU uses


def test_the_gradient_of_several_batches_is_that_of_the_mean_over_all_tokens():
    class SizedBatches(ToyTask):
        """Batches of different sizes without dropout."""

        def loss(self, batch):
            self.model.eval()
            return super().loss(batch)

    def train(split):
        task = SizedBatches()
        learner = Learner(task.model, torch.optim.SGD(task.model.parameters(), lr=0.0, fused=True))
        (number, x, y), _ = next(task.batches({}))
        batches = [
            (number, part_x, part_y) for part_x, part_y in zip(x.split(split), y.split(split), strict=True)
        ]
        result = EagerStep(task, learner, 1, None)(1, iter(batches), 0.5)
        return result.loss, list(task.model.parameters())

    whole_loss, whole = train([6])
    loss, parts = train([1, 3, 2])
    assert loss.item() == pytest.approx(whole_loss.item())
    for one, two in zip(parts, whole, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-5, atol=1e-6)
