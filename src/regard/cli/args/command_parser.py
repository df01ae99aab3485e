"""Argument parser of every command: a flag given twice is an error, and so is an abbreviated one."""

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from regard.cli.args.familiar_names import (
    FAMILIAR_FLAGS,
    FAMILIAR_SETTINGS,
    FAMILIAR_VERBS,
    SETTING_UNITS,
    normalize_flag,
)
from regard.cli.args.help_format import HIDDEN_NAMES, HelpFormatter


class CommandParser(argparse.ArgumentParser):
    """An argument parser whose errors are one line; `add_subparsers` uses the same class for the verbs."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, allow_abbrev=False, formatter_class=HelpFormatter, **options)
        for name in (None, "store"):  # the names of argparse's default action
            self.register("action", name, StoreOnce)

    def parse_known_args(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse as argparse does, but reject unknown arguments, and say what to type instead."""
        args = sys.argv[1:] if args is None else args
        self._reject_flag_before_verb(args)
        options, unknown = super().parse_known_args(args, namespace)
        for argument in unknown:
            if argument.startswith("-") and argument != "-":
                flag = argument.partition("=")[0]
                self.error(f"{flag} is not a flag of `{self.prog}`{self._flag_advice(flag)}")
        unknown = self._fill_last_positional(options, [each for each in unknown if each != "--"])
        advice: Callable[[Sequence[str]], str] | None = self.get_default("extra_argument_advice")
        if unknown and advice is not None:
            self.error(f"{' '.join(unknown)[:200]}: `{self.prog}` {advice(unknown)}")
        return options, unknown

    def _reject_flag_before_verb(self, args: Sequence[str]) -> None:
        """Reject a flag of a verb that is given before the verb."""
        has_verbs = any(action.nargs == argparse.PARSER for action in self._actions)
        if has_verbs and args and args[0].startswith("-") and args[0] not in self._option_string_actions:
            advice = (
                _suggest(args[0], self._option_string_actions)
                or "; flags follow the verb, and --version shows the version"
            )
            self.error(f"{args[0]} is not a flag of `{self.prog}`{advice}")

    def _fill_last_positional(self, options: argparse.Namespace, rest: list[str]) -> list[str]:
        """Give positional arguments that follow a flag to the last one that may be left out or repeated.

        argparse takes such an argument as left out as soon as a flag comes. Returns what it does not take.
        """
        positional = [action for action in self._actions if not action.option_strings]
        if not rest or not positional or isinstance(positional[-1], argparse._SubParsersAction):
            return rest
        last = positional[-1]
        values = [self._get_value(last, text) for text in rest]
        match last.nargs:
            case "*" | "+":
                setattr(options, last.dest, [*getattr(options, last.dest), *values])
            case "?" if len(rest) == 1 and getattr(options, last.dest) == last.default:
                setattr(options, last.dest, values[0])
            case _:
                return rest
        return []

    def error(self, message: str) -> NoReturn:
        """Print the usage and the message, a line each, and exit with the code for wrong arguments."""
        sys.stderr.write(f"{self.format_usage()}regard: {message} (see `{self.prog} --help`)\n")
        sys.exit(2)

    def format_usage(self) -> str:
        """Return the positional and required arguments in one line; a verb has too many flags to list."""
        words = [self.prog]
        for action in self._actions:
            if not action.option_strings:
                words.append(_usage_of(action))
            elif action.required:
                words.append(f"{action.option_strings[0]} {action.metavar}")
        has_verbs = any(action.nargs == argparse.PARSER for action in self._actions)
        return f"usage: {' '.join(words)}{'' if has_verbs else ' [flags]'}\n"

    def format_help(self) -> str:
        """Return the help of argparse with the short usage."""
        self.usage = self.format_usage().removeprefix("usage: ").rstrip().replace("%", "%%")
        return super().format_help()

    def _print_message(self, message: str, file: Any = None) -> None:
        """Write a message; argparse would ignore that the disk is full."""
        (file or sys.stderr).write(message)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Reject a value that is no choice as argparse does, but suggest the verb with the nearest name."""
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            familiar = FAMILIAR_VERBS.get(str(value).lower())
            advice = f"; try `{self.prog} {familiar}`" if familiar else _suggest(value, action.choices)
            self.error(f"{value} is not a verb of `{self.prog}`{advice}")
        super()._check_value(action, value)

    def _flag_advice(self, flag: str) -> str:
        """Return what to type instead of a flag that the verb does not have, or nothing."""
        known = self._option_string_actions
        name = normalize_flag(flag)
        same = name if name in known else FAMILIAR_FLAGS.get(name)
        if same in known:
            return f"; it is called {same}"
        if name in ("--model", "--checkpoint", "--path") and (model := self._model_argument()):
            return f"; the model is the first argument: {self.prog} {model}"
        return self._setting_advice(name) or _suggest(
            flag, [each for each in known if each not in HIDDEN_NAMES]
        )

    def _model_argument(self) -> str | None:
        names = (str(action.metavar) for action in self._actions if not action.option_strings)
        return next((name for name in names if name.startswith("MODEL")), None)

    def _setting_advice(self, flag: str) -> str:
        """Return how to give a setting of a training whose name was taken for a flag, or nothing."""
        familiar = FAMILIAR_SETTINGS.get(flag)
        names = [familiar] if familiar else _settings_named(flag.removeprefix("--").replace("-", "_"))
        if not names:
            return ""
        verb = "" if "--set" in self._option_string_actions else " of `regard train`"
        unit = f", {SETTING_UNITS[names[0]]}" if names[0] in SETTING_UNITS else ""
        return f"; it is the setting {names[0]}{verb}{unit}: --set {names[0]}=VALUE"


def _usage_of(action: argparse.Action) -> str:
    name = str(action.metavar or "|".join(map(str, action.choices or ())) or action.dest)
    match action.nargs:
        case "?":
            return f"[{name}]"
        case "*":
            return f"[{name} ...]"
        case "+":
            return f"{name} [{name} ...]"
        case argparse.PARSER:
            return f"{name} ..."
        case _:
            return name


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
