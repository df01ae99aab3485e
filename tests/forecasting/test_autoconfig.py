import pytest

from regard.errors import DataError
from regard.forecasting.autoconfig import (
    autoconfigure_forecasting,
    choose_forecasting_settings,
)
from regard.forecasting.run import ForecastingRun
from regard.forecasting.series.time_axis import TimeStep
from regard.model.transformer_forecaster import ForecasterConfig
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
def test_history_and_horizon_are_multiples_of_the_season(step, history, horizon):
    model = choose_forecasting_settings(20_000, 2000, 1, step).run.model
    assert (model.history, model.horizon) == (history, horizon)


def test_a_year_of_months_is_forecast_from_twelve_years():
    """The size of the AirPassengers table: 144 months, of which 14 are for validation."""
    month = TimeStep(months=1)
    assert choose_forecasting_settings(115, 15, 1, month).run.model.horizon == 12
    assert choose_forecasting_settings(115, 14, 1, month).run.model.horizon == 11
    assert choose_forecasting_settings(115, 6, 1, month).run.model.horizon == 4


@pytest.mark.parametrize("rows", [12, 20, 60, 200, 1000])
@pytest.mark.parametrize("step", [HOUR, DAY, TimeStep(months=3), TimeStep(60_000_000)])
def test_windows_of_a_short_table_fit_into_it(rows, step):
    model = choose_forecasting_settings(rows, max(2, rows // 8), 2, step).run.model
    assert model.history + model.horizon <= rows
    assert model.patch <= model.history


def test_requested_settings_are_kept(tmp_path):
    run = small_forecast_run(write_wave_series(tmp_path / "waves.csv"))
    model = autoconfigure_forecasting(run, {"model": {"horizon": 12, "history": 48}}).run.model
    assert (model.horizon, model.history) == (12, 48)
    with pytest.raises(DataError, match="240 training rows; a window of .* does not fit"):
        autoconfigure_forecasting(
            ForecastingRun(ForecasterConfig(horizon=300), run.data), {"model": {"horizon": 300}}
        )


def test_the_explanation_names_rows_season_and_size(tmp_path):
    config = autoconfigure_forecasting(small_forecast_run(write_wave_series(tmp_path / "waves.csv")), {})
    assert config.explain(config.run).startswith(
        "240 training rows of 2 series, step 1 hour, season 24 steps: a tiny model with history 80 and"
    )


def test_requested_epochs_decide_the_steps():
    steps = [
        choose_forecasting_settings(5000, 600, 1, HOUR, epochs=epochs).run.train.steps
        for epochs in (1.0, 10.0)
    ]
    assert steps[1] == pytest.approx(10 * steps[0], rel=0.05)
