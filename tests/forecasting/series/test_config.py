import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import ConfigError
from regard.forecasting.series.config import SeriesSplit, split_by_date, split_by_share


def test_a_split_is_given_by_rows_shares_or_dates():
    rows = split_by_share(17_420, (8640.0, 2880.0, 2880.0))
    assert rows == SeriesSplit(range(8640), range(8640, 11_520), range(11_520, 14_400))
    assert split_by_share(10, (0.7, 0.1, 0.2)) == SeriesSplit(range(7), range(7, 8), range(8, 10))
    times = np.arange("2024-01-01", "2024-01-11", dtype="datetime64[D]").astype("datetime64[us]")
    split = split_by_date(times, np.datetime64("2024-01-08"), np.datetime64("2024-01-09"))
    assert split == SeriesSplit(range(7), range(7, 8), range(8, 10))


@given(st.integers(0, 1000), st.lists(st.floats(0, 1), min_size=3, max_size=3).filter(any))
def test_no_row_is_in_two_parts_of_a_split(rows, shares):
    split = split_by_share(rows, [share / sum(shares) for share in shares])
    assert [*split.train, *split.valid, *split.test] == list(range(split.test.stop))
    assert rows - 1 <= split.test.stop <= rows


def test_a_split_of_more_rows_than_the_table_is_refused():
    with pytest.raises(ConfigError, match="needs 14,400 rows; the table has 100"):
        split_by_share(100, (8640.0, 2880.0, 2880.0))
    with pytest.raises(ConfigError, match="must be later"):
        split_by_date(np.zeros(3, "datetime64[us]"), np.datetime64("2024-01-02"), np.datetime64("2024-01-01"))
