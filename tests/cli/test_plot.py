import json
import sys

import pytest

from failing_command import run_failing_command
from regard.cli.main import main


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    events = [{"kind": "train", "step": step, "loss": 3 - step / 10, "time_s": step} for step in (1, 2, 3)]
    (tmp_path / "run" / "metrics.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    return tmp_path


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("curves.svg", b"<svg"),
        ("curves.html", b"<!doctype html>"),
        ("curves.pdf", b"%PDF"),
        ("curves.png", b"\x89PNG"),
    ],
)
def test_the_suffix_selects_the_format(run, name, start):
    main(["plot", "run", "-o", name, "--x-axis", "hours"])
    assert (run / name).read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (
            ["run", "-o", "curves.gif"],
            "regard: curves.gif has no supported suffix; use a name that ends in .html, .svg, .pdf or .png",
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


def test_characters_without_a_font_are_named(run, capsys):
    name = "\U00016800"  # Bamum, which few fonts have
    (run / "run").rename(run / name)
    main(["plot", name, "-o", "curves.png"])
    note = f"no installed font has {name}; they are boxes. Install a font for them, or write .svg"
    assert capsys.readouterr().err in ("", f"curves.png: {note}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ("plot", "nowhere", "-o", "x.pdf"),
        ("trace", "nowhere", "A text.", "-o", "x.pdf"),
        ("forecast", "nowhere", "waves.csv", "-o", "x.pdf"),
        ("score", "nowhere", "--labelled", "test.tsv", "--confusion-matrix", "x.pdf"),
    ],
)
@pytest.mark.usefixtures("run")
def test_a_missing_matplotlib_is_found_before_the_work(arguments, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    message = run_failing_command(*arguments)
    assert 'x.pdf needs matplotlib: pip install "regard[figures]"; .svg needs nothing' in message
