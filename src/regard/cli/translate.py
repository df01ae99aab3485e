"""`regard translate`: one line in, one line out."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.output import refuse_unwritable, write_output
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
    if options.output is not None:
        refuse_unwritable(options.output)
    if options.input is None and sys.stdin is None:
        raise RegardError("there is no stdin to read; give --input FILE")
    if options.input is None and sys.stdin.isatty():
        _converse(_load(options))
        return
    lines = _read(options.input)
    translations = _translate(_load(options), lines)
    content = "".join(line + "\n" for line in translations).encode("utf-8")
    if options.output is None:
        sys.stdout.buffer.write(content)
    else:
        write_output(options.output, content)


def _load(options: argparse.Namespace) -> "Translator":
    from regard.tasks.translator import Translator

    return Translator.load(options.model, options.device)


def _read(path: Path | None) -> list[str]:
    """All lines, so that whatever is wrong with one of them is said before anything is written."""
    from regard.text.corpus import read_bytes, split_lines

    if path is None:
        return split_lines(sys.stdin.buffer.read(), "stdin")
    return split_lines(read_bytes(path), str(path))


def _translate(translator: "Translator", lines: list[str]) -> list[str]:
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("translating", total=len(lines))
        return translator.translate(lines, lambda done: progress.advance(bar, done))


def _converse(translator: "Translator") -> None:
    """A person is typing: answer each line as it comes."""
    from regard.text.corpus import as_text

    sys.stderr.write("Type a sentence and press Enter; Ctrl-D ends.\n")
    for number, line in enumerate(sys.stdin.buffer, start=1):
        try:
            answer = translator.translate([as_text(line.removesuffix(b"\n"), "stdin", number)])[0]
        except DataError as error:
            sys.stderr.write(f"regard: {error}\n")
        else:
            sys.stdout.buffer.write(answer.encode("utf-8") + b"\n")
            sys.stdout.buffer.flush()
