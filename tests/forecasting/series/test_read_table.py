import gzip

import numpy as np
import pytest

from regard.errors import DataError
from regard.forecasting.series.read_table import read_series_table

HOURS = ["2024-02-28 22:00:00", "2024-02-28 23:00:00", "2024-02-29 00:00:00", "2024-02-29 01:00:00"]


def write_table(folder, rows, header="date,a,b", name="table.csv"):
    path = folder / name
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def hourly(values):
    return [f"{time},{value}" for time, value in zip(HOURS, values, strict=True)]


def test_a_table_has_values_times_and_column_names(tmp_path):
    table = read_series_table(write_table(tmp_path, hourly(["1,2", "3,4.5", "-1e3,0", "7,8"])))
    assert table.columns == ("a", "b")
    assert table.time_column == "date"
    assert table.values.tolist() == [[1, 2], [3, 4.5], [-1000, 0], [7, 8]]
    assert table.time_axis.format_times(table.times) == HOURS
    assert table.time_axis.format_times(table.future_times(2)) == [
        "2024-02-29 02:00:00",
        "2024-02-29 03:00:00",
    ]
    assert table.line_numbers.tolist() == [2, 3, 4, 5]
    assert table.notes == ()


def test_a_compressed_file_reads_the_same(tmp_path):
    plain = write_table(tmp_path, hourly(["1,2", "3,4", "5,6", "7,8"]))
    compressed = tmp_path / "table.csv.gz"
    compressed.write_bytes(gzip.compress(plain.read_bytes()))
    assert (read_series_table(compressed).values == read_series_table(plain).values).all()


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        ("a;when;b", ["1,5;{};2", "3;{};4", "5;{};6", "7;{};8"]),
        ("a;when;b", ["1,500;{};2", "3;{};4", "5;{};6", "7;{};8"]),
        ("a\twhen\tb", ["1.5\t{}\t2", "3\t{}\t4", "5\t{}\t6", "7\t{}\t8"]),
        ('"a", "when", "b"', ['"1.5","{}",2', "3,{},4", "5,{},6", "7,{},8"]),
    ],
)
def test_delimiter_decimal_comma_and_time_column_are_detected(tmp_path, header, rows):
    table = read_series_table(
        write_table(tmp_path, [row.format(t) for row, t in zip(rows, HOURS, strict=True)], header)
    )
    assert table.time_column == "when"
    assert table.values.tolist() == [[1.5, 2], [3, 4], [5, 6], [7, 8]]


def test_columns_and_time_can_be_named(tmp_path):
    rows = [f"{time},{time},x,{number}" for number, time in enumerate(HOURS)]
    table = read_series_table(
        write_table(tmp_path, rows, "date,other,station,load"), time_column="other", columns=["load"]
    )
    assert (table.time_column, table.columns) == ("other", ("load",))


@pytest.mark.parametrize(
    ("rows", "header", "message"),
    [
        (hourly(["1,2", "3,high", "5,6", "7,8"]), "date,a,b", "line 3 has 'high' in column 'b'"),
        (hourly(["1,2", "3,inf", "5,6", "7,8"]), "date,a,b", "line 3 has 'inf' in column 'b'"),
        (hourly(["1,2", "3", "5,6", "7,8"]), "date,a,b", "line 3 has 2 cells and the header 3"),
        (hourly(["1,2", "3,4", "5,6", "7,8"]), "date,a,a", "two columns 'a'"),
        (["x,1", "y,2", "z,3"], "date,a", "'x' is not a time"),
        (["1,1", "2,2", "3,3"], "b,a", "no column that looks like time"),
        ([",1", "2024-01-02,2", "2024-01-03,3"], "date,a", "line 2 has no time in column 'date'"),
        (["2024-01-01", "2024-01-02", "2024-01-03"], "date", "no column beside 'date'"),
        ([], "date,a", "has no rows"),
        (["2024-01-01,1", "2024-01-02,2"], "date,a", "has 2 rows"),
        (hourly(["1,2", '3,"1,250"', "5,6", "7,8"]), "date,a,b", "line 3 has '1,250'.*; write it as 1250"),
        (hourly(["1,2", '3,"4', "5,6", "7,8"]), "date,a,b", "line 3 has '4.{0,40}' in column 'b', which"),
        (
            hourly(["1,2", "3,1e308", "5,6", "7,8"]),
            "date,a,b",
            "line 3 has '1e308' in column 'b', which is beyond",
        ),
        (
            hourly(["1,2", "3,-" + 400 * "9", "5,6", "7,8"]),
            "date,a,b",
            "line 3 has '-9{39}' in column 'b', which is",
        ),
        (hourly(["1,2", "3,-inf", "5,6", "7,8"]), "date,a,b", "line 3 has '-inf' .* is not a number"),
        (hourly(["1,2", "3,1 250", "5,6", "7,8"]), "date,a,b", "line 3 has '1 250' .* is not a number"),
        (
            [f"{time};{value}" for time, value in zip(HOURS, ["980.5", "1,250", "7", "8"], strict=True)],
            "date;a",
            "'a' has a decimal comma in line 3 and a point in line 2",
        ),
        (hourly(["1,2", "3,4", "5,6", "7,8"])[1:], hourly(["1,2", "", "", ""])[0], "line 1 holds values"),
        (["1,1.5", "2,3", "3,4"], "0,0.5", "line 1 holds values, '0,0.5', and would be lost as the header"),
        (hourly(["1,2", '3,"4', "5,6", "7," + 200_000 * "8"]), "date,a,b", "line 3 cannot be read as CSV"),
        (["\r".join(hourly(["1,2", "3,4", "5,6", "7,8"]))], "date,a,b", "line 2 cannot be read as CSV"),
        (["2024-01-01,1", "2024-01-02,2", "2024-01-03,3", "2094-01-04,4"], "date,a", "ends in line 5"),
    ],
)
def test_an_unreadable_table_is_refused_with_line_and_column(tmp_path, rows, header, message):
    with pytest.raises(DataError, match=message):
        read_series_table(write_table(tmp_path, rows, header))


def test_a_missing_column_is_reported_with_the_existing_ones(tmp_path):
    path = write_table(tmp_path, hourly(["1,2", "3,4", "5,6", "7,8"]))
    with pytest.raises(DataError, match="no column 'load'; it has date, a, b"):
        read_series_table(path, columns=["load"])
    with pytest.raises(DataError, match="no column 'when'"):
        read_series_table(path, time_column="when")


def test_missing_values_are_counted_and_short_gaps_interpolated(tmp_path):
    rows = [f"2024-01-{day:02},{value}" for day, value in enumerate(["1", "", "3", "NA", "nan", "?", "7"], 1)]
    table = read_series_table(write_table(tmp_path, rows, "date,a"), longest_gap=2)
    assert np.array_equal(table.values[:, 0], [1, 2, 3, np.nan, np.nan, np.nan, 7], equal_nan=True)
    assert table.notes == ("a: 4 values are missing (lines 3, 5, 6, 7): 1 interpolated, 3 left out",)


def test_invalid_utf8_is_refused_with_its_line(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b"date,a\n2024-01-01,1\n2024-01-02,\xff\n")
    with pytest.raises(DataError, match="line 3 is not UTF-8"):
        read_series_table(path)


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr("regard.forecasting.series.read_table.importlib.import_module", missing)
    path = tmp_path / "table.parquet"
    path.write_bytes(b"PAR1")
    with pytest.raises(DataError, match=r"needs pyarrow: pip install"):
        read_series_table(path)


class FakeParquet:
    """The part of pyarrow.parquet that is used."""

    def __init__(self, columns):
        self.columns = columns

    def read_table(self, path):
        if not path.exists():
            raise FileNotFoundError(path)
        return self

    def to_pydict(self):
        return self.columns


def parquet_columns(plain):
    return {"date": plain.times.tolist(), "a": [1, None, 5, 7], "b": [2.0, 4.5, 6.0, 8.0]}


def test_parquet_reads_as_csv_does(tmp_path, monkeypatch):
    plain = read_series_table(write_table(tmp_path, hourly(["1,2", ",4.5", "5,6", "7,8"])))
    path = tmp_path / "table.parquet"
    fake = FakeParquet(parquet_columns(plain))
    monkeypatch.setattr("regard.forecasting.series.read_table.importlib.import_module", lambda _: fake)
    with pytest.raises(DataError, match="table.parquet does not exist"):
        read_series_table(path)
    path.write_bytes(b"PAR1")
    table = read_series_table(path)
    assert (table.values == plain.values).all()
    assert (table.times == plain.times).all()
    assert "line 2" in table.notes[0]


def test_files_written_by_pyarrow_read_as_csv_does(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    plain = read_series_table(write_table(tmp_path, hourly(["1,2", ",4.5", "5,6", "7,8"])))
    path = tmp_path / "table.parquet"
    parquet.write_table(arrow.table(parquet_columns(plain)), path)
    table = read_series_table(path)
    assert (table.values == plain.values).all()
    assert (table.times == plain.times).all()


@pytest.mark.parametrize("header", ["date,2020,2021", ",0,1"])
def test_a_header_may_have_numbers_as_names(tmp_path, header):
    rows = [f"{time},{number},{number}" for number, time in enumerate(HOURS)]
    assert len(read_series_table(write_table(tmp_path, rows, header))) == len(HOURS)
