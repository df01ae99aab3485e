import numpy as np
import pytest

from regard.metrics.forecast import (
    absolute_error,
    coverage,
    naive_error,
    pinball_loss,
    scaled_error,
    squared_error,
)

CAME = np.array([[1.0, 2.0], [3.0, 4.0]])
FORETOLD = np.array([[1.0, 4.0], [2.0, 4.0]])


def test_errors_are_means_over_all_values():
    assert squared_error(FORETOLD, CAME) == 5 / 4
    assert absolute_error(FORETOLD, CAME) == 3 / 4


def test_a_scaled_error_of_one_is_what_the_naive_forecast_has():
    series = np.array([1.0, 2.0, 4.0, 8.0])
    assert naive_error(series, 1) == pytest.approx(7 / 3)
    assert naive_error(series, 2) == pytest.approx(9 / 2)
    assert scaled_error(series[:-1], series[1:], naive_error(series, 1)) == pytest.approx(1)


def test_half_the_absolute_error_is_the_pinball_loss_of_the_median():
    assert pinball_loss(FORETOLD, CAME, 0.5) == absolute_error(FORETOLD, CAME) / 2
    assert pinball_loss(CAME - 1, CAME, 0.9) == pytest.approx(0.9)
    assert pinball_loss(CAME + 1, CAME, 0.9) == pytest.approx(0.1)


def test_an_interval_covers_what_lies_between_its_ends():
    assert coverage(CAME, CAME, CAME) == 1
    assert coverage(CAME - [[0, 0], [0, -1]], CAME + 1, CAME) == 3 / 4
