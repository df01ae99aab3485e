from dataclasses import replace

import pytest

from regard.errors import ConfigError
from regard.forecasting.run import ForecastingRun, ForecastLossConfig


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("cycles", ("wek",), "data.cycles = wek cannot work; there are auto, minute"),
        ("valid_from", "2024-01-02", "go together"),
        ("valid_windows", 0, "data.valid_windows = 0 cannot work"),
        ("batch_windows", 0, "data.batch_windows = 0 cannot work"),
        ("split", (0.5, 0.5), "it must be three numbers"),
    ],
)
def test_an_invalid_data_setting_is_refused(setting, value, message):
    with pytest.raises(ConfigError, match=message):
        replace(ForecastingRun().data, **{setting: value})


def test_a_negative_pinball_weight_is_refused():
    with pytest.raises(ConfigError, match="loss.pinball"):
        ForecastLossConfig(pinball=-1.0)
