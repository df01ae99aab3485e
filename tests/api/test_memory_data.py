"""Training data in memory: what they become in the run folder, and what is refused."""

import json
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas
import polars
import pyarrow
import pytest

from regard.api.memory_data import split_memory_data, write_memory_data
from regard.errors import ConfigError, DataError
from regard.text.pair_formats.pair_files import PairFiles
from regard.text.pair_formats.units import PairOptions

ROWS = [("one", "un"), ("two", "deux")]
SOURCE, TARGET = (list(side) for side in zip(*ROWS, strict=True))
COLUMNS = {"source": SOURCE, "target": TARGET}


def split(tmp_path, **arguments):
    return split_memory_data(arguments, tmp_path)


def read_rows(data, name):
    return [tuple(json.loads(line).values()) for line in data.files[name].split("\n")[:-1]]


@pytest.mark.parametrize(
    "arguments",
    [
        {"source": SOURCE, "target": TARGET},
        {"source": tuple(SOURCE), "target": TARGET},
        {"source": pandas.Series(SOURCE), "target": polars.Series(TARGET)},
        {"source": np.array(SOURCE), "target": TARGET},
        {"pairs": ROWS},
        {"pairs": COLUMNS},
        {"pairs": pandas.DataFrame(COLUMNS)},
        {"pairs": pandas.DataFrame({"en": SOURCE, "fr": TARGET})},
        {"pairs": polars.DataFrame({"id": [1, 2], **COLUMNS})},
        {"pairs": polars.LazyFrame(COLUMNS)},
        {"pairs": pyarrow.table(COLUMNS)},
        {"pairs": [{"source": a, "target": b, "id": 3} for a, b in ROWS]},
    ],
)
@pytest.mark.parametrize("prefix", ["", "valid_"])
def test_pairs_in_memory_become_a_file_of_pairs(tmp_path, arguments, prefix):
    name = f"{prefix}pairs.jsonl"
    data = split(tmp_path, **{f"{prefix}{argument}": value for argument, value in arguments.items()})
    assert read_rows(data, name) == ROWS
    path = str(tmp_path / "data" / name)
    assert data.arguments == {f"{prefix}pairs": path if prefix else [path]}


STRUCTS = [{"fr": b, "en": a} for a, b in ROWS]
EN_FR = {"source_language": "en", "target_language": "fr"}


@pytest.mark.parametrize(
    "arguments",
    [
        {"pairs": pandas.DataFrame({"fr": TARGET, "en": SOURCE}), **EN_FR},
        {"pairs": pandas.DataFrame({"id": [1, 2], "fr": TARGET, "en": SOURCE}), "target_language": "fr"},
        {"pairs": [{"id": 1, "translation": struct} for struct in STRUCTS], **EN_FR},
        {"pairs": pyarrow.table({"translation": STRUCTS}), **EN_FR},
        {"pairs": pandas.DataFrame({"translation": STRUCTS}), "source_language": "en"},
        {
            "pairs": pandas.DataFrame({"n": [1, 2], "q": SOURCE, "a": TARGET}),
            "source_column": "q",
            "target_column": "a",
        },
    ],
)
def test_columns_and_languages_choose_the_sides_in_memory(tmp_path, arguments):
    data = split(tmp_path, **arguments)
    assert read_rows(data, "pairs.jsonl") == ROWS
    (tmp_path / "data").mkdir()
    write_memory_data(data, tmp_path)
    options = PairOptions(*(arguments.get(field.name) for field in fields(PairOptions)))
    read = PairFiles(tmp_path / "data" / "pairs.jsonl", None, options).read_rows()
    assert list(read) == [(a.encode(), b.encode()) for a, b in ROWS]


def test_an_unclear_direction_in_memory_is_asked_for(tmp_path):
    with pytest.raises(DataError, match="pairs has texts in fr and en; say which are translated into which"):
        split(tmp_path, pairs=[{"translation": struct} for struct in STRUCTS])


def test_an_iterator_is_read_once(tmp_path):
    data = split(tmp_path, source=iter(SOURCE), target=(text for text in TARGET))
    assert read_rows(data, "pairs.jsonl") == ROWS
    data = split(tmp_path, pairs=zip(SOURCE, TARGET, strict=True))
    assert read_rows(data, "pairs.jsonl") == ROWS


def test_files_stay_files(tmp_path):
    files = {"source": "a.en", "target": Path("a.fr"), "pairs": [Path("a.tsv"), Path("b.jsonl")]}
    data = split(tmp_path, **files, valid_pairs="v.tsv")
    assert (data.files, data.arguments) == ({}, {**files, "valid_pairs": "v.tsv"})


def test_files_and_data_of_pairs_go_together(tmp_path):
    data = split(tmp_path, source=SOURCE, target=TARGET, pairs=Path("more.tsv"))
    assert data.arguments == {"pairs": ["more.tsv", str(tmp_path / "data/pairs.jsonl")]}


@pytest.mark.parametrize(
    "arguments",
    [
        {"texts": SOURCE, "labels": TARGET},
        {"texts": SOURCE, "labels": pandas.Series(TARGET, dtype="category")},
        {"texts": list(np.array(SOURCE)), "labels": np.array(TARGET)},
        {"labelled": pandas.DataFrame({"label": TARGET, "text": SOURCE})},
        {"labelled": polars.DataFrame({"review": SOURCE, "id": [1, 2], "sentiment": TARGET})},
        {"labelled": [{"text": a, "label": b} for a, b in ROWS]},
    ],
)
def test_labelled_texts_in_memory_become_a_file_of_both(tmp_path, arguments):
    data = split(tmp_path, **arguments)
    assert read_rows(data, "labelled.jsonl") == ROWS
    assert data.arguments == {"labelled": [str(tmp_path / "data/labelled.jsonl")]}


def test_columns_of_labelled_texts_are_named(tmp_path):
    frame = pandas.DataFrame({"a": SOURCE, "b": TARGET, "c": [1, 2]})
    data = split(tmp_path, labelled=frame, text_column="b", label_column="c")
    assert data.files["labelled.jsonl"].splitlines()[0] == '{"b": "un", "c": "1"}'
    with pytest.raises(DataError, match="name the one with the texts with text_column"):
        split(tmp_path, labelled=frame)


def test_labels_may_be_whole_numbers_of_numpy(tmp_path):
    data = split(tmp_path, texts=SOURCE, labels=[np.int64(3), np.int8(4)])
    assert read_rows(data, "labelled.jsonl") == [("one", "3"), ("two", "4")]


def test_a_text_is_one_line(tmp_path):
    data = split(tmp_path, source=["a\r\nb\n"], target=["c\u2028d"])
    assert read_rows(data, "pairs.jsonl") == [("a b ", "c\u2028d")]


TIMES = [datetime(2024, 1, day, 12) for day in (1, 2, 3)]
LOADS = [0.1, None, 3.0]
SERIES = "time,load\n2024-01-01 12:00:00,0.1\n2024-01-02 12:00:00,\n2024-01-03 12:00:00,3.0\n"


@pytest.mark.parametrize(
    "series",
    [
        {"time": TIMES, "load": LOADS},
        pandas.DataFrame({"time": TIMES, "load": LOADS}),
        pandas.DataFrame({"load": LOADS}, index=pandas.DatetimeIndex(TIMES)),
        pandas.Series(LOADS, pandas.DatetimeIndex(TIMES), name="load"),
        polars.DataFrame({"time": TIMES, "load": LOADS}),
        pyarrow.table({"time": TIMES, "load": LOADS}),
    ],
)
def test_a_table_of_series_becomes_csv(tmp_path, series):
    data = split(tmp_path, series=series)
    assert data.files == {"series.csv": SERIES}
    is_indexed = getattr(series, "index", None) is not None and len(getattr(series, "columns", [0])) == 1
    time = {"time": "time"} if is_indexed else {}
    assert data.arguments == {"series": str(tmp_path / "data/series.csv"), **time}


def test_an_index_of_times_is_the_time_column_beside_a_column_that_could_be_one(tmp_path):
    frame = pandas.DataFrame({"month": [1, 2, 3], "the  load": LOADS}, pandas.DatetimeIndex(TIMES, name="at"))
    data = split(tmp_path, series=frame, columns=["the  load"])
    assert data.files["series.csv"].splitlines()[0] == "at,month,the load"
    assert (data.arguments["time"], data.arguments["columns"]) == ("at", ["the load"])


def test_times_of_a_series_keep_their_zone_and_fraction(tmp_path):
    times = [datetime(2024, 1, 1, 0, 0, 0, micro, UTC) for micro in (0, 500_000)]
    data = split(tmp_path, series={"time": times, "load": [1, 2]})
    assert "2024-01-01 00:00:00.000000+00:00,1\n2024-01-01 00:00:00.500000" in data.files["series.csv"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"source": SOURCE, "target": TARGET[:1]}, "source has 2 texts and target 1; they go together"),
        ({"source": SOURCE}, "source needs target"),
        ({"target": TARGET}, "target needs source"),
        ({"source": SOURCE, "target": "a.fr"}, "source and target must both be files, or both lists"),
        ({"source": [], "target": []}, "source has no texts"),
        ({"source": ["a", None], "target": TARGET}, "source is missing in row 1"),
        ({"source": ["a", float("nan")], "target": TARGET}, "source is missing in row 1"),
        ({"texts": SOURCE, "labels": [1, 0.5]}, "labels is float, not text in row 1"),
        ({"texts": ["a", "\ud800"], "labels": [1, 2]}, "texts in row 1 has a lone surrogate"),
        ({"pairs": {"a": SOURCE, "b": TARGET, "c": TARGET}}, "pairs has the columns 'a', 'b', 'c'"),
        ({"pairs": [("a", "b", "c")]}, "pairs must be files, a table or a list of mappings"),
        ({"labelled": ROWS}, "labelled must be files, a table or a list of mappings"),
        ({"valid_pairs": "v.tsv", "valid_source": ["a"], "valid_target": ["b"]}, "takes the place of"),
        ({"series": {"time": TIMES, "load": [1]}}, "columns of the table differ in length: time 3, load 1"),
        ({"series": {"time": TIMES, "load": LOADS}, "columns": ["heat"]}, "series has no column 'heat'"),
    ],
)
def test_data_that_cannot_be_used_are_refused(tmp_path, arguments, message):
    with pytest.raises((ConfigError, DataError), match=message):
        split(tmp_path, **arguments)


def test_a_list_of_file_names_is_not_taken_for_texts(tmp_path):
    (tmp_path / "a.en").write_text("one\n")
    with pytest.raises(ConfigError, match=r"but each is the name of a file; for files give pathlib\.Path"):
        split(tmp_path, source=[str(tmp_path / "a.en")], target=["a"])


def test_data_of_an_existing_run_must_be_the_same(tmp_path):
    data = split(tmp_path, source=SOURCE, target=TARGET)
    (tmp_path / "data").mkdir()
    write_memory_data(data, tmp_path)
    (tmp_path / "config.toml").write_text("")
    write_memory_data(data, tmp_path)
    with pytest.raises(DataError, match="source and target: these are not the data"):
        write_memory_data(split(tmp_path, source=SOURCE, target=SOURCE), tmp_path)
    assert (tmp_path / "data/pairs.jsonl").read_text() == data.files["pairs.jsonl"]
