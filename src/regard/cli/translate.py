"""`regard translate`: one line in, one line out."""

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from regard.errors import DataError, RegardError

if TYPE_CHECKING:
    from regard.tasks.translator import Translator

EPILOG = """\
examples
  echo "Jane visits Africa in September." | regard translate runs/demo
  regard translate runs/demo --input new.en --output new.fr
"""


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "translate",
        help="translate text, one line in, one line out",
        description="Translate each line of the input; blank lines stay blank and the order is kept.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", type=Path, help="folder that `regard train` wrote")
    parser.add_argument("--input", metavar="FILE", type=Path, help="text to translate (default: stdin)")
    parser.add_argument("--output", metavar="FILE", type=Path, help="where to write it (default: stdout)")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.set_defaults(run=run_translate)


def run_translate(options: argparse.Namespace) -> None:
    if options.output is not None and not options.output.absolute().parent.is_dir():
        raise RegardError(f"{options.output} cannot be written: its folder does not exist")
    if options.input is None and sys.stdin.isatty():
        return _converse(_load(options))
    lines = _read(options.input)
    translations = _translate(_load(options), lines)
    _write(options.output, "".join(line + "\n" for line in translations))
    return None


def _load(options: argparse.Namespace) -> "Translator":
    from regard.tasks.translator import Translator

    return Translator.load(options.model, options.device)


def _read(path: Path | None) -> list[str]:
    """All lines, so that whatever is wrong with one of them is said before anything is written."""
    from regard.text.corpus import read_lines, split_lines

    if path is None:
        return split_lines(sys.stdin.buffer.read(), "stdin")
    return read_lines(path)


def _translate(translator: "Translator", lines: list[str]) -> list[str]:
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("translating", total=len(lines))
        return translator.translate(lines, lambda done: progress.advance(bar, done))


def _write(path: Path | None, text: str) -> None:
    """To a temporary file that is renamed, so that the output is whole or absent."""
    if path is None:
        sys.stdout.buffer.write(text.encode("utf-8"))
        return
    temporary = path.with_name(f".{path.name}.writing-{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8", newline="\n")
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise RegardError(f"{path} cannot be written: {error.strerror}") from None


def _converse(translator: "Translator") -> None:
    """A person is typing: answer each line as it comes."""
    sys.stderr.write("Type a sentence and press Enter; Ctrl-D ends.\n")
    for line in sys.stdin:
        try:
            sys.stdout.write(translator.translate([line])[0] + "\n")
        except DataError as error:
            sys.stderr.write(f"regard: {error}\n")
        sys.stdout.flush()
