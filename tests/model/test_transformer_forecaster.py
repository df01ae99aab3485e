import itertools
from dataclasses import replace

import pytest
import torch

from regard.errors import ConfigError
from regard.model.attention import MultiHeadAttention
from regard.model.layers import DecoderLayer
from regard.model.stacks import EncoderLayer
from regard.model.transformer_forecaster import (
    ForecasterConfig,
    TransformerForecaster,
    compute_window_scale,
    count_patches,
    make_patches,
    patch_start_steps,
)

SMALL = ForecasterConfig(
    d_model=16, heads=2, d_ff=32, encoder_layers=1, history=20, horizon=10, patch=4, stride=2, calendar=2
)
CHOICES = [
    replace(SMALL, decoding=decoding, normalise=normalise, channels=channels)
    for decoding, normalise, channels in itertools.product(
        ("parallel", "steps"), ("mean", "last", "none"), (1, 3)
    )
]


def make_model(config, seed=0):
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
    patches = make_patches(values, patch, stride)[0]
    assert len(patches) == count_patches(time, patch, stride)
    first = [time - patch - stride * after for after in range(len(patches))][::-1]
    for start, numbers in zip(first, patches, strict=True):
        steps = [max(step, 0) for step in range(start, start + patch)]
        assert numbers.tolist() == values[0, steps].T.flatten().tolist()
    assert patch_start_steps(time, patch, stride, torch.device("cpu")).tolist() == [
        max(0, start) for start in first
    ]
    assert set(values.flatten().tolist()) <= set(patches.flatten().tolist())


@pytest.mark.parametrize("config", CHOICES)
def test_a_forecast_has_a_mean_and_quantiles_per_value(config):
    history, past, future, target = windows(config)
    model = make_model(config)
    shape = (5, config.horizon, config.channels, 1 + len(config.quantiles))
    assert model(history, past, future, target).shape == shape
    assert model.forecast(history, past, future).shape == shape


@pytest.mark.parametrize("config", CHOICES)
def test_a_forecast_does_not_depend_on_the_batch(config):
    history, past, future, _ = windows(config)
    model = make_model(config)
    batch_forecast = model.forecast(history, past, future)
    single_forecasts = torch.cat(
        [model.forecast(*(part[i : i + 1] for part in (history, past, future))) for i in range(5)]
    )
    assert torch.allclose(batch_forecast, single_forecasts, atol=1e-5)


@pytest.mark.parametrize("config", [choice for choice in CHOICES if choice.decoding == "steps"])
def test_decoding_by_steps_equals_teacher_forcing_with_its_own_mean(config):
    history, past, future, _ = windows(config)
    model = make_model(config)
    predicted = model.forecast(history, past, future)
    at_once = model(history, past, future, predicted[..., 0])
    assert torch.allclose(predicted, at_once, atol=1e-4)


def test_decoding_by_steps_is_causal():
    config = replace(SMALL, decoding="steps")
    history, past, future, target = windows(config)
    model = make_model(config)
    before = model(history, past, future, target)
    changed = target.clone()
    changed[:, 4:] += 100
    after = model(history, past, future, changed)
    assert torch.equal(before[:, :8], after[:, :8])
    assert not torch.equal(before[:, 8:], after[:, 8:])


def test_parallel_decoding_does_not_use_the_target():
    history, past, future, target = windows(SMALL)
    model = make_model(SMALL)
    assert torch.equal(model(history, past, future, target), model(history, past, future, target + 100))


@pytest.mark.parametrize("config", [choice for choice in CHOICES if choice.normalise != "none"])
def test_a_shifted_and_scaled_series_has_a_shifted_and_scaled_forecast(config):
    history, past, future, _ = windows(config)
    model = make_model(config)
    predicted = model.forecast(history, past, future)
    shifted = model.forecast(1000 + 50 * history, past, future)
    assert torch.allclose(shifted, 1000 + 50 * predicted, rtol=1e-3)


@pytest.mark.parametrize("normalise", ["mean", "last", "none"])
def test_denormalise_inverts_normalise(normalise):
    history = windows(replace(SMALL, channels=3))[0]
    scale = compute_window_scale(history, normalise)
    assert torch.allclose(scale.denormalise(scale.normalise(history)[..., None])[..., 0], history, atol=1e-5)


def test_the_forecast_of_a_constant_window_is_constant():
    history, past, future, _ = windows(SMALL)
    predicted = make_model(SMALL).forecast(torch.full_like(history, 7.0), past, future)
    assert torch.allclose(predicted, torch.tensor(7.0), atol=0.05)


def test_calendar_features_of_past_and_future_are_used_if_configured():
    history, past, future, _ = windows(SMALL)
    model = make_model(SMALL)
    assert not torch.equal(model.forecast(history, past, future), model.forecast(history, past, -future))
    assert not torch.equal(model.forecast(history, past, future), model.forecast(history, -past, future))
    without = make_model(replace(SMALL, calendar=0))
    assert without.calendar_embedding is None
    assert without.forecast(history, past[..., :0], future[..., :0]).shape == (5, 10, 1, 6)


@pytest.mark.parametrize("config", CHOICES)
def test_every_weight_has_a_gradient(config):
    model = make_model(config)
    model(*windows(config)).square().sum().backward()
    assert [name for name, weight in model.named_parameters() if weight.grad is None] == []


def test_the_forecaster_uses_the_transformers_layers():
    model = make_model(SMALL)
    kinds = {type(module) for module in model.modules()}
    assert {MultiHeadAttention, EncoderLayer, DecoderLayer} <= kinds


def test_the_forecaster_learns_a_sine_wave():
    torch.manual_seed(0)
    model = TransformerForecaster(replace(SMALL, dropout=0.0, calendar=0, stride=4))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(60):
        wave = (0.7 * (torch.rand(32, 1) * 100 + torch.arange(30))).sin()[..., None]
        none = wave[..., :0]
        predicted = model(wave[:, :20], none[:, :20], none[:, 20:], wave[:, 20:])[..., 0]
        loss = (predicted - wave[:, 20:]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss < 0.1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stride": 5}, "model.stride = 5 cannot work"),
        ({"patch": 21}, "model.patch = 21 cannot work"),
        ({"horizon": 0}, "model.horizon = 0 cannot work"),
        ({"quantiles": (0.5, 0.1)}, "model.quantiles"),
        ({"quantiles": (0.5, 1.0)}, "model.quantiles"),
        ({"heads": 3}, "does not divide"),
    ],
)
def test_invalid_settings_are_refused(change, message):
    with pytest.raises(ConfigError, match=message):
        replace(SMALL, **change)
