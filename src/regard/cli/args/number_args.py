"""Number arguments, each declared with its range, which `--help` shows and `regard.cli.main` checks."""

import argparse
from dataclasses import dataclass
from typing import get_args, get_type_hints

from regard.config import RealNumber, require_range, section_traits


@dataclass(frozen=True)
class NumberArgument:
    """The `type` of an argument that is a number; as text it is the range, for the help of the argument."""

    convert: type[int] | type[float]
    at_least: RealNumber | None = None
    at_most: RealNumber | None = None

    def __call__(self, text: str) -> RealNumber:
        try:
            return self.convert(text)
        except ValueError:
            kind = "a whole number" if self.convert is int else "a number"
            raise argparse.ArgumentTypeError(f"{text[:40]!r} is not {kind}") from None

    @property
    def has_limits(self) -> bool:
        """Whether it is checked here; a number that is also a setting is checked as such."""
        return self.at_least is not None and self.at_most is not None

    def __str__(self) -> str:
        return f"{_format_limit(self.at_least)} to {_format_limit(self.at_most)}"


def setting_argument(section: type, key: str) -> NumberArgument:
    """Return the argument of a setting, with its type and its range."""
    hint = get_type_hints(section)[key]
    traits = section_traits(section)[key]
    return NumberArgument(int if int in (hint, *get_args(hint)) else float, traits.at_least, traits.at_most)


def check_numbers(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Raise a `ConfigError` for the first number outside the range of its argument."""
    for action in parser._actions:
        if isinstance(action.type, NumberArgument):
            value = getattr(options, action.dest)
            require_range(action.option_strings[-1], value, action.type.at_least, action.type.at_most)


def _format_limit(limit: RealNumber | None) -> str:
    if limit is None:
        return "any"
    return f"{limit:,}" if isinstance(limit, int) else f"{limit:g}"
