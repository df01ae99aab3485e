"""What three users type in their first hour: each command works, or one line says what to type instead.

The scripts in `first_hour/` are replayed in the folder of such a user. A line `$ command` is run, `? code` is
the exit code it must have (0 if there is none), `> text` is part of what it must show. `^C` before a command
stands for Ctrl-C after its first step.
"""

import io
import os
import shlex
import shutil
import signal
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest

from regard.cli.main import main
from tiny_models import write_lines

SCRIPTS = sorted((Path(__file__).parent / "first_hour").glob("*.txt"))
TMX = """<?xml version="1.0"?><tmx version="1.4"><header srclang="en" datatype="plaintext" segtype="sentence"
 adminlang="en" o-tmf="x" creationtool="x" creationtoolversion="1"/><body>{}</body></tmx>"""
UNIT = '<tu><tuv xml:lang="en"><seg>{}</seg></tuv><tuv xml:lang="fr"><seg>{}</seg></tuv></tu>'


class Command(NamedTuple):
    """A command of a script, with what is expected of it."""

    text: str
    line: int
    is_interrupted: bool
    code: int
    shown: tuple[str, ...]


def read_script(path: Path) -> list[Command]:
    commands: list[Command] = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        mark, _, rest = line.partition(" ")
        match mark:
            case "$":
                interrupted, text = rest.startswith("^C "), rest.removeprefix("^C ")
                commands.append(Command(text, number, interrupted, 0, ()))
            case "?":
                commands[-1] = commands[-1]._replace(code=int(rest))
            case ">":
                commands[-1] = commands[-1]._replace(shown=(*commands[-1].shown, rest))
            case _:
                assert not line or mark == "#", f"{path.name}:{number}"
    return commands


@pytest.fixture
def home(user_folder):
    """The folder of a user: text files, tables, documents and three trained models."""
    folder = user_folder
    sides = ((folder / f"train.{side}").read_text("utf-8").splitlines() for side in ("en", "fr"))
    pairs = list(zip(*sides, strict=True))
    write_lines(folder / "memory.tmx", [TMX.format("".join(UNIT.format(*pair) for pair in pairs))])
    write_lines(folder / "short.fr", (folder / "train.fr").read_text("utf-8").splitlines()[:-1])
    shutil.copy(folder / "test.fr", folder / "hyp.fr")
    shutil.copytree(folder / "en-fr", folder / "en-fr-2")
    write_lines(folder / "page.html", ["<p>The <b>cat</b> is here.</p>"])
    write_lines(folder / "terms.tsv", ["cat\tchat"])
    (folder / "manual.pdf").write_bytes(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n")
    (folder / "sales.xlsx").write_bytes(b"PK\x03\x04")
    rows = [line.split("\t") for line in (folder / "reviews.tsv").read_text().splitlines()]
    write_lines(folder / "reviews.csv", ["stars,comment", *(f'{label},"{text}"' for label, text in rows)])
    write_lines(folder / "pairs.csv", ["english,french", *(f"{source},{target}" for source, target in pairs)])
    write_lines(folder / "config.yaml", ["train:", "  steps: 100"])
    (folder / "runs").mkdir()
    return folder


def replay(command: Command, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str, str]:
    """Run a command in this process; return its exit code, stdout and stderr."""
    words = shlex.split(command.text)
    assert words[0] == "regard"
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    err = io.StringIO()
    code = 0
    with (
        monkeypatch.context() as patch,
        redirect_stdout(out),
        redirect_stderr(err),
        open(take_redirection(words), encoding="utf-8") as stdin,
    ):
        patch.setattr(sys, "stdin", stdin)
        if command.is_interrupted:
            interrupt_after_first_step(patch)
        try:
            main(words[1:])
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    out.seek(0)
    return code, out.read(), err.getvalue()


def take_redirection(words: list[str]) -> str:
    """Return the name of stdin, which follows `<`; take both out of the command."""
    if "<" not in words:
        return os.devnull
    at = words.index("<")
    name = words[at + 1]
    del words[at : at + 2]
    return name


def interrupt_after_first_step(patch: pytest.MonkeyPatch) -> None:
    from regard.training import loop

    find = loop.find_stop_reason

    def find_and_interrupt(state, *rest):
        if state.step == 1:
            signal.raise_signal(signal.SIGINT)
        return find(state, *rest)

    patch.setattr(loop, "find_stop_reason", find_and_interrupt)


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_first_hour_of_a_user(script, monkeypatch):
    problems = []
    for command in read_script(script):
        code, out, err = replay(command, monkeypatch)
        problems += [
            f"{script.name}:{command.line}: $ {command.text}\n    {each}"
            for each in judge(command, code, out, err)
        ]
    assert not problems, "\n".join(problems)


def judge(command: Command, code: int, out: str, err: str) -> list[str]:
    """Return what is wrong with the answer to a command."""
    shown = out + err
    problems = [f"does not show {text!r}: {shown[-600:]!r}" for text in command.shown if text not in shown]
    if code != command.code:
        problems.append(f"exit code {code}, not {command.code}: {shown[-600:]!r}")
    if "Traceback" in shown or "unexpected " in shown:
        problems.append(f"a traceback: {shown[-600:]!r}")
    if code not in (0, 130):
        lines = err.splitlines()
        if (
            len(lines) > 2
            or not lines[-1].startswith("regard: ")
            or (lines[1:] and not lines[0].startswith("usage: "))
        ):
            problems.append(f"an error of more than the usage and one line: {err!r}")
    return problems


def test_each_script_is_long_enough_and_has_mistakes():
    for script in SCRIPTS:
        commands = read_script(script)
        assert 25 <= len(commands) <= 60
        assert sum(command.code != 0 for command in commands) >= 10
    assert len(SCRIPTS) == 3
