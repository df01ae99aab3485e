"""Forecasts of tables, Series and arrays: as of a file with the same values, and of the same kind."""

from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from rich.console import Console

import regard
from regard.errors import ConfigError, DataError
from regard.forecasting.task import train_forecasting
from synthetic_series import START, small_forecast_run, write_wave_series

HORIZON = 12
LAST = START + timedelta(hours=299)
FUTURE = [LAST + timedelta(hours=hour) for hour in range(1, HORIZON + 1)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("series")
    waves = write_wave_series(folder / "waves.csv")
    train_forecasting(small_forecast_run(waves), folder / "both", Console(quiet=True))
    train_forecasting(small_forecast_run(waves, columns=("load",)), folder / "load", Console(quiet=True))
    by_hour = small_forecast_run(waves, steps=1, cycles=("hour",))
    train_forecasting(by_hour, folder / "by hour", Console(quiet=True))
    return folder


@pytest.fixture
def forecaster(folder):
    return regard.Forecaster.load(folder / "both", "cpu")


@pytest.fixture
def load_forecaster(folder):
    return regard.Forecaster.load(folder / "load", "cpu")


@pytest.fixture
def expected(forecaster, folder):
    return forecaster.forecast(folder / "waves.csv").values


@pytest.fixture
def frame(folder):
    """The file as pandas reads it, with an index of times."""
    return pd.read_csv(folder / "waves.csv", parse_dates=["date"], index_col="date")


def test_a_pandas_frame_with_an_index_of_times_gives_one(forecaster, frame, expected):
    frame.index.freq = "h"
    predicted = forecaster.predict(frame)
    assert isinstance(predicted, pd.DataFrame)
    assert predicted.columns.tolist() == ["load", "heat"]
    assert np.array_equal(predicted.to_numpy(), expected)
    assert predicted.index.tolist() == [pd.Timestamp(time) for time in FUTURE]
    assert (predicted.index.name, predicted.index.freqstr) == ("date", "h")
    assert predicted.index.dtype == frame.index.dtype
    whole = pd.concat([frame, predicted])
    assert len(whole) == len(frame) + HORIZON
    assert whole.index.is_monotonic_increasing


def test_an_index_without_a_name_and_with_a_time_zone_is_kept(forecaster, frame, expected):
    zoned = frame.tz_localize("UTC").tz_convert("America/New_York").rename_axis(None)
    predicted = forecaster.predict(zoned)
    assert np.allclose(predicted.to_numpy(), expected)
    assert str(predicted.index.tz) == "America/New_York"
    assert predicted.index[0] == pd.Timestamp(FUTURE[0], tz="UTC")
    assert predicted.index.name is None


def test_a_period_index_gives_one(forecaster, frame, expected):
    predicted = forecaster.predict(frame.to_period("h"))
    assert isinstance(predicted.index, pd.PeriodIndex)
    assert predicted.index[0] == pd.Period(FUTURE[0], "h")
    assert np.array_equal(predicted.to_numpy(), expected)


@pytest.mark.parametrize("as_text", [False, True])
def test_a_pandas_column_of_times_keeps_its_type(forecaster, frame, expected, as_text):
    table = frame.reset_index()
    if as_text:
        table["date"] = table["date"].dt.strftime("%d.%m.%Y %H:%M")
    predicted = forecaster.predict(table)
    assert predicted.columns.tolist() == ["date", "load", "heat"]
    assert predicted["date"].dtype == table["date"].dtype
    assert predicted["date"].iloc[0] == (FUTURE[0].strftime("%d.%m.%Y %H:%M") if as_text else FUTURE[0])
    assert np.array_equal(predicted[["load", "heat"]].to_numpy(), expected)


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_a_polars_frame_gives_one_with_its_schema(forecaster, folder, expected, zone):
    table = pl.read_csv(folder / "waves.csv", try_parse_dates=True).cast({"date": pl.Datetime("ms")})
    if zone:
        table = table.with_columns(pl.col("date").dt.replace_time_zone("UTC").dt.convert_time_zone(zone))
    predicted = forecaster.predict(table)
    assert isinstance(predicted, pl.DataFrame)
    assert predicted.schema == table.schema
    assert np.allclose(predicted.select("load", "heat").to_numpy(), expected)
    times = predicted["date"].dt.convert_time_zone("UTC") if zone else predicted["date"]
    assert times[0].replace(tzinfo=None) == FUTURE[0]
    assert len(pl.concat([table, predicted])) == 300 + HORIZON


def test_arrow_tables_and_mappings_give_their_kind(forecaster, folder, frame, expected):
    table = pa.Table.from_pandas(frame.reset_index(), preserve_index=False)
    predicted = forecaster.predict(table)
    assert isinstance(predicted, pa.Table)
    assert predicted.column_names == ["date", "load", "heat"]
    assert predicted.column("load").to_pylist() == expected[:, 0].tolist()
    mapping = {
        "date": [str(time) for time in frame.index],
        **{name: frame[name].to_numpy() for name in frame},
    }
    for series in (mapping, folder / "waves.csv", str(folder / "waves.csv")):
        predicted = forecaster.predict(series)
        assert list(predicted) == ["date", "load", "heat"]
        assert predicted["heat"] == expected[:, 1].tolist()
        assert str(predicted["date"][0]) == str(FUTURE[0])


def test_a_series_with_times_gives_one_whatever_its_name(load_forecaster, folder, frame):
    expected = load_forecaster.forecast(folder / "waves.csv").values[:, 0]
    for name in ("load", "demand", None):
        predicted = load_forecaster.predict(frame["load"].rename(name))
        assert isinstance(predicted, pd.Series)
        assert predicted.name == name
        assert predicted.index[0] == FUTURE[0]
        assert np.array_equal(predicted.to_numpy(), expected)


def test_arrays_need_the_time_of_their_first_row(forecaster, load_forecaster, folder, frame, expected):
    assert np.allclose(forecaster.predict(frame.to_numpy()), expected)  # the model has no calendar features
    assert np.allclose(forecaster.predict(frame.to_numpy(), start="2024-01-01"), expected)
    assert np.allclose(forecaster.predict(frame.to_numpy(), start=pd.Timestamp(START)), expected)
    alone = load_forecaster.predict(frame["load"].to_numpy(), start=START)
    assert alone.shape == (HORIZON,)
    assert load_forecaster.predict(frame["load"].tolist(), start=START) == alone.tolist()
    assert load_forecaster.predict(frame[["load"]].to_numpy(), start=START).shape == (HORIZON, 1)
    assert np.array_equal(load_forecaster.predict(pl.Series(frame["load"].to_list()), start=START), alone)
    by_hour = regard.Forecaster.load(folder / "by hour", "cpu")
    assert np.array_equal(by_hour.predict(frame.to_numpy(), start=START), by_hour.predict(frame).to_numpy())
    with pytest.raises(ConfigError, match="give start, the first time"):
        by_hour.predict(frame.to_numpy())
    with pytest.raises(ConfigError, match="start = 'x' is not a time"):
        forecaster.predict(frame.to_numpy(), start="x")
    with pytest.raises(ConfigError, match="start is for arrays"):
        forecaster.predict(frame, start=START)
    with pytest.raises(
        DataError, match=r"shape \(300, 1\); the model needs rows of 2 columns \(load, heat\)"
    ):
        forecaster.predict(frame["load"].to_numpy(), start=START)


def test_quantiles_stand_beside_their_mean(forecaster, frame):
    predicted = forecaster.predict(frame, 5, quantiles=True)
    assert predicted.shape == (5, 12)
    assert predicted.columns[:3].tolist() == ["load", "load q0.025", "load q0.1"]
    assert (predicted["heat q0.9"] >= predicted["heat q0.1"]).all()
    forecast = forecaster.forecast(frame, 5)
    pd.testing.assert_frame_equal(forecast.to_pandas(), predicted, check_freq=False, check_index_type=False)
    assert forecast.to_polars(quantiles=False).columns == ["date", "load", "heat"]
    assert forecast.to_polars()["date"][0] == FUTURE[0]


def test_missing_values_and_gaps_are_handled_as_in_a_file(forecaster, frame):
    frame.loc[frame.index[-3], "load"] = np.nan
    forecast = forecaster.forecast(frame.drop(frame.index[-20]))
    assert any("interpolated" in note for note in forecast.notes + forecast.history.notes)
    assert np.isfinite(forecast.values).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame[["load"]], "the table has no column 'heat'; it has date, load"),
        (lambda frame: frame.iloc[::2], "the table has a row every 2 hours"),
        (lambda frame: frame.iloc[:10], "the table has 10 rows; the model needs a history of"),
        (lambda frame: frame.reset_index(drop=True), "the table has no column that looks like time"),
        (lambda frame: frame.assign(load="high"), "the table line 1 has 'high' in column 'load'"),
        (lambda frame: frame["load"], "the Series has no column 'heat'"),
    ],
)
def test_tables_that_cannot_be_forecast_are_refused_in_words(forecaster, frame, change, message):
    with pytest.raises(DataError, match=message):
        forecaster.predict(change(frame))


def test_what_is_no_series_is_refused(forecaster):
    with pytest.raises(TypeError, match="and not int"):
        forecaster.predict(5)


def test_a_model_trained_from_a_table_forecasts_it(frame, tmp_path):
    from small_training import FORECASTING_SETTINGS

    frame = frame.rename(columns={"load": "power  (MW)"}).rename_axis(None)
    arguments = {"horizon": HORIZON, "steps": 2, "settings": FORECASTING_SETTINGS, "progress": False}
    forecaster = regard.train(series=frame, out=tmp_path / "run", **arguments)
    predicted = forecaster.predict(frame)
    assert predicted.index[0] == FUTURE[0]
    assert predicted.columns.tolist() == ["power (MW)", "heat"]
    assert isinstance(predicted.index[0], datetime)
