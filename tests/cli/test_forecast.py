import json
import re

import pytest
from rich.console import Console

from failing_command import run_failing_command
from regard.cli.main import main
from regard.forecasting.task import train_forecasting
from synthetic_series import small_forecast_run, write_wave_series

SETTINGS = (
    "model.d_model=16 model.heads=2 model.d_ff=16 model.encoder_layers=1 model.history=48 model.patch=12 "
    "model.stride=12 data.batch_windows=32 compute.device=cpu"
)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    run = small_forecast_run(write_wave_series(folder / "waves.csv"), steps=20)
    train_forecasting(run, folder / "run", Console(quiet=True))
    return folder


@pytest.fixture
def workdir(trained, monkeypatch):
    monkeypatch.chdir(trained)
    return trained


def test_a_table_alone_is_enough_to_configure_train_and_forecast(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_wave_series(tmp_path / "waves.csv")
    main(["train", "--series", "waves.csv", "--out", "run", "--horizon", "12", "--columns", "load",
          "--set", "train.steps=4", "--set", "compute.device=cpu"])  # fmt: skip
    output = capsys.readouterr().out
    assert "auto    240 training rows of 1 series, step 1 hour, season 24 steps: a tiny model" in output
    assert "forecast with: " in output
    main(["train", "--series", "waves.csv", "--out", "run", "--horizon", "12", "--columns", "load",
          "--set", "train.steps=4", "--set", "compute.device=cpu"])  # fmt: skip
    assert "auto    settings from the start of run" in capsys.readouterr().out
    main(["forecast", "run", "waves.csv", "--device", "cpu"])
    rows = capsys.readouterr().out.splitlines()
    assert rows[0] == "date,load,load q0.025,load q0.1,load q0.5,load q0.9,load q0.975"
    assert len(rows) == 13
    assert rows[1].startswith("2024-01-13 12:00:00,")


@pytest.mark.parametrize(
    ("name", "start"),
    [("f.csv", "date,load,"), ("f.json", "{"), ("f.svg", "<svg"), ("f.html", "<!doctype html>")],
)
def test_the_suffix_selects_the_forecast_format(workdir, name, start):
    main(["forecast", "run", "waves.csv", "-o", name, "--horizon", "6", "--device", "cpu"])
    text = (workdir / name).read_text("utf-8")
    assert text.startswith(start)
    if name.endswith(("svg", "html")):
        assert text.count("<svg") >= 2  # a panel for each series
        assert "80% and 95% prediction intervals" in text
        assert "2024-01-13" in text
        assert "nan" not in text


@pytest.mark.parametrize(("name", "start"), [("f.pdf", b"%PDF"), ("f.png", b"\x89PNG")])
def test_a_forecast_is_drawn_by_matplotlib(workdir, name, start):
    main(["forecast", "run", "waves.csv", "-o", name, "--horizon", "6", "--device", "cpu"])
    assert (workdir / name).read_bytes().startswith(start)


@pytest.mark.usefixtures("workdir")
def test_a_forecaster_is_scored_with_baselines(capsys):
    main(["score", "run", "--series", "waves.csv"])
    output = capsys.readouterr().out
    assert "38 windows of 12 steps" in output
    for name in ("regard", "linear", "season of 24", "last value"):
        assert re.search(rf"^{name} +\d\.\d+ +\d\.\d+$", output, re.MULTILINE)
    assert re.search(r"^load +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+$", output, re.MULTILINE)
    assert re.search(r"intervals: 95% holds [\d.]+%, 80% holds [\d.]+% of the actual values", output)


@pytest.mark.usefixtures("workdir")
def test_backtest_json_has_standardised_and_own_units(capsys):
    main(["score", "run", "--series", "waves.csv", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["windows"] == 38
    assert found["standardised"]["last value"]["mse"] > found["standardised"]["linear"]["mse"]
    assert (
        found["own_units"]["load"]["last value"]["mae"] > 5 * found["own_units"]["heat"]["last value"]["mae"]
    )
    assert found["coverage"].keys() == {"0.95", "0.8"}


def test_check_series_reports_statistics_and_repairs(tmp_path, capsys):
    path = write_wave_series(tmp_path / "waves.csv", rows=40)
    main(["check", "--series", str(path)])
    output = capsys.readouterr().out
    assert "40 rows, 1 hour apart, 2024-01-01 00:00:00 to 2024-01-02 15:00:00" in output
    assert "no defects found" in output
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:5], lines[7], *lines[8:20], "2024-01-01 20:00:00,,1"]) + "\n")
    main(["check", "--series", str(path), "-o", str(tmp_path / "found.json")])
    assert "3 steps have no row (after lines 5, 18)" in capsys.readouterr().out
    assert json.loads((tmp_path / "found.json").read_text())["rows"] == 21
    assert "has rows that need repair" in run_failing_command("check", "--series", path, "--strict")
    assert "--source is for text" in run_failing_command(
        "check", "--series", path, "--source", "a", "--target", "b"
    )


@pytest.mark.fault
@pytest.mark.usefixtures("workdir")
def test_a_killed_and_resumed_forecasting_run_is_equal(capsys):
    options = [f"--set={setting}" for setting in SETTINGS.split()]
    main(["verify-resume", "--series", "waves.csv", "--horizon", "12", "--steps", "30", *options])
    output = capsys.readouterr().out
    assert "losses     30 of 30 equal" in output
    assert "equals the uninterrupted one, bit for bit" in output


@pytest.mark.fault
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "when,load\nMonday,1\nTuesday,2\n",
            "no column that looks like time; a training names it with --time (data.time): when, load",
        ),
        ("date,load\n2024-01-01,1\n2024-01-02,x\n", "line 3 has 'x' in column 'load', which is not a number"),
        ("date,load\n2024-01-01,1\n2024-01-02,2\n", "bad.csv has 2 rows; a series needs at least 3"),
        (
            "date,load\nnow,1\nlater,2\nnever,3\n",
            "bad.csv column 'date': 'now' is not a time in a known format",
        ),
        ("date\n2024-01-01\n", "bad.csv has no column beside 'date'; there is nothing to forecast"),
    ],
)
def test_a_bad_table_is_one_error_line_and_leaves_nothing(tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.csv").write_text(text)
    assert message in run_failing_command("train", "--series", "bad.csv", "--out", "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["train", "--series", "waves.csv", "--columns", "lode", "--out", "new"],
            "has no column 'lode'; it has",
        ),
        (
            ["train", "--series", "waves.csv", "--time", "when", "--out", "new"],
            "has no column 'when'; it has",
        ),
        (["train", "--series", "waves.csv", "--horizon", "500", "--out", "new"], "does not fit"),
        (["train", "--series", "waves.csv", "--source", "a", "--out", "new"], "--series is for forecasting"),
        (
            ["train", "--series", "waves.csv", "--preset", "tiny", "--out", "new"],
            "--preset tiny is for translation",
        ),
        (["train", "--series", "waves.csv", "--strict", "--out", "new"], "--strict is for texts"),
        (["train", "--series", "none.csv", "--out", "new"], "none.csv does not exist"),
        (["forecast", "run", "waves.csv", "-o", "f.gif"], "f.gif has no supported suffix"),
        (["forecast", "run", "waves.csv", "--horizon", "0"], "--horizon = 0 cannot work"),
        (["forecast", "run", "none.csv"], "none.csv does not exist"),
        (["forecast", "none", "waves.csv"], "none does not exist; give the folder"),
        (["score", "run", "--source", "a"], "or --series FILE"),
        (["score", "run", "--series", "waves.csv", "--reference", "a"], "--reference is for translations"),
        (["score", "run", "--labelled", "a.tsv", "--series", "waves.csv"], "--series is for a forecaster"),
        (["check", "--series", "waves.csv", "--labelled", "a.tsv"], "--labelled is for text"),
        (["score", "--series", "waves.csv"], "there is no model; give the forecaster"),
    ],
)
def test_invalid_forecast_arguments_are_one_error_line(workdir, arguments, message):
    assert message in run_failing_command(*arguments)
    assert not (workdir / "new").exists()
