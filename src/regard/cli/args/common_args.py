"""Arguments that mean the same in every verb: --quiet, --verbose, --debug, --json and -o."""

import argparse
from pathlib import Path

from regard.cli.args.path_args import OUTPUT_FILE, PathArgument


def add_message_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags for how much a command says on stderr."""
    group = parser.add_argument_group("messages")
    level = group.add_mutually_exclusive_group()
    level.add_argument("-q", "--quiet", action="store_true", help="no progress and no notes, only errors")
    level.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="also show versions, all arguments, time and memory",
    )
    group.add_argument("--debug", action="store_true", help="show the traceback of an error")


def add_output_argument(
    parser: "argparse._ActionsContainer",
    help_text: str,
    path_type: PathArgument = OUTPUT_FILE,
    metavar: str = "FILE",
    dest: str = "output",
    default: Path | None = None,
    required: bool = False,
) -> None:
    """Add -o to a parser or group of flags; `--output` is another name for it."""
    parser.add_argument(
        *("-o", "--out", "--output"),
        metavar=metavar,
        dest=dest,
        type=path_type,
        default=default,
        required=required,
        help=help_text,
    )


def add_json_argument(parser: "argparse._ActionsContainer", help_text: str) -> None:
    parser.add_argument("--json", action="store_true", help=help_text)
