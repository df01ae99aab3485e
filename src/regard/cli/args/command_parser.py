"""Argument parser of every command: a flag given twice is an error, and so is an abbreviated one."""

import argparse
import sys
from collections.abc import Iterable, Sequence
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
                flag = argument.partition("=")[0]
                advice = self._setting_advice(flag) or _suggest(flag, self._option_string_actions)
                self.error(f"{flag} is not a flag of `{self.prog}`{advice}")
        return options, unknown

    def error(self, message: str) -> NoReturn:
        """Print the usage and the message, a line each, and exit with the code for wrong arguments."""
        sys.stderr.write(f"{self._short_usage()}\nregard: {message} (see `{self.prog} --help`)\n")
        sys.exit(2)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Write a message; argparse would ignore that the disk is full."""
        (file or sys.stderr).write(message)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Reject a value that is no choice as argparse does, but suggest the verb with the nearest name."""
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            self.error(f"{value} is not a verb of `{self.prog}`{_suggest(value, action.choices)}")
        super()._check_value(action, value)

    def _short_usage(self) -> str:
        """Return the positional arguments in one line; a verb has too many flags to list."""
        arguments = [action for action in self._actions if not action.option_strings]
        names = [f"[{each.metavar}]" if each.nargs == "?" else str(each.metavar) for each in arguments]
        return f"usage: {' '.join([self.prog, *names])} [flags]"

    def _setting_advice(self, flag: str) -> str:
        """Return how to give a setting of a training whose name was taken for a flag, or nothing."""
        key = flag.removeprefix("--").replace("-", "_")
        names = _settings_named(key) if flag.startswith("--") else []
        if not names:
            return ""
        verb = "" if "--set" in self._option_string_actions else " of `regard train`"
        return f"; it is the setting {names[0]}{verb}: --set {names[0]}=VALUE"


def _suggest(name: str, known: Iterable[str]) -> str:
    nearest = get_close_matches(name, list(known), n=1)
    return f"; did you mean {nearest[0]}?" if nearest else ""


def _settings_named(key: str) -> list[str]:
    """Return the settings `section.key` of any task with this key."""
    from regard.classification.run import ClassificationRun
    from regard.config import run_traits
    from regard.forecasting.run import ForecastingRun
    from regard.translation.run import TranslationRun

    runs = (TranslationRun(), ClassificationRun(), ForecastingRun())
    return list(dict.fromkeys(name for run in runs for name in run_traits(run) if name.endswith(f".{key}")))


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
