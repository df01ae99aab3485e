"""`regard translate`: one line in, one line out."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.output import refuse_unwritable, write_output
from regard.cli.translator import add_search, load, translate
from regard.errors import DataError, RegardError

if TYPE_CHECKING:
    from regard.tasks.translator import Translator

EPILOG = """\
examples
  echo "Jane visits Africa in September." | regard translate runs/demo
  regard translate runs/demo --input new.en.gz --output new.fr
  regard translate runs/demo --beam 1 < new.en
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
    parser.add_argument(
        "--input",
        metavar="FILE",
        type=Path,
        help="text to translate: plain, .gz, .xz or .zst (default: stdin)",
    )
    parser.add_argument("--output", metavar="FILE", type=Path, help="where to write it (default: stdout)")
    add_search(parser)
    parser.set_defaults(run=run_translate)


def run_translate(options: argparse.Namespace) -> None:
    if options.output is not None:
        refuse_unwritable(options.output)
    if options.input is None and sys.stdin is None:
        raise RegardError("there is no stdin to read; give --input FILE")
    if options.input is None and sys.stdin.isatty():
        _converse(load(options), options)
        return
    lines = _read(options.input)
    translations = translate(load(options), lines, options)
    content = "".join(line + "\n" for line in translations).encode("utf-8")
    if options.output is None:
        sys.stdout.buffer.write(content)
    else:
        write_output(options.output, content)


def _read(path: Path | None) -> list[str]:
    """All lines, so that whatever is wrong with one of them is said before anything is written."""
    from regard.text.corpus import read_texts, split_lines

    return split_lines(sys.stdin.buffer.read(), "stdin") if path is None else read_texts(path)


def _converse(translator: "Translator", options: argparse.Namespace) -> None:
    """A person is typing: answer each line as it comes."""
    from regard.text.corpus import as_text

    sys.stderr.write("Type a sentence and press Enter; Ctrl-D ends.\n")
    for number, line in enumerate(sys.stdin.buffer, start=1):
        try:
            text = as_text(line.removesuffix(b"\n"), "stdin", number)
            answer = translator.translate([text], beam=options.beam, alpha=options.alpha)[0]
        except DataError as error:
            sys.stderr.write(f"regard: {error}\n")
        else:
            sys.stdout.buffer.write(answer.encode("utf-8") + b"\n")
            sys.stdout.buffer.flush()
