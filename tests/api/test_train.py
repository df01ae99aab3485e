"""`regard.train`: one call from data to a model, resumed by the same call, refused in the words of Python."""

import ast
import inspect
import sys
from pathlib import Path

import pandas
import pytest

import regard
from regard.api import train_options
from regard.checkpoint import WEIGHTS_FILE, file_sha256
from regard.cli.main import _build_parser, main
from regard.errors import ConfigError, DataError, RegardError
from regard.training.run_folder import lock_run_folder, make_run_folder
from small_training import (
    CLASSIFICATION,
    CLASSIFICATION_SETTINGS,
    FORECASTING,
    SOURCE,
    TARGET,
    TRANSLATION,
    TRANSLATION_SETTINGS,
    WAVE,
)

NOT_FROM_PYTHON = {"help", "debug", "compare_to_paper", "seeds", "set", "json", "quiet", "verbose"}
"""Flags of `regard train` that `regard.train` has not: `settings` stands for --set."""
RENAMED = {"model": "start"}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def weights(out: str, step: int = 4) -> str:
    return file_sha256(Path(out) / f"step-{step:06}" / WEIGHTS_FILE)


def test_a_translation_model_is_trained_from_lists(capsys):
    translator = regard.train(out="run", steps=4, **TRANSLATION)
    assert isinstance(translator, regard.Translator)
    assert len(translator.translate(["the cat 3 sleeps"])) == 1
    assert "4 steps" in capsys.readouterr().out


def test_a_classifier_is_trained_from_a_table(capsys):
    frame = pandas.DataFrame({"label": CLASSIFICATION["labels"], "text": CLASSIFICATION["texts"]})
    classifier = regard.train(
        out="run", steps=4, labelled=frame, settings=CLASSIFICATION_SETTINGS, progress=False
    )
    assert isinstance(classifier, regard.Classifier)
    assert set(classifier.labels) == {"animal", "colour", "number"}
    assert capsys.readouterr().out == ""


def test_a_forecaster_is_trained_from_a_table():
    frame = pandas.DataFrame({"load": WAVE["load"]}, index=pandas.DatetimeIndex(WAVE["date"]))
    forecaster = regard.train(out="run", steps=4, **{**FORECASTING, "series": frame}, progress=False)
    assert isinstance(forecaster, regard.Forecaster)
    assert len(forecaster.forecast("run/data/series.csv").times) == 12


def test_files_and_lists_train_the_same_model():
    Path("en").write_text("".join(f"{text}\n" for text in SOURCE))
    Path("fr").write_text("".join(f"{text}\n" for text in TARGET))
    regard.train(out="lists", steps=4, **TRANSLATION, progress=False)
    files = {**TRANSLATION, "source": "en", "target": Path("fr")}
    regard.train(out="files", steps=4, **files, progress=False)
    flags = [f"--set={name}={value}" for name, value in TRANSLATION_SETTINGS.items()]
    main(["train", "--source", "en", "--target", "fr", "--out", "command", "--steps", "4", *flags])
    assert weights("lists") == weights("files") == weights("command")


def test_a_finished_run_returns_its_model_and_can_be_made_longer(capsys):
    for data in (TRANSLATION, TRANSLATION, {}):
        assert isinstance(regard.train(out="run", steps=4, **data), regard.Translator)
    assert capsys.readouterr().out.count("run is finished") == 2
    regard.train(out="run", steps=6, progress=False)
    regard.train(out="at once", steps=6, **TRANSLATION, progress=False)
    assert weights("run", 6) == weights("at once", 6)


def test_the_command_line_continues_a_run_from_memory():
    regard.train(out="run", steps=2, **TRANSLATION, progress=False)
    main(["train", "--out", "run", "--steps", "4"])
    regard.train(out="python", steps=4, **TRANSLATION, progress=False)
    assert weights("run") == weights("python")


def test_a_run_from_memory_continues_from_another_folder(tmp_path, monkeypatch):
    regard.train(out="run", steps=2, **TRANSLATION, progress=False)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    regard.train(out="../run", steps=4, progress=False)
    regard.train(out=tmp_path / "run", steps=6, **TRANSLATION, progress=False)
    assert Path("../run/step-000006").is_dir()


def test_other_data_are_not_written_over_those_of_a_training_that_prepares():
    """Two calls with one `out`: the first holds its data before it has written its settings."""
    Path("run").mkdir()
    make_run_folder(Path("run/data"))
    with lock_run_folder(Path("run/data")):
        Path("run/data/pairs.jsonl").write_text("")
        with pytest.raises(RegardError, match="run/data is in use by another process; wait until it has"):
            regard.train(out="run", steps=2, **TRANSLATION, progress=False)
        assert Path("run/data/pairs.jsonl").read_text() == ""


def test_other_data_for_the_same_run_are_refused():
    regard.train(out="run", steps=2, **TRANSLATION, progress=False)
    before = Path("run/data/pairs.jsonl").read_bytes()
    with pytest.raises(
        DataError, match="source and target: these are not the data that run was started with"
    ):
        regard.train(out="run", steps=4, **{**TRANSLATION, "target": SOURCE}, progress=False)
    assert Path("run/data/pairs.jsonl").read_bytes() == before


def test_a_run_that_fails_before_it_starts_leaves_nothing_behind():
    Path("other").mkdir()
    for out in ("run", "other"):
        with pytest.raises(ConfigError, match=r"train\.stops is not a setting"):
            regard.train(out=out, **{**TRANSLATION, "settings": {"train.stops": 1}}, progress=False)
    assert [path.name for path in Path().rglob("*")] == ["other"]


def test_a_folder_of_data_alone_is_a_run_that_was_killed_early():
    Path("run/data").mkdir(parents=True)
    Path("run/data/pairs.jsonl").write_text('{"source": "cut')
    regard.train(out="run", steps=2, **TRANSLATION, progress=False)
    Path("own/data").mkdir(parents=True)
    Path("own/data/notes.txt").write_text("mine")
    with pytest.raises(RegardError, match="own is not empty and holds no run; choose another out"):
        regard.train(out="own", steps=2, **TRANSLATION, progress=False)


@pytest.mark.usefixtures("no_shape_check")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "there is nothing to train on; give source and target, or pairs, or set them under"),
        ({"series": WAVE, "source": "en"}, "is for"),
        ({"source": "missing.en", "target": "missing.fr"}, "missing.en does not exist"),
        ({"preset": "tiny", "series": WAVE}, "preset tiny is for translation, but the task is forecasting"),
        ({"preset": "tiny", "start": "base"}, "preset tiny conflicts with start"),
        ({**TRANSLATION, "settings": {"steps": 3}}, "settings: 'steps' is not section.key"),
        ({**TRANSLATION, "steps": "3"}, "train.steps = '3' cannot work; it must be a whole number"),
        ({"source": 5, "target": 5}, "source must be a file, a list of files, or data"),
        ({**TRANSLATION, "start": ["a", "b"]}, "start must be one file, and 2 are given"),
    ],
)
def test_errors_name_the_arguments(arguments, message):
    with pytest.raises(RegardError, match=message) as error:
        regard.train(out="run", **arguments, progress=False)
    assert "--" not in str(error.value)
    assert not Path("run").exists()


def test_the_types_of_each_task_name_arguments_that_exist():
    """An overload for each kind of data, so that a type checker knows what `train` returns."""
    module = ast.parse(Path(sys.modules["regard.api.train"].__file__).read_text("utf-8"))
    overloads = [
        node
        for node in module.body
        if isinstance(node, ast.FunctionDef) and [ast.unparse(each) for each in node.decorator_list]
    ]
    assert len(overloads) == 6
    typed = set()
    for function in overloads:
        options = getattr(train_options, function.args.kwarg.annotation.slice.id).__annotations__
        named = {argument.arg for argument in function.args.kwonlyargs}
        assert not named & options.keys()
        typed |= named | options.keys()
    assert typed == set(inspect.signature(regard.train).parameters)


def test_every_flag_of_the_command_is_an_argument():
    parser = _build_parser()._subparsers._group_actions[0].choices["train"]
    flags = {action.dest for action in parser._actions if action.option_strings}
    arguments = {RENAMED.get(flag, flag) for flag in flags - NOT_FROM_PYTHON}
    assert arguments <= set(inspect.signature(regard.train).parameters)
