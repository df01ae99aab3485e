"""What means the same in every verb: --json, --quiet, --verbose, -o, and examples in the help."""

import argparse
import json
import re
import shlex
import shutil

import pytest

from regard.cli.main import _build_parser, main
from regard.cli.output import format_json
from regard.demo.phrasebook.corpus import phrasebook
from regard.server.operations.key_file import KeyFile

VERBS: dict[str, argparse.ArgumentParser] = next(
    action.choices for action in _build_parser()._actions if isinstance(action, argparse._SubParsersAction)
)
TRAIN = "train --source train.en --target train.fr --preset tiny --steps 1 --set data.bleu_pairs=2"
COMMANDS = {
    "check": "check --source train.en --target train.fr",
    "train": f"{TRAIN} -o run",
    "plot": "plot en-fr -o curves.svg",
    "verify-resume": "verify-resume --source train.en --target train.fr --preset tiny",
    "translate": "translate en-fr new.en",
    "classify": "classify reviews new.txt",
    "forecast": "forecast sales sales.csv",
    "score": "score en-fr --source test.en --reference test.fr",
    "look": 'look en-fr "the cat is here"',
    "explore": "explore en-fr --no-browser",
    "serve": "serve en-fr --port 0",
    "keys": "keys list",
    "trace": 'trace en-fr "the cat is here" -o -',
    "info": "info en-fr",
    "list": "list",
    "demo": "demo -o en-fr",
}
"""A command of each verb with a result; `completion` and `help` print a text that is not for programs."""
WITHOUT_RESULT = {"completion", "help"}


@pytest.fixture
def folder(user_folder, monkeypatch):
    """The files and models of a user; what takes long is replaced."""

    book = phrasebook(train=0, valid=0, test=8)
    monkeypatch.setattr("regard.demo.phrasebook.corpus.phrasebook", lambda **_: book)

    KeyFile(user_folder / "keys.sqlite", create=True).add("team")
    monkeypatch.setattr("regard.server.web.web_server.WebServer.serve", lambda *_, **__: None)
    server = "regard.server.translation_server.run_translation_server"
    monkeypatch.setattr(server, lambda *_, on_ready, **__: on_ready())
    verb = "regard.cli.verbs.verify_resume."
    monkeypatch.setattr(verb + "_start_training", lambda *_: None)
    monkeypatch.setattr(verb + "_wait_for_success", lambda _: None)
    monkeypatch.setattr(verb + "_train_and_kill", lambda *_: 15)
    same = {"steps": 30, "equal_losses": 30, "sha256": {"weights": ["a", "a"]}, "equal": True}
    monkeypatch.setattr(verb + "compare_runs", lambda *_: same)
    return user_folder


def run(capsysbinary, command, *flags):
    """Run a command that succeeds; return its stdout and stderr."""
    capsysbinary.readouterr()
    main([*shlex.split(command), *flags])
    output = capsysbinary.readouterr()
    return output.out.decode("utf-8"), output.err.decode("utf-8")


def test_every_verb_has_a_command_here():
    assert set(COMMANDS) == set(VERBS) - WITHOUT_RESULT


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("verb", COMMANDS)
def test_json_is_one_document_or_one_per_line_and_alone_on_stdout(capsysbinary, verb):
    out, _ = run(capsysbinary, COMMANDS[verb], "--json")
    if verb in ("translate", "classify", "list"):
        documents = [json.loads(line) for line in out.splitlines()]
        assert len(documents) == (3 if verb == "list" else 2)
    else:
        documents = [json.loads(out)]
    assert all(isinstance(each, dict) and each for each in documents)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("verb", COMMANDS)
def test_a_quiet_command_says_nothing_but_its_result(capsysbinary, verb):
    loud, _ = run(capsysbinary, COMMANDS[verb])
    shutil.rmtree("run", ignore_errors=True)
    out, error = run(capsysbinary, COMMANDS[verb], "--quiet")
    assert error == ""
    if verb in ("train", "demo", "verify-resume"):  # whose result is a folder or the exit code
        assert out == ""
    elif verb not in ("explore", "serve", "trace"):  # a port, and times
        assert out == loud


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("verb", COMMANDS)
def test_a_verbose_command_tells_versions_arguments_and_time(capsysbinary, verb):
    _, error = run(capsysbinary, COMMANDS[verb], "-v")
    lines = error.splitlines()
    assert re.match(r"  regard \S+, Python \S+, ", lines[0])
    assert lines[1].startswith(f"  {verb}: ")
    assert re.match(r"  [\d.]+ s, ", lines[-1])


@pytest.mark.parametrize("verb", VERBS)
def test_quiet_and_verbose_exclude_each_other(capsys, verb):
    with pytest.raises(SystemExit) as stop:
        main([verb, "-q", "-v"])
    assert stop.value.code == 2
    assert "not allowed with" in capsys.readouterr().err


@pytest.mark.parametrize("verb", VERBS)
def test_an_output_has_the_same_names_in_every_verb(verb):
    outputs = [
        action.option_strings
        for action in VERBS[verb]._actions
        if {"-o", "--out", "--output"} & set(action.option_strings)
    ]
    assert outputs in ([], [["-o", "--out", "--output"]])
    written = {"check", "train", "plot", "translate", "classify", "forecast", "score", "trace", "demo"}
    assert bool(outputs) == (verb in written)


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_has_examples_that_can_be_parsed(verb):
    epilog = VERBS[verb].epilog or ""
    lines = re.sub(r" *\\\n *", " ", epilog).splitlines()
    examples = [line.strip() for line in lines if re.match(r" +regard ", line)]
    assert examples
    for line in examples:
        words = shlex.split(re.split(r"(?<!^) {2,}", line)[0])
        end = next((i for i, word in enumerate(words) if word[0] in "<>|"), len(words))
        assert _build_parser().parse_args(words[1:end]).run, line


@pytest.mark.parametrize("width", [50, 80])
@pytest.mark.parametrize("verb", [None, *VERBS])
def test_the_help_fits_the_terminal(monkeypatch, capsys, verb, width):
    monkeypatch.setenv("COLUMNS", str(width))
    with pytest.raises(SystemExit) as stop:
        main(["--help"] if verb is None else [verb, "--help"])
    assert stop.value.code == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if len(line) > width and not line.startswith("usage: ")] == []


def test_numbers_that_are_not_finite_are_null():
    document = {"a": [1.5, float("nan"), float("inf")], "b": ({"c": float("-inf")},), "d": "nan"}
    assert json.loads(format_json(document)) == {"a": [1.5, None, None], "b": [{"c": None}], "d": "nan"}
