"""No output of any command replaces an input, a model, a run or another output."""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from failing_command import run_failing_command
from regard.cli.args.help_format import flag_name
from regard.cli.args.number_args import NumberArgument
from regard.cli.args.path_args import PathArgument, path_actions
from regard.cli.main import _build_parser, main

VERBS: dict[str, argparse.ArgumentParser] = next(
    action.choices for action in _build_parser()._actions if isinstance(action, argparse._SubParsersAction)
)
TEXT_ARGUMENTS = {
    *(
        "format",
        "seeds",
        "column",
        "columns",
        "time",
        "source_language",
        "target_language",
        "prefix",
        "require",
        "forbid",
        "target",
        "verb",
    ),
    *("ablate_head", "uniform_head", "skip_sublayer", "mask_source", "head"),
    *(
        "memory",
        "set",
        "host",
        "public_url",
        "expires",
        "name",
        "text_column",
        "label_column",
        "source_column",
        "target_column",
        "metrics",
        "comet_python",
    ),
}
"""Arguments with a text that is no path; `--text` is a sentence, `text` of `regard trace` may be a table."""
NAMES = {"score --confusion-matrix": "f.svg", "plot --out": "f.svg", "forecast --out": "f.csv"}
"""Names that have a suffix which the output accepts; a check of the suffix may come before or after."""


def arguments(verb, role):
    return [action for action in path_actions(VERBS[verb]) if action.type.role == role]


def option(action):
    return flag_name(action) if action.option_strings else action.dest


OUTPUTS = [(verb, option(action)) for verb in VERBS for action in arguments(verb, "output")]
PAIRS = [
    (verb, option(output), option(given))
    for verb in VERBS
    for output in arguments(verb, "output")
    for given in arguments(verb, "input")
    if given.dest not in output.type.may_replace
]


SPELLINGS = ("absolute", "dotted", "hard link", "linked folder")


def command(verb, **values):
    """Return a command line with these paths, and other ones for its required positional arguments."""
    words = [verb]
    for action in VERBS[verb]._actions:
        value = values.get(option(action))
        if action.option_strings:
            words += [] if value is None else [option(action), str(value)]
            if value is None and action.required:
                words += [option(action), "other.svg"]
        elif value is not None:
            words.append(str(value))
        elif action.nargs not in ("?", "*"):
            words.append("other")
    return words


def files_below(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(folder):
    """A run with a model and a checkpoint, as far as a path can tell."""
    for model in ("run/model", "run/step-000100", "run/mean"):
        (folder / model).mkdir(parents=True)
        for name in ("manifest.json", "config.toml", "model.safetensors", "tokenizer.json"):
            (folder / model / name).write_text(f"{model} {name}")
    for name in ("config.toml", "metrics.jsonl", "data.json", ".lock"):
        (folder / "run" / name).write_text(name)
    (folder / "run/model/.ctranslate2/int8").mkdir(parents=True)
    (folder / "run/model/.ctranslate2/int8/model.bin").write_text("converted")
    return folder / "run"


@pytest.mark.parametrize("verb", VERBS)
def test_every_path_argument_is_declared_as_input_or_output(verb):
    undeclared = [
        option(action)
        for action in VERBS[verb]._actions
        if action.nargs != 0
        and not action.choices
        and not isinstance(action.type, PathArgument)
        and not isinstance(action.type, NumberArgument)
        and action.dest not in TEXT_ARGUMENTS
        and not (verb in ("explore", "translate", "classify") and action.dest == "text")
    ]
    assert undeclared == []


def test_the_outputs_of_all_commands_are_known():
    assert len(OUTPUTS) >= 8
    assert ("translate", "--report") in OUTPUTS
    assert {verb for verb in VERBS if arguments(verb, "run folder")} == {"train", "demo"}


@pytest.mark.parametrize(
    ("verb", "output", "given", "spelling"),
    [
        *((*pair, spelling) for pair in PAIRS for spelling in ("same", "link")),
        *(("translate", "--out", "--glossary", spelling) for spelling in SPELLINGS),
    ],
)
def test_an_output_that_is_an_input_is_refused(folder, verb, output, given, spelling):
    name = NAMES.get(f"{verb} {output}", "f.json")
    (folder / "data").mkdir()
    path = folder / "data" / name
    path.write_text("an input of the user")
    match spelling:
        case "same":
            other = Path("data") / name
        case "absolute":
            other = path
        case "dotted":
            other = Path("data/../data") / name
        case "link":
            other = Path(f"link-{name}")
            other.symlink_to(path)
        case "hard link":
            other = Path(f"hard-{name}")
            os.link(path, other)
        case _:
            (folder / "linked").symlink_to("data")
            other = Path("linked") / name
    message = run_failing_command(*command(verb, **{given: Path("data") / name, output: other}))
    title = (
        given
        if given.startswith("-")
        else next(action.metavar for action in VERBS[verb]._actions if action.dest == given)
    )
    assert message == (
        f"regard: {output} {other} would replace {title} data/{name}; give another name to one of them"
    )
    assert path.read_text() == "an input of the user"


@pytest.mark.parametrize(("verb", "output"), OUTPUTS)
@pytest.mark.parametrize(
    "name",
    [
        *("model/model.safetensors", "model/config.toml", "model/new", "step-000100/tokenizer.json"),
        *("mean/manifest.json", "model/.ctranslate2/int8/model.bin"),
        *("config.toml", "metrics.jsonl", "data.json", ".lock", "METRICS.jsonl", "tensorboard/events"),
    ],
)
def test_an_output_that_is_a_file_of_a_model_or_run_is_refused(folder, run, verb, output, name):
    (run / name).parent.mkdir(exist_ok=True)
    before = files_below(folder)
    message = run_failing_command(*command(verb, **{output: f"run/{name}"}))
    assert message.startswith(f"regard: {output} run/{name} belongs to the model or run {run}")
    assert files_below(folder) == before


@pytest.mark.parametrize(("verb", "output", "given"), PAIRS)
def test_a_hard_link_to_the_weights_of_an_input_is_refused(folder, run, verb, output, given):
    os.link(run / "model/model.safetensors", folder / "weights")
    for model in ("run", "run/model"):
        message = run_failing_command(*command(verb, **{output: "weights", given: model}))
        assert message.startswith(f"regard: {output} weights is a link to a file of ")


@pytest.mark.parametrize(("verb", "output"), OUTPUTS)
def test_an_output_in_a_folder_that_does_not_exist_is_refused(folder, verb, output):
    (folder / "there").mkdir()
    assert "cannot be written" in run_failing_command(*command(verb, **{output: "no/out.svg"}))
    if (verb, output) == ("serve", "--data"):  # which is a folder
        return
    assert "cannot be written: it is a folder" in run_failing_command(*command(verb, **{output: "there"}))


def test_two_outputs_with_one_name_are_refused(folder):
    (folder / "link").symlink_to("new")
    for first, second in (("new", "new"), ("new", "./new"), ("new", "link"), ("new", "NEW")):
        message = run_failing_command("translate", "m", "--output", first, "--report", second)
        assert message == (
            f"regard: --report {Path(second)} is also --out new; give one of them another name"
        )


@pytest.mark.parametrize("redirection", ["--input a >> a", "< a >> a", "--input a 1<> a", "--output a < a"])
def test_stdout_or_stdin_that_is_the_other_side_is_refused(folder, redirection):
    (folder / "a").write_text("the cat\n")
    code = f"{sys.executable} -m regard translate m {redirection}"
    answer = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert answer.returncode == 1
    assert " would replace " in answer.stderr
    assert (folder / "a").read_text() == "the cat\n"


def test_a_device_may_be_input_and_output():
    assert "m does not exist" in run_failing_command(
        "translate", "m", "--input", "/dev/null", "--output", "/dev/null", "--report", "/dev/null"
    )


def test_an_output_beside_the_files_of_a_run_is_replaced(run):
    (run / "metrics.jsonl").write_text('{"kind": "train", "step": 1, "loss": 2.0, "time_s": 1.0}\n')
    (run / "curves.svg").write_text("an earlier one")
    main(["plot", "run", "-o", "run/curves.svg"])
    assert (run / "curves.svg").read_text().startswith("<svg")


def test_a_training_into_a_folder_of_inputs_or_a_model_is_refused(folder, run):
    shutil.copytree(run, "b")
    (run / "mine.en").write_text("the cat\n")
    before = files_below(folder)
    for flag, path in (("--source", "run/mine.en"), ("--from", "run/model"), ("--from", "run")):
        message = run_failing_command("train", flag, path, "--out", "run")
        assert message == (
            f"regard: {flag} {path} is in the run folder run, which the training writes to; move it, or "
            "choose another --out"
        )
    for out in ("run/model", "run/model/new", "run/step-000100", "run/tensorboard"):
        message = run_failing_command("train", "--from", "b", "--out", out)
        assert message.startswith(f"regard: --out {out} belongs to the model or run {run}")
    assert files_below(folder) == before


def test_an_input_in_the_run_folder_that_a_run_file_names_is_refused(folder):
    (folder / "run").mkdir()
    settings = '[data]\nsource = ["run/en"]\ntarget = ["run/en"]\nbatch_tokens = 100\n[model]\nd_model = 16\n'
    (folder / "run/config.toml").write_text(settings)
    (folder / "run/en").write_text("the cat\n")
    message = run_failing_command("train", "--config", "run/config.toml", "--out", "run")
    assert message.startswith("regard: data.source run/en is in the run folder run")
