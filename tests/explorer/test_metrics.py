import json
import os

import pytest

from regard.explorer.metrics import Metrics, thinned


def train(step, **facts):
    return {"kind": "train", "step": step, "loss": 2.0, "target_tokens": 10, **facts}


def write(path, *rows, tail=""):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + tail)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "metrics.jsonl"


def test_a_run_without_metrics_yet_has_no_rows(path):
    assert Metrics(path).since(0) == {"rows": [], "next": 0, "from": 0}


def test_only_what_is_new_comes_and_half_a_line_waits(path):
    write(path, train(1), train(2), tail='{"kind": "tr')
    metrics = Metrics(path)
    first = metrics.since(0)
    assert [row["step"] for row in first["rows"]] == [1, 2]
    with path.open("a") as file:
        file.write('ain", "step": 3, "target_tokens": 5}\nno json\n[1]\n')
    then = metrics.since(first["next"])
    assert [(row["step"], row["tokens"]) for row in then["rows"]] == [(3, 25)]
    assert then["next"] == 3
    assert metrics.since(3)["rows"] == []


@pytest.mark.parametrize("place", [-1, 99])
def test_a_place_that_is_none_is_the_beginning(path, place):
    write(path, train(1), train(2))
    assert [row["step"] for row in Metrics(path).since(place)["rows"]] == [1, 2]


def test_a_training_that_was_resumed_is_read_anew(path):
    write(path, train(1), train(2), train(3))
    metrics = Metrics(path)
    assert metrics.since(0)["next"] == 3
    new = path.with_suffix(".new")
    write(new, train(1), train(2, loss=1.0))
    os.replace(new, path)
    again = metrics.since(3)
    assert [(row["step"], row["tokens"]) for row in again["rows"]] == [(1, 10), (2, 20)]
    assert again["from"] == 0


def test_many_rows_are_thinned_series_by_series_and_keep_their_peaks():
    rows = [train(step, loss=2 + step % 7, grad_norm=1.0, lr=step / 1e6) for step in range(20_000)]
    rows[777]["loss"], rows[15_000]["grad_norm"], rows[9_999]["loss"] = 50.0, 99.0, None
    rows.insert(300, {"kind": "valid", "step": 299, "loss": 1.5})
    found = thinned(rows)
    for name in ("loss", "grad_norm", "lr"):
        series = [row[name] for row in found if row["kind"] == "train" and name in row]
        assert 0 < len(series) <= 600
    assert [row["step"] for row in found if row.get("loss") == 50] == [777]
    assert [row["step"] for row in found if row.get("grad_norm") == 99] == [15_000]
    assert [row["step"] for row in found if row.get("loss", 0) is None] == [9_999]
    assert {"kind": "valid", "step": 299, "loss": 1.5} in found
    assert [row["step"] for row in found] == sorted(row["step"] for row in found)


def test_few_rows_come_as_they_are():
    rows = [train(step) for step in range(600)]
    assert thinned(rows) == rows
