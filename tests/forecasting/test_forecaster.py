import csv
import io
import json

import numpy as np
import pytest
import torch
from rich.console import Console

import regard
from regard.errors import ConfigError, DataError
from regard.forecasting.series.read_table import read_series_table
from regard.forecasting.task import train_forecasting
from synthetic_series import small_forecast_run, write_wave_series

QUIET = Console(quiet=True)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    train_forecasting(
        small_forecast_run(write_wave_series(folder / "waves.csv"), steps=60), folder / "run", QUIET
    )
    return folder


@pytest.fixture
def forecaster(trained):
    return regard.Forecaster.load(trained / "run", "cpu")


def test_a_forecast_starts_after_the_last_row_in_the_units_of_the_file(forecaster, trained):
    forecast = forecaster.forecast(trained / "waves.csv")
    assert forecast.history.time_axis.format_times(forecast.times)[0] == "2024-01-13 12:00:00"
    assert forecast.values.shape == (12, 2)
    assert np.abs(forecast.values[:, 0] - 100).max() < 20
    assert np.abs(forecast.values[:, 1] + 3).max() < 2


def test_quantiles_never_cross(forecaster, trained):
    forecast = forecaster.forecast(trained / "waves.csv")
    rows = np.stack([forecast.quantiles[share] for share in sorted(forecast.quantiles)])
    assert (np.diff(rows, axis=0) >= 0).all()
    assert forecast.intervals == [(0.025, 0.975), (0.1, 0.9)]


def test_a_shorter_horizon_is_the_start_of_the_whole_one(forecaster, trained):
    whole, short = (forecaster.forecast(trained / "waves.csv", steps) for steps in (None, 5))
    assert np.array_equal(short.values, whole.values[:5])
    assert short.notes == ()


def test_a_longer_horizon_is_predicted_from_the_mean_and_noted(forecaster, trained):
    forecast = forecaster.forecast(trained / "waves.csv", 30)
    assert len(forecast.times) == len(forecast.values) == 30
    assert "later steps are predicted from its own mean" in forecast.notes[0]
    first = forecaster.forecast(trained / "waves.csv")
    assert np.array_equal(forecast.values[:12], first.values)
    table = read_series_table(trained / "waves.csv")
    writer = csv.writer(text := io.StringIO(), lineterminator="\n")
    writer.writerow(["date", "load", "heat"])
    times = [*table.time_axis.format_times(table.times), *table.time_axis.format_times(first.times)]
    writer.writerows([time, *row] for time, row in zip(times, [*table.values, *first.values], strict=True))
    (trained / "longer.csv").write_text(text.getvalue())
    second = forecaster.forecast(trained / "longer.csv")
    assert second.values == pytest.approx(forecast.values[12:24], rel=1e-4)


def test_the_csv_is_a_readable_table(forecaster, trained, tmp_path):
    forecast = forecaster.forecast(trained / "waves.csv")
    (tmp_path / "next.csv").write_text(forecast.to_csv())
    table = read_series_table(tmp_path / "next.csv")
    assert table.columns[:6] == ("load", "load q0.025", "load q0.1", "load q0.5", "load q0.9", "load q0.975")
    assert (table.times == forecast.times).all()
    assert table.select_columns(["load", "heat"]).values == pytest.approx(forecast.values, rel=1e-6)


def test_the_json_has_the_same_numbers(forecaster, trained):
    forecast = forecaster.forecast(trained / "waves.csv")
    document = json.loads(forecast.to_json())
    assert document["times"][0] == "2024-01-13 12:00:00"
    assert document["series"]["heat"]["mean"] == pytest.approx(forecast.values[:, 1].tolist(), rel=1e-6)
    assert document["series"]["heat"]["quantiles"]["0.9"] == pytest.approx(
        forecast.quantiles[0.9][:, 1].tolist()
    )


def test_column_order_and_extra_columns_do_not_matter(forecaster, trained, tmp_path):
    rows = list(csv.reader((trained / "waves.csv").read_text().splitlines()))
    lines = [",".join([row[2], "word", row[0], row[1]]) for row in rows[1:]]
    (tmp_path / "mixed.csv").write_text("\n".join(["heat,text,when,load", *lines]) + "\n")
    expected = forecaster.forecast(trained / "waves.csv")
    assert np.array_equal(forecaster.forecast(tmp_path / "mixed.csv").values, expected.values)


def test_missing_values_in_the_history_are_interpolated_and_noted(forecaster, trained, tmp_path):
    lines = (trained / "waves.csv").read_text().splitlines()
    lines[-1] = lines[-1].rpartition(",")[0] + ","
    (tmp_path / "gap.csv").write_text("\n".join(lines) + "\n")
    forecast = forecaster.forecast(tmp_path / "gap.csv")
    assert forecast.notes == ("heat: 1 of the last 48 values are missing: interpolated",)
    assert np.isfinite(forecast.values).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda lines: [lines[0].replace("heat", "cold"), *lines[1:]],
            "has no column 'heat'; it has date, load",
        ),
        (lambda lines: lines[:40], "has 39 rows; the model needs a history of 48"),
        (
            lambda lines: [lines[0], *lines[1::2]],
            "has a row every 2 hours and the model was trained on a row every 1 hour",
        ),
        (lambda lines: [*lines[:9], lines[9] + "x", *lines[10:]], "which is not a number"),
        (
            lambda lines: [lines[0], *("day " + line for line in lines[1:])],
            "'day 2024-01-01 00:00:00' is not a time",
        ),
    ],
)
def test_an_unsuitable_file_is_refused(forecaster, trained, tmp_path, change, message):
    lines = change((trained / "waves.csv").read_text().splitlines())
    (tmp_path / "bad.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, match=message):
        forecaster.forecast(tmp_path / "bad.csv")


def test_a_horizon_of_zero_is_refused(forecaster, trained):
    with pytest.raises(ConfigError, match="horizon = 0 cannot work"):
        forecaster.forecast(trained / "waves.csv", 0)


def test_loading_and_forecasting_keep_the_random_state(trained):
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    regard.Forecaster.load(trained / "run", "cpu").forecast(trained / "waves.csv")
    assert torch.equal(before, torch.random.get_rng_state())


@pytest.mark.parametrize("horizon", [2**20 + 13, 10**11, 10**20])
def test_a_horizon_beyond_the_calendar_or_the_memory_is_refused(forecaster, trained, horizon):
    with pytest.raises(ConfigError, match=f"horizon = {horizon} cannot work; at most 1,048,576 steps can be"):
        forecaster.forecast(trained / "waves.csv", horizon)


def test_a_value_too_large_for_the_model_is_refused(forecaster, trained, tmp_path):
    lines = (trained / "waves.csv").read_text().splitlines()
    lines[-1] = lines[-1].replace(lines[-1].split(",")[1], "1e90")
    (tmp_path / "waves.csv").write_text("\n".join(lines))
    with pytest.raises(DataError, match=r"the value 1e\+90 is more than 1e\+15 standard deviations from the"):
        forecaster.forecast(tmp_path / "waves.csv")
