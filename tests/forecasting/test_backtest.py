from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from regard.checkpoint import file_sha256
from regard.errors import DataError
from regard.forecasting.backtest import backtest
from regard.forecasting.forecaster import Forecaster
from regard.forecasting.task import train_forecasting
from synthetic_series import small_forecast_run, write_wave_series

QUIET = Console(quiet=True)


@pytest.fixture(scope="module", params=[False, True], ids=["per_series", "multivariate"])
def trained(tmp_path_factory, request):
    folder = tmp_path_factory.mktemp("trained")
    run = small_forecast_run(write_wave_series(folder / "waves.csv"), steps=40, together=request.param)
    train_forecasting(run, folder / "run", QUIET)
    return Forecaster.load(folder / "run", "cpu"), folder / "waves.csv", run.data


def first_rows(table, end):
    return replace(
        table,
        times=table.times[:end],
        values=table.values[:end],
        interpolated=table.interpolated[:end],
        line_numbers=table.line_numbers[:end],
    )


def test_exactly_the_windows_of_the_test_rows_are_scored(trained):
    model, path, data = trained
    report = backtest(model, path, data, file_sha256(path))
    assert report.rows == range(270, 300)
    assert report.windows == 2 * (30 - 12 + 1)
    table = model.read_series(path)
    scaled = model.metadata.scaler.scale(table.values)
    errors = []
    for origin in range(270, 300 - 12 + 1):
        values = model.forecast(first_rows(table, origin)).values
        errors.append(model.metadata.scaler.scale(values) - scaled[origin : origin + 12])
    assert report.errors[0].mse == pytest.approx(np.square(errors).mean(), rel=1e-4)
    assert report.errors[0].mae == pytest.approx(np.abs(errors).mean(), rel=1e-4)


def test_the_baselines_are_scored_on_the_same_windows(trained):
    model, path, data = trained
    report = backtest(model, path, data, file_sha256(path))
    assert [each.name for each in report.errors] == ["regard", "linear", "season of 24", "last value"]
    scaled = model.metadata.scaler.scale(model.read_series(path).values)
    last = [scaled[i : i + 12] - scaled[i - 1] for i in range(270, 289)]
    season = [scaled[i : i + 12] - scaled[i - 24 : i - 12] for i in range(270, 289)]
    assert report.errors[3].mse == pytest.approx(np.square(last).mean(), rel=1e-4)
    assert report.errors[2].squared_errors == pytest.approx(np.square(season).mean(axis=(0, 1)), rel=1e-4)
    assert report.errors[1].mse < report.errors[3].mse / 10  # a sine wave obeys a linear recurrence


def test_coverage_is_the_share_of_actual_values_in_the_interval(trained):
    model, path, data = trained
    report = backtest(model, path, data, file_sha256(path))
    table = model.read_series(path)
    inside = []
    for origin in range(270, 289):
        forecast = model.forecast(first_rows(table, origin))
        actual = table.values[origin : origin + 12]
        inside.append((forecast.quantiles[0.1] <= actual) & (actual <= forecast.quantiles[0.9]))
    assert report.coverage[0.1, 0.9] == pytest.approx(np.mean(inside), abs=0.01)


def test_only_the_new_rows_of_a_longer_file_are_scored(trained, tmp_path):
    model, path, data = trained
    report = backtest(model, write_wave_series(tmp_path / "grown.csv", rows=320), data, file_sha256(path))
    assert report.rows == range(270, 320)
    assert report.notes == ()


def test_a_later_file_is_scored_from_its_start_without_a_linear_baseline(trained, tmp_path):
    model, path, data = trained
    later = write_wave_series(tmp_path / "later.csv", rows=100)
    later.write_text(later.read_text().replace("2024-", "2025-"))
    report = backtest(model, later, data, file_sha256(path))
    assert report.rows == range(48, 100)  # the rows before are history
    assert report.windows == 2 * (100 - 48 - 12 + 1)
    assert [each.name for each in report.errors] == ["regard", "season of 24", "last value"]
    assert "no linear baseline" in report.notes[0]


@pytest.mark.parametrize(("rows", "all_rows"), [(200, False), (300, True)])
def test_rows_that_may_be_training_rows_are_noted(trained, tmp_path, rows, all_rows):
    model, path, data = trained
    report = backtest(
        model, write_wave_series(tmp_path / "old.csv", rows=rows), data, file_sha256(path), all_rows
    )
    assert any("the model was trained on" in note for note in report.notes)


def test_too_few_rows_to_score_are_refused(trained, tmp_path):
    model, path, data = trained
    with pytest.raises(DataError, match="5 new rows; a window of 48 history and 12 forecast steps needs 12"):
        backtest(model, write_wave_series(tmp_path / "short.csv", rows=275), data, file_sha256(path))
