"""Argument parser of every command: a flag given twice is an error, and so is an abbreviated one."""

import argparse
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, NoReturn


class CommandParser(argparse.ArgumentParser):
    """An argument parser whose errors are one line; `add_subparsers` uses the same class for the verbs."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, allow_abbrev=False, **options)
        for name in (None, "store"):  # the names of argparse's default action
            self.register("action", name, StoreOnce)

    def parse_known_args(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse as argparse does, but reject an unknown flag, and suggest the one with the nearest name."""
        options, unknown = super().parse_known_args(args, namespace)
        for argument in unknown:
            if argument.startswith("-"):
                self.error(f"{argument} is not a flag of `{self.prog}`{self._suggestion(argument)}")
        return options, unknown

    def error(self, message: str) -> NoReturn:
        """Print the message in one line and exit with the code for wrong arguments."""
        sys.stderr.write(f"regard: {message} (see `{self.prog} --help`)\n")
        sys.exit(2)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Write a message; argparse would ignore that the disk is full."""
        (file or sys.stderr).write(message)

    def _suggestion(self, unknown: str) -> str:
        flag = unknown.partition("=")[0]
        nearest = get_close_matches(flag, self._option_string_actions, n=1)
        return f"; did you mean {nearest[0]}?" if nearest else ""


class StoreOnce(argparse.Action):
    """Stores the value of an argument; a flag that is given twice is an error, not silently the last one."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,  # what the `type` of the argument returns
        option_string: str | None = None,
    ) -> None:
        given: set[str] = namespace.__dict__.setdefault("given_flags", set())
        if option_string is not None and self.dest in given:
            parser.error(f"{option_string} is given twice; give it once")
        given.add(self.dest)
        setattr(namespace, self.dest, values)
