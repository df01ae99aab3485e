"""Writes docs/settings.md: every setting with its default and its docstring in the code.

python docs/settings.py
"""

import ast
import inspect
from collections.abc import Iterator
from dataclasses import fields, make_dataclass
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

from regard.classification.run import ClassificationRun
from regard.config import section_traits, to_toml
from regard.data.config import DataConfig
from regard.forecasting.run import ForecastingRun
from regard.server.translation.serve_settings import (
    AccessSettings,
    LimitSettings,
    ModelSettings,
    SearchSettings,
    StorageSettings,
)
from regard.translation.run import TranslationRun

PAGE = Path(__file__).with_suffix(".md")
HEAD = """\
# Settings

All settings of `regard train` by section, with the defaults of the preset `small`. Set one with
`--set section.key=value`, under `[section]` in a run file (`--config`), or with its own flag if it has one.
`none` switches off a setting that allows it; a text setting is switched off by an empty text. The settings of
translation come first, then those in which the other tasks differ, and at the end those of the server.
"""
OTHERS = {"Classification": ClassificationRun(), "Forecasting": ForecastingRun()}
"""Default runs of the other tasks, by the heading of their part of the page."""
SERVER = {
    "models": ModelSettings("a model folder"),
    "limits": LimitSettings(),
    "search": SearchSettings(),
    "access": AccessSettings(),
    "storage": StorageSettings(),
}
"""Default sections of serve.toml; a model has no default folder."""
SERVER_HEAD = """\
# Server

The sections of `serve.toml` for `regard serve --config serve.toml`; see [serving.md](serving.md).
Each model has a section of its own, such as `[models.en-fr]`, with a `path`.
"""
NOTES = {
    DataConfig: 'See also [corpora.md](corpora.md). A list is written `["a", "b"]`, or as a single value.',
}
"""Additions to the docstring of a section."""


def page() -> str:
    """Return the page as Markdown."""
    run = TranslationRun()
    sections = [_section(field.name, run) for field in fields(run)]
    for task, other in OTHERS.items():
        first = f'# {task}\n\nA run file begins with `task = "{other.task}"`.\n'
        own = list(_own_sections(other, run))
        sections += [first, *(_section(name, other) for name in own), *_other_defaults(other, run, own)]
    server = make_dataclass("Server", SERVER)(**SERVER)
    return "\n".join([HEAD, *sections, SERVER_HEAD, *(_section(name, server) for name in SERVER)])


def _own_sections(run: object, other: object) -> Iterator[str]:
    """Yield the sections of a run that the other run does not have."""
    for field in fields(run):  # pyright: ignore[reportArgumentType]
        if type(getattr(run, field.name)) is not type(getattr(other, field.name, None)):
            yield field.name


def _other_defaults(run: object, known: object, own: list[str]) -> Iterator[str]:
    """Yield a table of the defaults that differ in the sections of both runs."""
    rows = []
    for field in fields(run):  # pyright: ignore[reportArgumentType]
        if field.name not in own:
            usual = dict(_defaults(field.name, known))
            rows += [
                f"| `{field.name}.{key}` | `{value}` |"
                for key, value in _defaults(field.name, run)
                if usual[key] != value
            ]
    if rows:
        yield "\n".join(
            [
                "Defaults that differ from those above:",
                "",
                "| setting | default |",
                "| --- | --- |",
                *rows,
                "",
            ]
        )


def _section(name: str, run: object) -> str:
    kind = type(getattr(run, name))
    rows = [
        f"| `{name}.{key}` | `{value}` | {_description(kind, key)} |" for key, value in _defaults(name, run)
    ]
    notes = filter(None, [kind.__doc__, NOTES.get(kind)])
    return "\n".join(
        [f"## [{name}]", "", *notes, "", "| setting | default | |", "| --- | --- | --- |", *rows, ""]
    )


def _defaults(section: str, run: object) -> Iterator[tuple[str, str]]:
    """Yield each setting of a section with its default, as in a run file."""
    _, _, text = to_toml(run).partition(f"[{section}]\n")
    for line in text.partition("\n\n")[0].splitlines():
        key, _, value = line.partition(" = ")
        yield key, value


def _description(section: type, key: str) -> str:
    """Return the docstring of a field, its possible values, and its flag."""
    parts, kind = [field_docstrings(section).get(key, "")], get_type_hints(section)[key]
    if get_origin(kind) is Literal:
        parts.append(f"One of {', '.join(f'`{value}`' for value in get_args(kind))}.")
    traits = section_traits(section)[key]
    if limits := _describe_limits(traits.at_least, traits.at_most):
        parts.append(limits)
    if flag := traits.flag:
        parts.append(f"Flag: `{flag}`.")
    return " ".join(filter(None, parts))


def _describe_limits(at_least: float | None, at_most: float | None) -> str:
    """Return the limits of a number as a sentence; a limit that is missing is described in words."""
    low, high = (
        limit if limit is None else f"{limit:,}" if isinstance(limit, int) else f"{limit:g}"
        for limit in (at_least, at_most)
    )
    if low is not None and high is not None:
        return f"From {low} to {high}."
    return "" if high is None else f"At most {high}."


def field_docstrings(section: type) -> dict[str, str]:
    """Return the docstrings of the fields, which Python does not keep at run time."""
    if section is object:
        return {}
    [definition] = ast.parse(inspect.getsource(section)).body
    assert isinstance(definition, ast.ClassDef)
    docstrings = field_docstrings(section.__mro__[1])
    for field, below in zip(definition.body, definition.body[1:], strict=False):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                docstrings[name] = " ".join(text.split())
    return docstrings


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
