"""`regard keys`: add, list and revoke the API keys of `regard serve`."""

import argparse
import sys
import time
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cli.args.common_args import add_json_argument
from regard.cli.args.number_args import NumberArgument
from regard.cli.args.path_args import PathArgument
from regard.cli.output import print_json

if TYPE_CHECKING:
    from regard.server.operations.key_file import ApiKey, UsageCount

KEYS_FILE = PathArgument("input")
DEFAULT_FILE = Path("keys.sqlite")
ACTIONS = ("add", "list", "revoke")
LIMIT_FLAGS = {
    "characters_per_month": "characters of source text in a calendar month (UTC)",
    "requests_per_minute": "requests per minute",
    "characters_per_minute": "characters per minute",
}
"""The limits of a key, and the help of their flags."""
DESCRIPTION = """\
Add, list and revoke the API keys of a translation server. The file is made by
the first `regard keys add`; servers that use it take changes within a second.
"""
EPILOG = """\
`add` prints the key once: the file has only its hash. A month begins on the
first day, in UTC; the limits per minute hold for each server by itself.

examples
  regard keys add weblate --characters-per-month 2000000
  regard keys add web --requests-per-minute 60 --expires 2027-12-31
  regard keys list --file keys.sqlite
  regard keys revoke weblate
  regard serve runs/en-fr --keys keys.sqlite
"""


def add_keys_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "keys", help="add, list and revoke API keys of the server", description=DESCRIPTION, epilog=EPILOG
    )
    parser.add_argument("action", choices=ACTIONS, help="add, list or revoke")
    parser.add_argument("name", metavar="NAME", nargs="?", help="name of the key, for the list and the log")
    parser.add_argument(
        "--file",
        metavar="FILE",
        type=KEYS_FILE,
        default=DEFAULT_FILE,
        help=f"file of keys (default: {DEFAULT_FILE})",
    )
    group = parser.add_argument_group("limits of a key that is added")
    for name, unit in LIMIT_FLAGS.items():
        group.add_argument(
            _flag(name),
            metavar="N",
            type=NumberArgument(int, 1, 10**12),
            help=f"{unit} (default: no limit)",
        )
    group.add_argument("--expires", metavar="DATE", type=_last_day, help="last day of the key, as 2027-12-31")
    add_json_argument(parser, "print one JSON object")
    parser.set_defaults(run=run_keys)


def run_keys(options: argparse.Namespace) -> None:
    _check_arguments(options)
    if options.action == "add":
        _add(options)
    elif options.action == "revoke":
        _revoke(options)
    else:
        _list(options)


def _check_arguments(options: argparse.Namespace) -> None:
    parser: argparse.ArgumentParser = options.parser
    if options.action == "list" and options.name is not None:
        parser.error(f"`regard keys list` takes no name, but got {options.name[:80]!r}")
    if options.action != "list" and options.name is None:
        parser.error(f"give the NAME of the key: regard keys {options.action} NAME")
    for name in (*LIMIT_FLAGS, "expires"):
        if options.action != "add" and getattr(options, name) is not None:
            parser.error(f"{_flag(name)} is for `regard keys add`")


def _add(options: argparse.Namespace) -> None:
    from regard.server.operations.key_file import KeyFile, KeyLimits

    limits = KeyLimits(**{name: getattr(options, name) for name in LIMIT_FLAGS})
    with KeyFile(options.file, create=True) as file:
        key = file.add(options.name, limits, options.expires)
    if options.json:
        print_json({"name": options.name, "key": key, "file": str(options.file)})
    else:
        sys.stdout.write(f"{key}\n")
        if not options.quiet:
            sys.stderr.write(f"the key of {options.name}; it is not stored and cannot be shown again\n")


def _revoke(options: argparse.Namespace) -> None:
    from regard.server.operations.key_file import KeyFile

    with KeyFile(options.file) as file:
        file.revoke(options.name)
    if options.json:
        print_json({"name": options.name, "revoked": True})
    elif not options.quiet:
        sys.stderr.write(f"{options.name} is revoked\n")


def _list(options: argparse.Namespace) -> None:
    from regard.server.operations.key_file import KeyFile, UsageCount, month_of

    month = month_of(time.time())
    with KeyFile(options.file) as file:
        keys, usage = file.read_keys(), file.read_usage(month)
    used = [(each, usage.get(each.id, UsageCount(0, 0))) for each in keys]
    if options.json:
        print_json({"file": str(options.file), "month": month, "keys": [_as_json(*each) for each in used]})
        return
    for key, count in used:
        sys.stdout.write(f"{_as_line(key, count)}\n")


def _as_json(key: "ApiKey", used: "UsageCount") -> dict[str, Any]:
    times = {name: _as_date(getattr(key, name)) for name in ("created", "expires", "revoked")}
    state = {"id": key.id, "name": key.name, "state": _state(key)}
    return {**state, **asdict(key.limits), **times, "used": used._asdict()}


def _as_line(key: "ApiKey", used: "UsageCount") -> str:
    limit = key.limits.characters_per_month
    characters = f"{used.characters:,}" + ("" if limit is None else f" of {limit:,}")
    rates = [
        f"{value:,} {unit}"
        for value, unit in (
            (key.limits.requests_per_minute, "requests/min"),
            (key.limits.characters_per_minute, "characters/min"),
        )
        if value is not None
    ]
    parts = [f"{characters} characters, {used.requests:,} requests this month", *rates, _state(key)]
    return f"{key.name:<20}  {'; '.join(parts)}"


def _state(key: "ApiKey") -> str:
    if key.revoked is not None:
        return "revoked"
    if not key.is_valid(time.time()):
        return "expired"
    return "valid" if key.expires is None else f"valid to {_as_date(key.expires - 1)}"


def _as_date(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).date().isoformat()


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _last_day(text: str) -> float:
    """Return the end of a day in UTC, in seconds."""
    try:
        return (datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC) + timedelta(days=1)).timestamp()
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a date such as 2027-12-31") from None
