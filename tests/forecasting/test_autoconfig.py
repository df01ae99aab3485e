from dataclasses import fields

import pytest

from regard.errors import DataError
from regard.forecasting.autoconfig import (
    FORECASTING_AUTO_SETTINGS,
    autoconfigure_forecasting,
    choose_forecasting_settings,
    select_forecasting_auto_settings,
)
from regard.forecasting.run import ForecastingRun
from regard.forecasting.series.time_axis import TimeStep
from regard.model.forecaster import ForecasterConfig
from synthetic_series import small_forecast_run, write_wave_series

HOUR, DAY = TimeStep(3_600_000_000), TimeStep(86_400_000_000)


def test_more_values_get_a_larger_model():
    widths = [
        choose_forecasting_settings(rows, rows // 8, 1, HOUR).run.model.d_model
        for rows in (500, 5000, 50_000)
    ]
    assert widths == sorted(set(widths))


@pytest.mark.parametrize(
    ("step", "history", "horizon"), [(HOUR, 336, 96), (DAY, 84, 28), (TimeStep(months=1), 48, 12)]
)
def test_what_is_seen_and_foretold_goes_by_seasons(step, history, horizon):
    model = choose_forecasting_settings(20_000, 2000, 1, step).run.model
    assert (model.history, model.horizon) == (history, horizon)


@pytest.mark.parametrize("rows", [12, 20, 60, 200, 1000])
@pytest.mark.parametrize("step", [HOUR, DAY, TimeStep(months=3), TimeStep(60_000_000)])
def test_windows_of_a_short_table_fit_into_it(rows, step):
    model = choose_forecasting_settings(rows, max(2, rows // 8), 2, step).run.model
    assert model.history + model.horizon <= rows
    assert model.patch <= model.history


def test_what_was_asked_for_is_kept_and_the_rest_goes_by_it(tmp_path):
    asked = small_forecast_run(write_wave_series(tmp_path / "waves.csv"))
    model = autoconfigure_forecasting(asked, {"model": {"horizon": 12, "history": 48}}).run.model
    assert (model.horizon, model.history) == (12, 48)
    with pytest.raises(DataError, match="240 training rows; a window of .* does not fit"):
        autoconfigure_forecasting(
            ForecastingRun(ForecasterConfig(horizon=300), asked.data), {"model": {"horizon": 300}}
        )


def test_the_plan_says_why(tmp_path):
    found = autoconfigure_forecasting(small_forecast_run(write_wave_series(tmp_path / "waves.csv")), {})
    assert found.explain(found.run).startswith(
        "240 rows of 2 series to learn from, 1 hour apart, a season of 24: a tiny model that sees 80 steps"
    )


def test_a_plan_once_made_names_settings_that_there_are():
    run = ForecastingRun()
    for section, names in FORECASTING_AUTO_SETTINGS.items():
        assert set(names) <= {field.name for field in fields(getattr(run, section))}
    settings = {"model": {"d_model": 8}, "train": {"steps": 5, "seed": 3}}
    assert select_forecasting_auto_settings(settings) == {
        "model": {"d_model": 8},
        "data": {},
        "optimizer": {},
        "train": {"steps": 5},
    }
