"""The scripts that complete commands, run in the shells themselves where they are installed."""

import shutil
import subprocess

import pytest

from regard.cli.main import main
from regard.cli.verbs.completion import SHELLS

needs_bash, needs_fish, needs_zsh = (
    pytest.mark.skipif(shutil.which(shell) is None, reason=f"there is no {shell}")
    for shell in ("bash", "fish", "zsh")
)


@pytest.fixture
def script(tmp_path, capsys):
    """Write the script of a shell to a file and return its path."""

    def write(shell):
        main(["completion", shell])
        path = tmp_path / f"regard.{shell}"
        path.write_text(capsys.readouterr().out)
        return path

    return write


def complete_in_bash(path, *words):
    count = len(words) - 1
    program = f'source {path}; COMP_WORDS=("$@"); COMP_CWORD={count}; _regard; echo "${{COMPREPLY[*]}}"'
    result = subprocess.run(
        ["bash", "-c", program, "bash", *words], capture_output=True, text=True, check=True
    )
    assert result.stderr == ""
    return result.stdout.split()


@needs_bash
@pytest.mark.parametrize(
    ("words", "completions"),
    [
        (("regard", "tra"), ["train", "translate", "trace"]),
        (("regard", "translate", "--engi"), ["--engine"]),
        (("regard", "translate", "run", "--engine", ""), ["auto", "torch", "ctranslate2"]),
        (("regard", "train", "--preset", "b"), ["base", "big"]),
        (("regard", "completion", ""), [*SHELLS]),
        (("regard", "translate", "run", "--input", ""), []),
        (("regard", "translate", ""), []),
    ],
)
def test_bash_completes_verbs_flags_and_values_and_leaves_files_to_the_shell(script, words, completions):
    assert complete_in_bash(script("bash"), *words) == completions


@needs_fish
def test_fish_completes_flags_and_values(script):
    program = f'source {script("fish")}; complete -C "regard translate x --engine "'
    result = subprocess.run(
        ["fish", "--no-config", "-c", program], capture_output=True, text=True, check=True
    )
    assert [line.split("\t")[0] for line in result.stdout.splitlines()] == ["auto", "ctranslate2", "torch"]


@needs_zsh
def test_zsh_accepts_its_script(script, tmp_path):
    program = (
        f"autoload -Uz compinit; compinit -u -d {tmp_path}/dump; source {script('zsh')}; whence -w _regard"
    )
    result = subprocess.run(["zsh", "-f", "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "_regard: function"


@pytest.mark.parametrize("shell", SHELLS)
def test_every_script_has_every_verb_and_flag(script, shell):
    text = script(shell).read_text()
    assert all(word in text for word in ("verify-resume", "explore", "glossary", "preset", "ctranslate2"))
