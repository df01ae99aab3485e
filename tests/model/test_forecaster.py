import itertools
from dataclasses import replace

import pytest
import torch

from regard.errors import ConfigError
from regard.model.attention import MultiHeadAttention
from regard.model.forecaster import (
    ForecasterConfig,
    TransformerForecaster,
    compute_window_scale,
    count_patches,
    make_patches,
    patch_start_steps,
)
from regard.model.layers import DecoderLayer
from regard.model.stacks import EncoderLayer

SMALL = ForecasterConfig(
    d_model=16, heads=2, d_ff=32, encoder_layers=1, history=20, horizon=10, patch=4, stride=2, calendar=2
)
CHOICES = [
    replace(SMALL, decoding=decoding, normalise=normalise, channels=channels)
    for decoding, normalise, channels in itertools.product(
        ("parallel", "steps"), ("mean", "last", "none"), (1, 3)
    )
]


def made(config, seed=0):
    torch.manual_seed(seed)
    return TransformerForecaster(config).eval()


def windows(config, batch=5, seed=1):
    torch.manual_seed(seed)
    return (
        3 + 2 * torch.randn(batch, config.history, config.channels),
        torch.randn(batch, config.history, config.calendar),
        torch.randn(batch, config.horizon, config.calendar),
        torch.randn(batch, config.horizon, config.channels),
    )


@pytest.mark.parametrize(("patch", "stride"), [(1, 1), (4, 4), (4, 2), (5, 3), (7, 1)])
@pytest.mark.parametrize("time", [7, 8, 20, 23])
def test_patches_cover_every_step_and_the_last_ends_with_the_series(time, patch, stride):
    values = torch.arange(time * 2.0).reshape(1, time, 2)
    found = make_patches(values, patch, stride)[0]
    assert len(found) == count_patches(time, patch, stride)
    first = [time - patch - stride * after for after in range(len(found))][::-1]
    for start, numbers in zip(first, found, strict=True):
        steps = [max(step, 0) for step in range(start, start + patch)]
        assert numbers.tolist() == values[0, steps].T.flatten().tolist()
    assert patch_start_steps(time, patch, stride, torch.device("cpu")).tolist() == [
        max(0, start) for start in first
    ]
    assert set(values.flatten().tolist()) <= set(found.flatten().tolist())


@pytest.mark.parametrize("config", CHOICES)
def test_a_forecast_has_a_mean_and_quantiles_for_each_value(config):
    history, past, future, target = windows(config)
    model = made(config)
    shape = (5, config.horizon, config.channels, 1 + len(config.quantiles))
    assert model(history, past, future, target).shape == shape
    assert model.forecast(history, past, future).shape == shape


@pytest.mark.parametrize("config", CHOICES)
def test_a_forecast_does_not_depend_on_its_neighbours_in_the_batch(config):
    history, past, future, _ = windows(config)
    model = made(config)
    together = model.forecast(history, past, future)
    alone = torch.cat(
        [model.forecast(*(part[i : i + 1] for part in (history, past, future))) for i in range(5)]
    )
    assert torch.allclose(together, alone, atol=1e-5)


@pytest.mark.parametrize("config", [choice for choice in CHOICES if choice.decoding == "steps"])
def test_step_by_step_says_what_it_would_if_its_own_mean_had_come_true(config):
    history, past, future, _ = windows(config)
    model = made(config)
    foretold = model.forecast(history, past, future)
    at_once = model(history, past, future, foretold[..., 0])
    assert torch.allclose(foretold, at_once, atol=1e-4)


def test_by_steps_no_patch_sees_itself_or_what_comes_after():
    config = replace(SMALL, decoding="steps")
    history, past, future, target = windows(config)
    model = made(config)
    before = model(history, past, future, target)
    changed = target.clone()
    changed[:, 4:] += 100
    after = model(history, past, future, changed)
    assert torch.equal(before[:, :8], after[:, :8])
    assert not torch.equal(before[:, 8:], after[:, 8:])


def test_in_parallel_the_target_is_not_looked_at():
    history, past, future, target = windows(SMALL)
    model = made(SMALL)
    assert torch.equal(model(history, past, future, target), model(history, past, future, target + 100))


@pytest.mark.parametrize("config", [choice for choice in CHOICES if choice.normalise != "none"])
def test_a_series_at_another_level_is_foretold_at_that_level(config):
    history, past, future, _ = windows(config)
    model = made(config)
    foretold = model.forecast(history, past, future)
    elsewhere = model.forecast(1000 + 50 * history, past, future)
    assert torch.allclose(elsewhere, 1000 + 50 * foretold, rtol=1e-3)


@pytest.mark.parametrize("normalise", ["mean", "last", "none"])
def test_what_is_taken_from_a_window_is_given_back(normalise):
    history = windows(replace(SMALL, channels=3))[0]
    own = compute_window_scale(history, normalise)
    assert torch.allclose(own.denormalise(own.normalise(history)[..., None])[..., 0], history, atol=1e-5)


def test_a_window_in_which_nothing_happens_is_foretold_to_stay():
    history, past, future, _ = windows(SMALL)
    foretold = made(SMALL).forecast(torch.full_like(history, 7.0), past, future)
    assert torch.allclose(foretold, torch.tensor(7.0), atol=0.05)


def test_dates_of_past_and_future_matter_only_where_there_are_any():
    history, past, future, _ = windows(SMALL)
    model = made(SMALL)
    assert not torch.equal(model.forecast(history, past, future), model.forecast(history, past, -future))
    assert not torch.equal(model.forecast(history, past, future), model.forecast(history, -past, future))
    without = made(replace(SMALL, calendar=0))
    assert without.when is None
    assert without.forecast(history, past[..., :0], future[..., :0]).shape == (5, 10, 1, 6)


@pytest.mark.parametrize("config", CHOICES)
def test_every_weight_has_a_part_in_the_forecast(config):
    model = made(config)
    model(*windows(config)).square().sum().backward()
    assert [name for name, weight in model.named_parameters() if weight.grad is None] == []


def test_it_is_made_of_the_layers_that_translate():
    model = made(SMALL)
    kinds = {type(module) for module in model.modules()}
    assert {MultiHeadAttention, EncoderLayer, DecoderLayer} <= kinds


def test_it_learns_a_wave():
    torch.manual_seed(0)
    model = TransformerForecaster(replace(SMALL, dropout=0.0, calendar=0, stride=4))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(60):
        wave = (0.7 * (torch.rand(32, 1) * 100 + torch.arange(30))).sin()[..., None]
        none = wave[..., :0]
        foretold = model(wave[:, :20], none[:, :20], none[:, 20:], wave[:, 20:])[..., 0]
        loss = (foretold - wave[:, 20:]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss < 0.1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"stride": 5}, "model.stride = 5 cannot work"),
        ({"patch": 21}, "model.patch = 21 cannot work"),
        ({"horizon": 0}, "model.horizon = 0 cannot work"),
        ({"quantiles": (0.5, 0.1)}, "model.quantiles"),
        ({"quantiles": (0.5, 1.0)}, "model.quantiles"),
        ({"heads": 3}, "does not divide"),
    ],
)
def test_what_cannot_work_is_refused(change, said):
    with pytest.raises(ConfigError, match=said):
        replace(SMALL, **change)
