"""Settings of a run: frozen dataclasses, one per TOML section, read, checked, merged and written back."""

import difflib
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from regard.errors import ConfigError
from regard.strict_json import read_bytes_within

RunT = TypeVar("RunT")
SectionT = TypeVar("SectionT")
DefaultT = TypeVar("DefaultT")
Settings = Mapping[str, Mapping[str, object]]
RealNumber = int | float

TASK_KEY, DEFAULT_TASK = "task", "translation"
"""The key outside all sections of a run file that names its task, and the task of a file without it."""
NONE_WORD = "none"
"""How a run file writes None, which TOML does not have; text settings are switched off by empty text."""
MAX_RUN_FILE_BYTES = 2**18
MAX_KEY_DOTS = 1000
"""Most dots of a key; the time that the parser needs grows with their square."""
TRAITS = "traits"
"""Key of `SettingTraits` in the metadata of a dataclass field."""


@dataclass(frozen=True)
class SettingTraits:
    """What a setting is, beside its type and default."""

    is_path: bool = False
    """It names files, which a model card does not show."""
    can_change: bool = False
    """It may differ when a run is resumed, since no training step depends on it."""
    flag: str | None = None
    """Its own flag of `regard train`; other settings are given with --set."""
    at_least: RealNumber | None = None
    """The smallest value of a number, or of each number of a list."""
    at_most: RealNumber | None = None
    """The largest value."""


def setting(
    default: DefaultT,
    *,
    is_path: bool = False,
    can_change: bool = False,
    flag: str | None = None,
    at_least: RealNumber | None = None,
    at_most: RealNumber | None = None,
) -> DefaultT:
    """Declare a field of a settings dataclass with its default and its traits."""
    traits = SettingTraits(is_path, can_change, flag, at_least, at_most)
    return field(default=default, metadata={TRAITS: traits})


def check_ranges(section: object, name: str = "") -> None:
    """Raise a `ConfigError` for a setting outside its range; `name` is that of the section."""
    for key, traits in section_traits(section).items():
        value = getattr(section, key)
        for number in value if isinstance(value, tuple) else (value,):
            if not isinstance(number, int | float):
                continue
            if limit := _crossed_limit(number, traits.at_least, traits.at_most):
                is_optional = NoneType in _alternatives(get_type_hints(type(section))[key])
                advice = f"it must be {limit}{', or none' if is_optional else ''}"
                raise ConfigError(f"{f'{name}.' if name else ''}{key} = {number} cannot work; {advice}")


def require_range(
    name: str, value: RealNumber | None, at_least: RealNumber | None, at_most: RealNumber | None
) -> None:
    """Raise a `ConfigError` for the value of a flag outside its range; None is a flag that was not given."""
    if value is not None and (limit := _crossed_limit(value, at_least, at_most)):
        raise ConfigError(f"{name} = {value} cannot work; it must be {limit}")


def _crossed_limit(value: RealNumber, at_least: RealNumber | None, at_most: RealNumber | None) -> str | None:
    """Return the limit that a number crosses; NaN crosses every one."""
    if at_least is not None and not value >= at_least:
        return f"at least {at_least:,}" if isinstance(at_least, int) else f"at least {at_least:g}"
    if at_most is not None and not value <= at_most:
        return f"at most {at_most:,}" if isinstance(at_most, int) else f"at most {at_most:g}"
    return None


def section_traits(section: object) -> dict[str, SettingTraits]:
    """Return the traits of each setting of a section, a settings dataclass or an instance of it."""
    return {key.name: key.metadata.get(TRAITS, SettingTraits()) for key in _fields(section)}


def run_traits(run: object) -> dict[str, SettingTraits]:
    """Return the traits of each setting of a run, by `section.key`."""
    return {
        f"{section}.{key}": traits
        for section in _section_names(run)
        for key, traits in section_traits(getattr(run, section)).items()
    }


def flatten_settings(run: object) -> dict[str, object]:
    """Return the value of each setting of a run, by `section.key`."""
    return {
        f"{section}.{key}": getattr(getattr(run, section), key)
        for section in _section_names(run)
        for key in section_traits(getattr(run, section))
    }


def read_settings(path: Path) -> dict[str, dict[str, object]]:
    """Return the sections of a run file, not yet checked against any dataclass."""
    return _read_run_file(path)[1]


def read_task(path: Path) -> str:
    """Return the task of a run file; a file that does not name one is for translation."""
    return _read_run_file(path)[0]


def _read_run_file(path: Path) -> tuple[str, dict[str, dict[str, object]]]:
    """Return the task and the sections of a run file."""
    try:
        document = tomllib.loads(_read_toml(path))
    except FileNotFoundError:
        raise ConfigError(f"{path} does not exist; --config takes a TOML run file") from None
    except IsADirectoryError:
        raise ConfigError(f"{path} is a folder; --config takes a TOML run file") from None
    except RecursionError:
        raise ConfigError(f"{path} is not valid TOML: its values are nested too deeply") from None
    except ValueError as error:  # a syntax error, bytes that are not UTF-8, a number with too many digits
        raise ConfigError(f"{path} is not valid TOML: {error}") from None
    task = document.pop(TASK_KEY, DEFAULT_TASK)
    if not isinstance(task, str):
        raise ConfigError(f"{path}: {TASK_KEY} = {task} cannot work; it must be text")
    for name, section in document.items():
        if not isinstance(section, dict):
            raise ConfigError(f"{path}: {name} stands outside a section; write it under [section]")
    return task, document


def _read_toml(path: Path) -> str:
    text = read_bytes_within(path, MAX_RUN_FILE_BYTES).decode("utf-8").replace("\r\n", "\n")
    for line in text.split("\n"):
        keys = line if "{" in line else line.partition("=")[0]  # the names of many files are no keys
        if keys.count(".") > MAX_KEY_DOTS:
            raise ValueError("it has a key of too many parts")
    return text


def parse_assignments(assignments: Sequence[str]) -> dict[str, dict[str, object]]:
    """Parse `section.key=value` arguments of the command line into sections."""
    settings: dict[str, dict[str, object]] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        section, dot, key = name.strip().partition(".")
        if not (equals and dot and section and key):
            raise ConfigError(f"--set {assignment} is not section.key=value, as in train.steps=2000")
        settings.setdefault(section, {})[key] = _CommandLineValue(value.strip())
    return settings


def merge_settings(*layers: Settings) -> dict[str, dict[str, object]]:
    """Merge several layers of settings; a later layer wins key by key."""
    merged: dict[str, dict[str, object]] = {}
    for settings in layers:
        for name, values in settings.items():
            merged.setdefault(name, {}).update(values)
    return merged


def apply_settings(run: RunT, settings: Settings) -> RunT:
    """Return the run with these settings; an unknown key is refused, with a suggestion."""
    changed = {}
    for name, values in settings.items():
        if name not in _section_names(run):
            raise ConfigError(f"[{name}] is not a section{_suggest(name, _section_names(run))}")
        changed[name] = _apply_section(run, name, values)
    return replace(run, **changed)  # pyright: ignore[reportArgumentType]


def build_section(section: type[SectionT], name: str, values: Mapping[str, object]) -> SectionT:
    """Build a settings dataclass from one section of a file; an unknown key is refused."""
    return section(**_checked_values(section, name, values, _keys(section, name)))


def to_toml(run: object) -> str:
    """Write a run as TOML, which `read_task`, `read_settings` and `apply_settings` read back."""
    task = getattr(run, TASK_KEY, None)
    head = [] if task is None else [f"{TASK_KEY} = {_toml_value(task)}\n"]
    return "\n".join([*head, *(_section_toml(name, getattr(run, name)) for name in _section_names(run))])


class _CommandLineValue(str):
    """A value from the command line, converted to the type of its setting later."""


def _apply_section(run: object, name: str, values: Mapping[str, object]) -> object:
    section = getattr(run, name)
    known = [f"{other}.{key.name}" for other in _section_names(run) for key in _fields(getattr(run, other))]
    return replace(section, **_checked_values(type(section), name, values, known))


def _checked_values(
    section: type, name: str, values: Mapping[str, object], known: Sequence[str]
) -> dict[str, object]:
    types = get_type_hints(section)
    names = {key.name for key in _fields(section)}
    for key in values:
        if key not in names:
            raise ConfigError(f"{name}.{key} is not a setting{_suggest(f'{name}.{key}', known)}")
    return {key: _convert(f"{name}.{key}", value, types[key]) for key, value in values.items()}


def _convert(name: str, value: object, expected: Any) -> object:
    alternatives = _alternatives(expected)
    if isinstance(value, _CommandLineValue):
        value = _parse_command_line_value(value, alternatives)
    if NoneType in alternatives and value == _none_word(alternatives):
        return None
    for option in alternatives:
        if get_origin(option) is tuple:
            return _convert_list(name, value, get_args(option)[0])
        if get_origin(option) is Literal and value in get_args(option):
            return value
        if option is float and type(value) is int and abs(value) < 2**63:
            return float(value)
        if option is type(value) and not (isinstance(value, float) and not math.isfinite(value)):
            return value
    raise ConfigError(f"{name} = {value!r} cannot work; it must be {_describe(alternatives)}")


def _convert_list(name: str, value: object, expected: Any) -> tuple[object, ...]:
    """Convert a list; a single value is a list of one, empty text an empty list."""
    if value == "":
        return ()
    values = value if isinstance(value, list | tuple) else [value]
    try:
        return tuple(_convert(name, item, expected) for item in values)
    except ConfigError:
        raise ConfigError(
            f"{name} = {value!r} cannot work; it must be {_describe([expected])}, or a list"
        ) from None


def _parse_command_line_value(text: str, alternatives: Sequence[Any]) -> object:
    if str in alternatives or (alternatives[0] == tuple[str, ...] and not text.startswith("[")):
        return str(text)
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):  # a whole number with too many digits, brackets without end
        return str(text)


def _alternatives(expected: Any) -> tuple[Any, ...]:
    return get_args(expected) if get_origin(expected) in (Union, UnionType) else (expected,)


def _none_word(alternatives: Sequence[Any]) -> str:
    return "" if str in alternatives else NONE_WORD  # a file may be named none


def _describe(alternatives: Sequence[Any]) -> str:
    none = "nothing" if str in alternatives else NONE_WORD
    words = {int: "a whole number", float: "a number", str: "text", bool: "true or false", NoneType: none}
    names = []
    for option in alternatives:
        names += map(str, get_args(option)) if get_origin(option) is Literal else [words[option]]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _suggest(name: str, known: Sequence[str]) -> str:
    """Suggest the closest known name, by the full name or, for a key in the wrong section, by the key."""
    last = {full.rpartition(".")[2]: full for full in known}
    key = name.rpartition(".")[2]
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
    close = close or [last[match] for match in difflib.get_close_matches(key, last, n=1, cutoff=0.75)]
    return f"; did you mean {close[0]}?" if close else f"; there are {', '.join(known)}"


def _section_toml(name: str, section: object) -> str:
    lines = [f"[{name}]"]
    for key, expected in get_type_hints(type(section)).items():
        value = getattr(section, key)
        lines.append(
            f"{key} = {_toml_value(_none_word(_alternatives(expected)) if value is None else value)}"
        )
    return "\n".join(lines) + "\n"


def _toml_value(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return repr(value)
        case str():
            return '"' + "".join(map(_toml_character, value)) + '"'
        case tuple():
            return f"[{', '.join(map(_toml_value, value))}]"
        case _:
            raise TypeError(f"a setting cannot be {type(value).__name__}")


def _toml_character(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    return f"\\u{ord(character):04x}" if ord(character) < 0x20 or ord(character) == 0x7F else character


def _section_names(run: object) -> list[str]:
    return [section.name for section in _fields(run)]


def _keys(section: type, name: str) -> list[str]:
    return [f"{name}.{key.name}" for key in _fields(section)]


def _fields(of: Any) -> Iterator[Field[Any]]:
    assert is_dataclass(of)
    return iter(fields(of))
