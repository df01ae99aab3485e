import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from regard.checkpoint import file_sha256
from regard.errors import DataError
from regard.forecasting.backtest import (
    backtest,
    collect_ridge_statistics,
    fit_nlinear,
    naive_forecast,
    seasonal_naive_forecast,
)
from regard.forecasting.forecaster import Forecaster
from regard.forecasting.task import train_forecasting
from synthetic_series import small_forecast_run, write_wave_series

HISTORY = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def test_the_last_value_and_the_last_season_are_repeated():
    assert naive_forecast(HISTORY, 2).tolist() == [[3, 3], [6, 6]]
    assert seasonal_naive_forecast(HISTORY, 5, 2).tolist() == [[2, 3, 2, 3, 2], [5, 6, 5, 6, 5]]
    assert seasonal_naive_forecast(HISTORY, 2, 7).tolist() == [[1, 2], [4, 5]]


def linear_windows(seed, count=200, time=6, horizon=3):
    """Futures that are a weighted sum of their history."""
    chance = np.random.default_rng(seed)
    weights = chance.normal(size=(time, horizon))
    history = chance.normal(size=(count, time)) + 5
    last = history[:, -1:]
    return history, (history - last) @ weights + 0.3 + last


@given(st.integers(0, 2**32))
def test_a_future_that_is_linear_is_found_exactly(seed):
    history, future = linear_windows(seed)
    half = [(history[:100], future[:100]), (history[100:], future[100:])]
    model = fit_nlinear(collect_ridge_statistics(half), half)
    assert np.abs(model.forecast(history) - future).max() < 0.01 * np.abs(future).max()


def test_moments_are_the_same_however_windows_are_batched():
    history, future = linear_windows(0)
    whole = collect_ridge_statistics([(history, future)])
    parts = collect_ridge_statistics([(history[i : i + 7], future[i : i + 7]) for i in range(0, 200, 7)])
    assert np.allclose(whole.inputs, parts.inputs)
    assert np.allclose(whole.outputs, parts.outputs)
    assert whole.windows == parts.windows == 200


def test_least_squares_is_numpys():
    history, future = linear_windows(1)
    future = future + np.random.default_rng(2).normal(size=future.shape)
    last = history[:, -1:]
    inputs = np.concatenate([(history - last)[:, :-1], np.ones_like(last)], axis=1)
    expected = np.linalg.lstsq(inputs, future - last, rcond=None)[0]
    found = collect_ridge_statistics([(history, future)]).solve(1e-9).weights
    assert np.allclose(np.delete(found, -2, axis=0), expected, atol=1e-4)


QUIET = Console(quiet=True)


@pytest.fixture(scope="module", params=[False, True], ids=["apart", "together"])
def trained(tmp_path_factory, request):
    folder = tmp_path_factory.mktemp("trained")
    run = small_forecast_run(write_wave_series(folder / "waves.csv"), steps=40, together=request.param)
    train_forecasting(run, folder / "run", QUIET)
    return Forecaster.load(folder / "run", "cpu"), folder / "waves.csv", run.data


def test_every_window_of_the_test_rows_is_scored_and_no_other(trained):
    model, path, data = trained
    found = backtest(model, path, data, file_sha256(path))
    assert found.rows == range(270, 300)
    assert found.windows == 2 * (30 - 12 + 1)
    table = model.read_series(path)
    scaled = model.metadata.scaler.scale(table.values)
    errors = []
    for origin in range(270, 300 - 12 + 1):
        said = model.forecast(table.slice_rows(0, origin)).values
        errors.append(model.metadata.scaler.scale(said) - scaled[origin : origin + 12])
    assert found.errors[0].mse == pytest.approx(np.square(errors).mean(), rel=1e-4)
    assert found.errors[0].mae == pytest.approx(np.abs(errors).mean(), rel=1e-4)


def test_the_baselines_are_scored_on_the_same_windows(trained):
    model, path, data = trained
    found = backtest(model, path, data, file_sha256(path))
    assert [each.name for each in found.errors] == ["regard", "linear", "season of 24", "last value"]
    scaled = model.metadata.scaler.scale(model.read_series(path).values)
    last = [scaled[o : o + 12] - scaled[o - 1] for o in range(270, 289)]
    season = [scaled[o : o + 12] - scaled[o - 24 : o - 12] for o in range(270, 289)]
    assert found.errors[3].mse == pytest.approx(np.square(last).mean(), rel=1e-4)
    assert found.errors[2].squared_errors == pytest.approx(np.square(season).mean(axis=(0, 1)), rel=1e-4)
    assert found.errors[1].mse < found.errors[3].mse / 10  # a wave is a linear thing


def test_coverage_is_the_share_of_what_came_between_the_bounds(trained):
    model, path, data = trained
    found = backtest(model, path, data, file_sha256(path))
    table = model.read_series(path)
    inside = []
    for origin in range(270, 289):
        said = model.forecast(table.slice_rows(0, origin))
        came = table.values[origin : origin + 12]
        inside.append((said.quantiles[0.1] <= came) & (came <= said.quantiles[0.9]))
    assert found.coverage[0.1, 0.9] == pytest.approx(np.mean(inside), abs=0.01)


def test_of_a_file_that_has_grown_only_what_is_new_is_scored(trained, tmp_path):
    model, path, data = trained
    found = backtest(model, write_wave_series(tmp_path / "grown.csv", rows=320), data, file_sha256(path))
    assert found.rows == range(270, 320)
    assert found.notes == ()


def test_a_file_of_another_time_is_scored_from_its_beginning_without_a_linear_baseline(trained, tmp_path):
    model, path, data = trained
    later = write_wave_series(tmp_path / "later.csv", rows=100)
    later.write_text(later.read_text().replace("2024-", "2025-"))
    found = backtest(model, later, data, file_sha256(path))
    assert found.rows == range(48, 100)  # those before are looked back on
    assert found.windows == 2 * (100 - 48 - 12 + 1)
    assert [each.name for each in found.errors] == ["regard", "season of 24", "last value"]
    assert "no linear baseline" in found.notes[0]


@pytest.mark.parametrize(("rows", "everything"), [(200, False), (300, True)])
def test_rows_that_may_have_been_learnt_are_said_to_be(trained, tmp_path, rows, everything):
    model, path, data = trained
    found = backtest(
        model, write_wave_series(tmp_path / "old.csv", rows=rows), data, file_sha256(path), everything
    )
    assert any("the model learnt from" in note for note in found.notes)


def test_too_few_rows_to_score_are_refused(trained, tmp_path):
    model, path, data = trained
    with pytest.raises(DataError, match="5 new rows; a window of 48 steps seen and 12 foretold needs 12"):
        backtest(model, write_wave_series(tmp_path / "short.csv", rows=275), data, file_sha256(path))
