from dataclasses import fields

import pytest

from regard.errors import DataError
from regard.forecasting.autoconfig import CHOSEN, chosen, plan, plan_for
from regard.forecasting.run import ForecastRun
from regard.forecasting.series.time_axis import Step
from regard.model.forecaster import ForecasterConfig
from synthetic_series import small_run, write_waves

HOUR, DAY = Step(3_600_000_000), Step(86_400_000_000)


def test_more_values_get_a_larger_model():
    widths = [plan_for(rows, rows // 8, 1, HOUR).run.model.d_model for rows in (500, 5000, 50_000)]
    assert widths == sorted(set(widths))


@pytest.mark.parametrize(
    ("step", "history", "horizon"), [(HOUR, 336, 96), (DAY, 84, 28), (Step(months=1), 48, 12)]
)
def test_what_is_seen_and_foretold_goes_by_seasons(step, history, horizon):
    model = plan_for(20_000, 2000, 1, step).run.model
    assert (model.history, model.horizon) == (history, horizon)


@pytest.mark.parametrize("rows", [12, 20, 60, 200, 1000])
@pytest.mark.parametrize("step", [HOUR, DAY, Step(months=3), Step(60_000_000)])
def test_windows_of_a_short_table_fit_into_it(rows, step):
    model = plan_for(rows, max(2, rows // 8), 2, step).run.model
    assert model.history + model.horizon <= rows
    assert model.patch <= model.history


def test_what_was_asked_for_is_kept_and_the_rest_goes_by_it(tmp_path):
    asked = small_run(write_waves(tmp_path / "waves.csv"))
    model = plan(asked, {"model": {"horizon": 12, "history": 48}}).run.model
    assert (model.horizon, model.history) == (12, 48)
    with pytest.raises(DataError, match="240 training rows; a window of .* does not fit"):
        plan(ForecastRun(ForecasterConfig(horizon=300), asked.data), {"model": {"horizon": 300}})


def test_the_plan_says_why(tmp_path):
    found = plan(small_run(write_waves(tmp_path / "waves.csv")), {})
    assert found.why(found.run).startswith(
        "240 rows of 2 series to learn from, 1 hour apart, a season of 24: a tiny model that sees 80 steps"
    )


def test_a_plan_once_made_names_settings_that_there_are():
    run = ForecastRun()
    for section, names in CHOSEN.items():
        assert set(names) <= {field.name for field in fields(getattr(run, section))}
    settings = {"model": {"d_model": 8}, "train": {"steps": 5, "seed": 3}}
    assert chosen(settings) == {"model": {"d_model": 8}, "data": {}, "optimizer": {}, "train": {"steps": 5}}
