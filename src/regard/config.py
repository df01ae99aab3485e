"""Settings: a TOML section for each frozen dataclass of a run; unknown keys are refused."""

import difflib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import Field, fields, is_dataclass, replace
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from regard.errors import ConfigError

RunT = TypeVar("RunT")
SectionT = TypeVar("SectionT")
Settings = Mapping[str, Mapping[str, object]]

TASK_KEY, DEFAULT_TASK = "task", "translation"
"""What stands outside the sections of a run file, and what a file that does not have it is for."""
NONE_WORD = "none"
"""How a TOML file says None, for which TOML has no word; a text is off when it is empty."""


def read_settings(path: Path) -> dict[str, dict[str, object]]:
    """The sections of a run file, not yet checked against any dataclass; `task` alone stands outside them."""
    try:
        with path.open("rb") as file:
            document = tomllib.load(file)
    except FileNotFoundError:
        raise ConfigError(f"{path} does not exist; --config takes a TOML run file") from None
    except IsADirectoryError:
        raise ConfigError(f"{path} is a folder; --config takes a TOML run file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from None
    task = document.pop(TASK_KEY, None)
    if not isinstance(task, str | None):
        raise ConfigError(f"{path}: {TASK_KEY} = {task} cannot work; it must be text")
    for name, section in document.items():
        if not isinstance(section, dict):
            raise ConfigError(f"{path}: {name} stands outside a section; write it under [section]")
    return document


def read_task(path: Path) -> str:
    """What the run file is for; one that does not say is for translation."""
    read_settings(path)  # says what is wrong with the file
    return tomllib.loads(path.read_text(encoding="utf-8")).get(TASK_KEY, DEFAULT_TASK)


def parse_assignments(assignments: Sequence[str]) -> dict[str, dict[str, object]]:
    """`section.key=value` of the command line, as sections."""
    settings: dict[str, dict[str, object]] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        section, dot, key = name.strip().partition(".")
        if not (equals and dot and section and key):
            raise ConfigError(f"--set {assignment} is not section.key=value, as in train.steps=2000")
        settings.setdefault(section, {})[key] = _CommandLineValue(value.strip())
    return settings


def merge_settings(*layers: Settings) -> dict[str, dict[str, object]]:
    """One set of settings from several, the later winning key by key."""
    merged: dict[str, dict[str, object]] = {}
    for settings in layers:
        for name, values in settings.items():
            merged.setdefault(name, {}).update(values)
    return merged


def select_settings(settings: Settings, keys: Mapping[str, Sequence[str]]) -> Settings:
    """Return the whole `model` section and, of every section in `keys`, the settings it lists."""
    chosen = {
        section: {name: value for name, value in settings.get(section, {}).items() if name in names}
        for section, names in keys.items()
    }
    return {"model": settings.get("model", {}), **chosen}


def apply_settings(run: RunT, settings: Settings) -> RunT:
    """The run with these settings changed; a key it does not have is refused with a suggestion."""
    changed = {}
    for name, values in settings.items():
        if name not in _section_names(run):
            raise ConfigError(f"[{name}] is not a section{_suggest(name, _section_names(run))}")
        changed[name] = _apply_section(run, name, values)
    return replace(run, **changed)  # pyright: ignore[reportArgumentType]


def build_section(section: type[SectionT], name: str, values: Mapping[str, object]) -> SectionT:
    """A settings dataclass from one section of a file, every key checked."""
    return section(**_checked_values(section, name, values, _keys(section, name)))


def to_toml(run: object) -> str:
    """The whole run as a file that `read_settings`, `read_task` and `apply` read back."""
    task = getattr(run, TASK_KEY, None)
    head = [] if task is None else [f"{TASK_KEY} = {_toml_value(task)}\n"]
    return "\n".join([*head, *(_section_toml(name, getattr(run, name)) for name in _section_names(run))])


class _CommandLineValue(str):
    """A value typed on the command line: its type is decided by the setting it is for."""


def _apply_section(run: object, name: str, values: Mapping[str, object]) -> object:
    section = getattr(run, name)
    known = [f"{other}.{key.name}" for other in _section_names(run) for key in _fields(getattr(run, other))]
    return replace(section, **_checked_values(type(section), name, values, known))


def _checked_values(
    section: type, name: str, values: Mapping[str, object], known: Sequence[str]
) -> dict[str, object]:
    types = get_type_hints(section)
    names = {field.name for field in _fields(section)}
    for key in values:
        if key not in names:
            raise ConfigError(f"{name}.{key} is not a setting{_suggest(f'{name}.{key}', known)}")
    return {key: _convert(f"{name}.{key}", value, types[key]) for key, value in values.items()}


def _convert(name: str, value: object, wanted: Any) -> object:
    options = _options(wanted)
    if isinstance(value, _CommandLineValue):
        value = _parse_command_line_value(value, options)
    if NoneType in options and value == _none_word(options):
        return None
    for option in options:
        if get_origin(option) is tuple:
            return _convert_list(name, value, get_args(option)[0])
        if get_origin(option) is Literal and value in get_args(option):
            return value
        if option is float and type(value) is int and abs(value) < 2**63:
            return float(value)
        if option is type(value):
            return value
    raise ConfigError(f"{name} = {value!r} cannot work; it must be {_describe(options)}")


def _convert_list(name: str, value: object, wanted: Any) -> tuple[object, ...]:
    """Each value of a list; one that stands alone is a list of one, and an empty text is none."""
    if value == "":
        return ()
    values = value if isinstance(value, list | tuple) else [value]
    try:
        return tuple(_convert(name, each, wanted) for each in values)
    except ConfigError:
        raise ConfigError(
            f"{name} = {value!r} cannot work; it must be {_describe([wanted])}, or a list"
        ) from None


def _parse_command_line_value(text: str, options: Sequence[Any]) -> object:
    if str in options or (options[0] == tuple[str, ...] and not text.startswith("[")):
        return str(text)
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, ValueError):  # a whole number may have too many digits to be one
        return str(text)


def _options(wanted: Any) -> tuple[Any, ...]:
    return get_args(wanted) if get_origin(wanted) in (Union, UnionType) else (wanted,)


def _none_word(options: Sequence[Any]) -> str:
    return "" if str in options else NONE_WORD  # a file may well be called none


def _describe(options: Sequence[Any]) -> str:
    off = "nothing" if str in options else NONE_WORD
    words = {int: "a whole number", float: "a number", str: "text", bool: "true or false", NoneType: off}
    said = []
    for option in options:
        said += map(str, get_args(option)) if get_origin(option) is Literal else [words[option]]
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} or {said[-1]}"


def _suggest(name: str, known: Sequence[str]) -> str:
    """The nearest known name: by its whole, or by its last part, for a key put in the wrong section."""
    last = {full.rpartition(".")[2]: full for full in known}
    key = name.rpartition(".")[2]
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
    near = near or [last[match] for match in difflib.get_close_matches(key, last, n=1, cutoff=0.75)]
    return f"; did you mean {near[0]}?" if near else f"; there are {', '.join(known)}"


def _section_toml(name: str, section: object) -> str:
    lines = [f"[{name}]"]
    for key, wanted in get_type_hints(type(section)).items():
        value = getattr(section, key)
        lines.append(f"{key} = {_toml_value(_none_word(_options(wanted)) if value is None else value)}")
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
    return [field.name for field in _fields(run)]


def _keys(section: type, name: str) -> list[str]:
    return [f"{name}.{field.name}" for field in _fields(section)]


def _fields(of: Any) -> Iterator[Field[Any]]:
    assert is_dataclass(of)
    return iter(fields(of))
