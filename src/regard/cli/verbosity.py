"""What a command says besides its result: --quiet and --verbose, and where the lines of a training go."""

import argparse
import os
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, suppress
from typing import TYPE_CHECKING

from regard.version import __version__

if TYPE_CHECKING:
    from rich.console import Console

HIDDEN_OPTIONS = ("parser", "run", "given_flags", "extra_argument_advice", "quiet", "verbose", "debug")
"""Attributes of the parsed arguments that are not listed."""


@contextmanager
def message_level(options: argparse.Namespace) -> Iterator[None]:
    """Discard what a --quiet command writes to stderr; tell more about a --verbose one.

    An error is printed by the caller, after this has ended.
    """
    if options.quiet:
        with open(os.devnull, "w", encoding="utf-8") as null, redirect_stderr(null):
            yield
    elif options.verbose:
        sys.stderr.write(f"{_environment()}\n{_arguments(options)}\n")
        start = time.monotonic()
        try:
            yield
        finally:
            sys.stderr.write(f"{_resources(time.monotonic() - start)}\n")
    else:
        yield


def progress_console(options: argparse.Namespace) -> "Console":
    """Return the console for the lines of a training: stdout, or stderr if stdout is for --json."""
    from rich.console import Console

    return Console(
        stderr=options.json,
        quiet=options.quiet,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=True,
    )


def _environment() -> str:
    system = f"{platform.system()} {platform.machine()}"
    return f"  regard {__version__}, Python {platform.python_version()}, {system}"


def _arguments(options: argparse.Namespace) -> str:
    """Return the arguments in effect, defaults included."""
    given = {name: value for name, value in vars(options).items() if name not in HIDDEN_OPTIONS}
    shown = [f"{name} {_as_text(value)}" for name, value in given.items() if _is_shown(value)]
    return f"  {options.parser.prog.removeprefix('regard ')}: {', '.join(shown) or 'no arguments'}"


def _is_shown(value: object) -> bool:
    return value is not None and value is not False and value not in ([], "")


def _as_text(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))
    return "yes" if value is True else str(value)


def _resources(seconds: float) -> str:
    parts = [f"{seconds:.1f} s"]
    with suppress(ImportError):  # not on Windows
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
        parts.append(f"{peak / 2**20:,.0f} MiB of memory")
    if (torch := sys.modules.get("torch")) is not None:
        device = torch.cuda.get_device_name() if torch.cuda.is_initialized() else "CPU"
        parts.append(f"torch {torch.__version__} on {device}, {torch.get_num_threads()} threads")
    return f"  {', '.join(parts)}"
