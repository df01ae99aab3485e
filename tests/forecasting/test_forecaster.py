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


def test_a_forecast_goes_on_where_the_file_ends_in_its_own_units(forecaster, trained):
    found = forecaster.forecast(trained / "waves.csv")
    assert found.history.time_axis.format_times(found.times)[0] == "2024-01-13 12:00:00"
    assert found.values.shape == (12, 2)
    assert np.abs(found.values[:, 0] - 100).max() < 20
    assert np.abs(found.values[:, 1] + 3).max() < 2


def test_quantiles_never_cross(forecaster, trained):
    found = forecaster.forecast(trained / "waves.csv")
    rows = np.stack([found.quantiles[share] for share in sorted(found.quantiles)])
    assert (np.diff(rows, axis=0) >= 0).all()
    assert found.intervals == [(0.025, 0.975), (0.1, 0.9)]


def test_a_shorter_horizon_is_the_beginning_of_the_whole_one(forecaster, trained):
    whole, short = (forecaster.forecast(trained / "waves.csv", steps) for steps in (None, 5))
    assert np.array_equal(short.values, whole.values[:5])
    assert short.notes == ()


def test_a_longer_horizon_goes_on_from_the_mean_and_says_so(forecaster, trained):
    found = forecaster.forecast(trained / "waves.csv", 30)
    assert len(found.times) == len(found.values) == 30
    assert "the others go on from its own mean" in found.notes[0]
    first = forecaster.forecast(trained / "waves.csv")
    assert np.array_equal(found.values[:12], first.values)
    table = read_series_table(trained / "waves.csv")
    longer = table.values.copy()
    told = csv.writer(text := io.StringIO(), lineterminator="\n")
    told.writerow(["date", "load", "heat"])
    times = [*table.time_axis.format_times(table.times), *table.time_axis.format_times(first.times)]
    told.writerows([when, *row] for when, row in zip(times, [*longer, *first.values], strict=True))
    (trained / "longer.csv").write_text(text.getvalue())
    again = forecaster.forecast(trained / "longer.csv")
    assert again.values == pytest.approx(found.values[12:24], rel=1e-4)


def test_the_csv_can_be_read_back_as_a_table(forecaster, trained, tmp_path):
    found = forecaster.forecast(trained / "waves.csv")
    (tmp_path / "next.csv").write_text(found.to_csv())
    table = read_series_table(tmp_path / "next.csv")
    assert table.columns[:6] == ("load", "load q0.025", "load q0.1", "load q0.5", "load q0.9", "load q0.975")
    assert (table.times == found.times).all()
    assert table.select_columns(["load", "heat"]).values == pytest.approx(found.values, rel=1e-6)


def test_the_json_has_the_same_numbers(forecaster, trained):
    found = forecaster.forecast(trained / "waves.csv")
    said = json.loads(found.to_json())
    assert said["times"][0] == "2024-01-13 12:00:00"
    assert said["series"]["heat"]["mean"] == pytest.approx(found.values[:, 1].tolist(), rel=1e-6)
    assert said["series"]["heat"]["quantiles"]["0.9"] == pytest.approx(found.quantiles[0.9][:, 1].tolist())


def test_columns_in_another_order_beside_others_change_nothing(forecaster, trained, tmp_path):
    rows = list(csv.reader((trained / "waves.csv").read_text().splitlines()))
    lines = [",".join([row[2], "word", row[0], row[1]]) for row in rows[1:]]
    (tmp_path / "mixed.csv").write_text("\n".join(["heat,text,when,load", *lines]) + "\n")
    expected = forecaster.forecast(trained / "waves.csv")
    assert np.array_equal(forecaster.forecast(tmp_path / "mixed.csv").values, expected.values)


def test_missing_values_in_the_recent_past_are_guessed_and_said(forecaster, trained, tmp_path):
    lines = (trained / "waves.csv").read_text().splitlines()
    lines[-1] = lines[-1].rpartition(",")[0] + ","
    (tmp_path / "gap.csv").write_text("\n".join(lines) + "\n")
    found = forecaster.forecast(tmp_path / "gap.csv")
    assert found.notes == ("heat: 1 of the last 48 values are missing: guessed",)
    assert np.isfinite(found.values).all()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda lines: [lines[0].replace("heat", "cold"), *lines[1:]],
            "has no column 'heat'; it has date, load",
        ),
        (lambda lines: lines[:40], "has 39 rows; the model looks back 48 steps"),
        (
            lambda lines: [lines[0], *lines[1::2]],
            "has a row every 2 hours and the model learnt from one every 1",
        ),
        (lambda lines: [*lines[:9], lines[9] + "x", *lines[10:]], "which is no number"),
        (
            lambda lines: [lines[0], *("day " + line for line in lines[1:])],
            "no time that can be read: 'day 2024",
        ),
    ],
)
def test_a_file_that_the_model_cannot_continue_is_refused(forecaster, trained, tmp_path, change, said):
    lines = change((trained / "waves.csv").read_text().splitlines())
    (tmp_path / "bad.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, match=said):
        forecaster.forecast(tmp_path / "bad.csv")


def test_a_horizon_of_nothing_is_refused(forecaster, trained):
    with pytest.raises(ConfigError, match="horizon = 0 cannot work"):
        forecaster.forecast(trained / "waves.csv", 0)


def test_what_is_foretold_does_not_depend_on_the_mood_of_others(trained):
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    regard.Forecaster.load(trained / "run", "cpu").forecast(trained / "waves.csv")
    assert torch.equal(before, torch.random.get_rng_state())
