import json

import pytest

from regard.errors import DataError
from regard.explorer.reply import Request
from regard.explorer.run import Run
from regard.explorer.training import compared, named, training_routes


def make_run(folder, **data):
    folder.mkdir(parents=True)
    (folder / "metrics.jsonl").write_text(json.dumps({"kind": "train", "step": 1, "target_tokens": 7}) + "\n")
    if data:
        (folder / "data.json").write_text(json.dumps(data))
    return Run(folder)


def asked(run, since):
    route = training_routes([run])[f"/api/runs/{run.id}/metrics"]["GET"]
    return json.loads(route(Request(query={"since": since})).body)


def test_what_a_run_learns_from_comes_once(tmp_path):
    lengths = {"source": {"bins": [0, 1], "counts": [2, 3]}}
    run = make_run(tmp_path / "a", train={"pairs": 5, "left_out": {"copy": 1}, "longest": 9}, lengths=lengths)
    first = asked(run, "0")
    assert first["data"] == {"train": {"pairs": 5, "left_out": {"copy": 1}}, "lengths": lengths}
    assert [row["tokens"] for row in first["rows"]] == [7]
    assert asked(run, str(first["next"])) == {"rows": [], "next": 1, "from": 1, "data": None}


@pytest.mark.parametrize("data", [{}, {"train": 3, "lengths": {}}, {"lengths": {}}])
def test_a_run_that_does_not_say_has_rows_all_the_same(tmp_path, data):
    answer = asked(make_run(tmp_path / "a", **data), "0")
    assert answer["data"] is None
    assert len(answer["rows"]) == 1


def test_runs_of_one_name_are_told_apart_by_their_paths(tmp_path):
    runs = [make_run(tmp_path / name) for name in ("x/a", "y/a", "b")]
    assert [each["name"] for each in named(runs)] == [str(tmp_path / "x/a"), str(tmp_path / "y/a"), "b"]
    assert len({each["id"] for each in named(runs)}) == 3


def test_what_is_no_run_cannot_be_compared_with(tmp_path):
    run = make_run(tmp_path / "a")
    assert [each.folder for each in compared([run.folder])] == [run.folder]
    with pytest.raises(DataError, match="none is no run to compare with"):
        compared([run.folder, tmp_path / "none"])
