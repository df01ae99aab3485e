import numpy as np

from regard.forecasting.series.read_table import read_series_table


def test_what_a_later_value_helped_to_guess_was_not_known_before_it(tmp_path):
    path = tmp_path / "gap.csv"
    rows = [f"2024-01-01 {hour:02}:00,{'' if hour in (2, 6, 7) else hour}" for hour in range(10)]
    path.write_text("\n".join(["when,value", *rows]) + "\n")
    table = read_series_table(path, None, (), 5)
    assert table.values[:, 0].tolist() == list(range(10))  # straight lines over both gaps
    known = table.values_known_at(8)[:, 0]
    assert known[:6].tolist() == [0, 1, 2, 3, 4, 5]
    assert np.isnan(known[6:]).all()  # 8 is yet to come
    assert table.values_known_at(9)[:, 0].tolist() == list(range(9))
