"""A metrics.jsonl or data.json that is not what regard writes is drawn without it, or ends with one line."""

import json
from random import Random

import pytest

from regard.cli.main import main

VALUES = (
    *("null", "true", "-1", "0", "1e308", "5e-324", "NaN", "-Infinity", "1e999", "1" + "0" * 400, "1" * 5000),
    *('"x"', '""', '"\\ud800"', "[]", "{}", "[[]]", "[1, 2]", '{"a": 1}', "[" * 20_000, '{"a":' * 20_000),
)
ROWS = [
    {"kind": "run", "task": "translation", "device": "cpu", "steps": 10, "loss_floor": 0.1},
    *(
        {"kind": "train", "step": step, "loss": 2.0 / step, "time_s": step, "target_tokens": 9}
        for step in (1, 2)
    ),
    {"kind": "valid", "step": 2, "loss": 2.0, "bleu": 3.0, "best": True, "time_s": 1.0, "samples": []},
    {"kind": "mean", "step": 2, "loss": 1.0, "averaged": 2},
]
SAMPLE = {"source": "a", "reference": "b", "hypothesis": "c"}
REPORT = {
    "train": {"pairs": 1, "left_out": {"long": 1}},
    "ratio": 1.5,
    "vocabulary": {"size": 10, "used": 9, "byte_share": 0.1},
}


def replace_value(document, random):
    """Return a document as JSON with one value, at any depth, replaced by text that may not be JSON."""
    place, key = document, random.choice(list(document))
    while isinstance(place[key], dict) and place[key] and random.random() < 0.6:
        place, key = place[key], random.choice(list(place[key]))
    place[key] = "@"
    return json.dumps(document).replace('"@"', random.choice(VALUES), 1)


@pytest.mark.parametrize("count", [100, pytest.param(2000, marks=pytest.mark.slow)])
def test_damaged_records_of_a_run_end_with_at_most_one_line(tmp_path, capsys, count):
    random, codes = Random(count), []
    for _ in range(count):
        rows = json.loads(json.dumps(ROWS))
        rows[3]["samples"] = [SAMPLE]
        number = random.randrange(len(rows))
        lines = [json.dumps(row) for row in rows]
        lines[number] = replace_value(rows[number], random)
        (tmp_path / "metrics.jsonl").write_text("\n".join(lines) + "\n")
        (tmp_path / "data.json").write_text(replace_value(json.loads(json.dumps(REPORT)), random))
        try:
            main(["plot", str(tmp_path), "-o", str(tmp_path / random.choice(("a.svg", "a.html")))])
            codes.append(0)
        except SystemExit as stop:
            codes.append(stop.code)
        stderr = capsys.readouterr().err
        assert "unexpected" not in stderr, lines[number]
        assert stderr.count("\n") <= 1
    assert {*codes} <= {0, 1}
    assert codes.count(0) > count / 4
