import json
import os

import pytest

from regard.errors import DataError
from regard.server.explorer.metrics_tail import MetricsTail, downsample_rows
from regard.server.explorer.training_runs import (
    TrainingRun,
    list_run_names,
    load_comparison_runs,
    training_routes,
)
from server.http_client import run_server


def train(step, **facts):
    return {"kind": "train", "step": step, "loss": 2.0, "target_tokens": 10, **facts}


def write(path, *rows, tail=""):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + tail)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "metrics.jsonl"


def test_a_run_without_metrics_has_no_rows(path):
    assert MetricsTail(path).rows_since(0) == {"rows": [], "next": 0, "from": 0}


def test_only_new_complete_lines_are_returned(path):
    write(path, train(1), train(2), tail='{"kind": "tr')
    metrics = MetricsTail(path)
    first = metrics.rows_since(0)
    assert [row["step"] for row in first["rows"]] == [1, 2]
    with path.open("a") as file:
        file.write('ain", "step": 3, "target_tokens": 5}\nno json\n[1]\n')
    then = metrics.rows_since(first["next"])
    assert [(row["step"], row["tokens"]) for row in then["rows"]] == [(3, 25)]
    assert then["next"] == 3
    assert metrics.rows_since(3)["rows"] == []


@pytest.mark.parametrize("offset", [-1, 99])
def test_an_invalid_offset_means_the_start(path, offset):
    write(path, train(1), train(2))
    assert [row["step"] for row in MetricsTail(path).rows_since(offset)["rows"]] == [1, 2]


def test_a_replaced_file_is_read_again(path):
    write(path, train(1), train(2), train(3))
    metrics = MetricsTail(path)
    assert metrics.rows_since(0)["next"] == 3
    new = path.with_suffix(".new")
    write(new, train(1), train(2, loss=1.0))
    os.replace(new, path)
    again = metrics.rows_since(3)
    assert [(row["step"], row["tokens"]) for row in again["rows"]] == [(1, 10), (2, 20)]
    assert again["from"] == 0


def test_metrics_are_downsampled_separately_and_keep_their_extremes():
    rows = [train(step, loss=2 + step % 7, grad_norm=1.0, lr=step / 1e6) for step in range(20_000)]
    rows[777]["loss"], rows[15_000]["grad_norm"], rows[9_999]["loss"] = 50.0, 99.0, None
    rows.insert(300, {"kind": "valid", "step": 299, "loss": 1.5})
    rows_kept = downsample_rows(rows)
    for name in ("loss", "grad_norm", "lr"):
        series = [row[name] for row in rows_kept if row["kind"] == "train" and name in row]
        assert 0 < len(series) <= 600
    assert [row["step"] for row in rows_kept if row.get("loss") == 50] == [777]
    assert [row["step"] for row in rows_kept if row.get("grad_norm") == 99] == [15_000]
    assert [row["step"] for row in rows_kept if row.get("loss", 0) is None] == [9_999]
    assert {"kind": "valid", "step": 299, "loss": 1.5} in rows_kept
    assert [row["step"] for row in rows_kept] == sorted(row["step"] for row in rows_kept)


def test_few_rows_are_not_downsampled():
    rows = [train(step) for step in range(600)]
    assert downsample_rows(rows) == rows


def make_run(folder, **data):
    folder.mkdir(parents=True)
    (folder / "metrics.jsonl").write_text(json.dumps({"kind": "train", "step": 1, "target_tokens": 7}) + "\n")
    if data:
        (folder / "data.json").write_text(json.dumps(data))
    return TrainingRun(folder)


def request_metrics(run, since):
    """Return what the page gets, through the server."""
    with run_server(training_routes([run])) as client:
        response = client(f"/api/runs/{run.id}/metrics?since={since}")
    assert response.status == 200
    return response.json


def test_the_data_summary_is_sent_with_the_first_rows(tmp_path):
    lengths = {"source": {"bins": [0, 1], "counts": [2, 3]}}
    run = make_run(tmp_path / "a", train={"pairs": 5, "left_out": {"copy": 1}, "longest": 9}, lengths=lengths)
    first = request_metrics(run, "0")
    assert first["data"] == {"train": {"pairs": 5, "left_out": {"copy": 1}}, "lengths": lengths}
    assert [row["tokens"] for row in first["rows"]] == [7]
    assert request_metrics(run, str(first["next"])) == {"rows": [], "next": 1, "from": 1, "data": None}


@pytest.mark.parametrize("data", [{}, {"train": 3, "lengths": {}}, {"lengths": {}}])
def test_a_run_without_data_summary_has_rows(tmp_path, data):
    response = request_metrics(make_run(tmp_path / "a", **data), "0")
    assert response["data"] is None
    assert len(response["rows"]) == 1


def test_runs_with_the_same_name_show_their_paths(tmp_path):
    runs = [make_run(tmp_path / name) for name in ("x/a", "y/a", "b")]
    assert [each["name"] for each in list_run_names(runs)] == [
        str(tmp_path / "x/a"),
        str(tmp_path / "y/a"),
        "b",
    ]
    assert len({each["id"] for each in list_run_names(runs)}) == 3


def test_comparing_with_a_folder_that_is_not_a_run_is_an_error(tmp_path):
    run = make_run(tmp_path / "a")
    assert [each.folder for each in load_comparison_runs([run.folder])] == [run.folder]
    with pytest.raises(DataError, match="none is not a run to compare with"):
        load_comparison_runs([run.folder, tmp_path / "none"])


FOREIGN_ROWS = [
    b'{"kind": "train", "step": 2, "loss": NaN, "lr": Infinity, "target_tokens": 1e400}',
    b'{"kind": "train", "step": 3, "loss": "high", "target_tokens": -5}',
    b'{"kind": "train", "step": [3], "loss": {"a": 1}, "target_tokens": "7"}',
    b'{"kind": ["train"], "step": "4"}',
    b'{"kind": "valid", "step": null, "samples": 3}',
    b'{"kind": "valid", "step": 5, "best": true, "samples": [null, 3, {"source": 4}]}',
    b'{"kind": "valid", "step": 6, "samples": {"source": "a"}}',
    b'{"kind": "valid", "step": 7, "note": "\\ud800", "\\udfff": 1}',
    b'{"kind": "train", "step": 9223372036854775807, "target_tokens": 9223372036854775807}',
    b'{"kind": "train", "step": 8, "loss": ' + b"9" * 400 + b"}",
    b'{"kind": "x", "deep": ' + b"[" * 900 + b"]" * 900 + b"}",
    b'{"kind": "train", "kind": "valid", "step": 9}',
    b'"a text"',
    b"[]",
    b"\xff\xfe",
    b'{"kind": "train", "st',
    b"",
]


@pytest.mark.parametrize("repeated", [1, 700])
def test_foreign_rows_are_no_internal_error(tmp_path, repeated):
    run = make_run(tmp_path / "a", train={"pairs": 1, "left_out": "\ud800"}, lengths=[1])
    with (run.folder / "metrics.jsonl").open("ab") as file:
        file.write(
            b"\n".join(FOREIGN_ROWS * repeated) + b'\n{"kind": "train", "step": 10, "loss": 1}\n{"half'
        )
    response = request_metrics(run, "0")
    assert repeated > 1 or response["rows"][0]["step"] == 1
    assert [row["loss"] for row in response["rows"] if row.get("step") == 10] == [1]
    assert {row["tokens"] for row in response["rows"]} == {7}
    assert {row["note"] for row in response["rows"] if row.get("step") == 7} == {"?"}
    assert run.sample_source == ""
    assert response["data"] == {"train": {"pairs": 1, "left_out": "?"}, "lengths": [1]}
    assert run.checkpoint_summary("sha256:0") == {"checkpoints": [], "mean": False}
