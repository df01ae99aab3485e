"""docs/command-line.md and docs/install.md say what the program does."""

import argparse
import re
import tomllib
from pathlib import Path

import pytest

from regard.cli.main import EPILOG, _build_parser, main

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/command-line.md").read_text("utf-8")
INSTALL = (ROOT / "docs/install.md").read_text("utf-8")
VERBS: dict[str, argparse.ArgumentParser] = next(
    action.choices for action in _build_parser()._actions if isinstance(action, argparse._SubParsersAction)
)


def test_the_exit_codes_of_the_page_are_those_of_the_help():
    listed = re.findall(r"^\| (\d+) \| (.*?)(?::.*)? \|$", PAGE, re.MULTILINE)
    helped = re.findall(r"^  (\d+) +(.*?)(?::.*)?$", EPILOG, re.MULTILINE)
    assert listed == helped
    assert [code for code, _ in listed] == ["0", "1", "2", "3", "4", "129", "130", "143"]


def test_the_page_names_every_verb_with_json():
    table = PAGE[PAGE.index("| verb |") : PAGE.index("`completion` and `help`")]
    rows = re.findall(r"^\| (.*?) \|", table, re.MULTILINE)[2:]
    named = {name for row in rows for name in re.findall(r"`([\w-]+)`", row)}
    with_json = {verb for verb, parser in VERBS.items() if "--json" in parser._option_string_actions}
    assert named == with_json
    assert set(VERBS) - with_json <= {"completion", "help"}


def test_the_answers_to_wrong_arguments_are_the_ones_shown(capsys):
    examples = re.findall(r"^\$ regard (.*)\n(.*)\n(.*)$", PAGE, re.MULTILINE)
    assert len(examples) == 2
    for command, usage, message in examples:
        with pytest.raises(SystemExit) as stop:
            main(command.split())
        assert stop.value.code == 2
        assert capsys.readouterr().err == f"{usage}\n{message}\n"


def test_the_install_page_names_every_extra():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert set(re.findall(r"^\| `(\w+)` \|", INSTALL, re.MULTILINE)) == set(project["optional-dependencies"])
    assert project["requires-python"] == ">=3.11,<3.14"
    assert "Python 3.11 to 3.13" in INSTALL
