import pytest
import torch

from regard.errors import ConfigError
from regard.training.optimizer import OptimizerConfig, build_optimizer, learning_rate


@pytest.mark.parametrize("step", [1, 100, 3999, 4000, 4001, 100_000])
def test_the_learning_rate_is_equation_3(step):
    expected = 512**-0.5 * min(step**-0.5, step * 4000**-1.5)
    assert learning_rate(step, 10_000, 512, OptimizerConfig()) == pytest.approx(expected)


def test_the_learning_rate_of_the_paper_peaks_at_the_end_of_the_warm_up():
    rates = [learning_rate(step, 10_000, 512, OptimizerConfig()) for step in range(1, 10_000)]
    assert rates.index(max(rates)) + 1 == 4000
    assert max(rates) == pytest.approx(0.000699, abs=1e-6)


def test_a_given_peak_is_reached_at_the_end_of_the_warm_up():
    config = OptimizerConfig(peak=0.01, warmup=50)
    assert learning_rate(50, 10_000, 512, config) == pytest.approx(0.01)
    assert learning_rate(25, 10_000, 512, config) == pytest.approx(0.005)
    assert learning_rate(200, 10_000, 512, config) == pytest.approx(0.005)


def test_a_cooldown_is_linear_to_zero():
    constant, cooled = OptimizerConfig(warmup=50), OptimizerConfig(warmup=50, cooldown=100)

    def ratio(step):
        return learning_rate(step, 1000, 512, cooled) / learning_rate(step, 1000, 512, constant)

    assert [ratio(step) for step in (1, 900, 901)] == [1, 1, 1]
    assert [ratio(step) for step in (926, 951, 1000)] == pytest.approx([0.75, 0.5, 0.01])


def test_adam_has_the_parameters_of_the_paper():
    group = build_optimizer(torch.nn.Linear(2, 2), OptimizerConfig()).param_groups[0]
    assert (group["betas"], group["eps"], group["weight_decay"]) == ((0.9, 0.98), 1e-9, 0)


def test_weight_decay_excludes_biases_and_norms():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.LayerNorm(2))
    optimizer = build_optimizer(model, OptimizerConfig(weight_decay=0.1))
    assert isinstance(optimizer, torch.optim.AdamW)
    decayed = {id(p) for group in optimizer.param_groups if group["weight_decay"] for p in group["params"]}
    assert decayed == {id(model[0].weight)}
    assert sum(len(group["params"]) for group in optimizer.param_groups) == 4


@pytest.mark.parametrize(
    "invalid",
    [
        {"warmup": 0},
        {"peak": 0.0},
        {"cooldown": 0},
        {"epsilon": -1.0},
        {"peak": float("nan")},
        {"beta1": 1.0},
        {"beta2": -0.1},
        {"weight_decay": -0.1},
    ],
)
def test_invalid_optimizer_settings_are_refused(invalid):
    (name,) = invalid
    with pytest.raises(ConfigError, match=f"optimizer.{name} = .* cannot work"):
        OptimizerConfig(**invalid)
