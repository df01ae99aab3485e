import json

import pytest

from regard.cli.main import main


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    events = [{"kind": "train", "step": step, "loss": 3 - step / 10, "time_s": step} for step in (1, 2, 3)]
    (tmp_path / "run" / "metrics.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    return tmp_path


@pytest.mark.parametrize(("name", "start"), [("curves.svg", b"<svg"), ("curves.html", b"<!doctype html>")])
def test_the_suffix_selects_svg_or_html(run, name, start):
    main(["plot", "run", "-o", name, "--x-axis", "hours"])
    assert (run / name).read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (
            ["run", "-o", "curves.png"],
            "regard: curves.png has no supported suffix; use a name that ends in .svg or .html",
        ),
        (["run", "-o", "no/curves.svg"], "is not a writable folder"),
        (
            ["nowhere", "-o", "curves.svg"],
            "regard: nowhere does not exist; give a folder that `regard train --out` wrote",
        ),
    ],
)
@pytest.mark.usefixtures("run")
def test_an_invalid_output_name_is_one_error_line(arguments, output, capsys):
    with pytest.raises(SystemExit):
        main(["plot", *arguments])
    (line,) = capsys.readouterr().err.splitlines()
    assert output in line
