"""Writes docs/settings.md: every setting, with the words that stand under it in the code.

python docs/settings.py
"""

import ast
import inspect
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

from regard.classification.run import ClassificationRun
from regard.config import to_toml
from regard.data.config import DataConfig
from regard.forecasting.run import ForecastRun
from regard.translation.run import TranslationRun

PAGE = Path(__file__).with_suffix(".md")
HEAD = """\
# Settings

Every setting of `regard train`, by section, with the default of the preset `small`. Set one with
`--set section.key=value` or under `[section]` in a run file. `none` switches off what can be off;
a text is off when it is empty. First those of a translation run, then those that other tasks have instead.
"""
OTHERS = {"Classification": ClassificationRun(), "Forecasting": ForecastRun()}
"""Runs of the other tasks, by the name of their part of the page."""
BESIDE = {
    DataConfig: 'More in [corpora.md](corpora.md). A list is written `["a", "b"]`; one may stand alone.',
}
"""What a section's docstring does not say."""


def page() -> str:
    """The whole page."""
    run = TranslationRun()
    sections = [_section(field.name, run) for field in fields(run)]
    for task, other in OTHERS.items():
        first = f'# {task}\n\nA run file begins with `task = "{other.task}"`.\n'
        own = list(_own(other, run))
        sections += [first, *(_section(name, other) for name in own), *_changed(other, run, own)]
    return "\n".join([HEAD, *sections])


def _own(run: object, known: object) -> Iterator[str]:
    """The sections of a run that are not those of another, which is on the page already."""
    for field in fields(run):  # pyright: ignore[reportArgumentType]
        if type(getattr(run, field.name)) is not type(getattr(known, field.name, None)):
            yield field.name


def _changed(run: object, known: object, own: list[str]) -> Iterator[str]:
    """The defaults that differ in sections that both have."""
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
            ["Other defaults than above:", "", "| setting | default |", "| --- | --- |", *rows, ""]
        )


def _section(name: str, run: object) -> str:
    kind = type(getattr(run, name))
    rows = [f"| `{name}.{key}` | `{value}` | {_words(kind, key)} |" for key, value in _defaults(name, run)]
    said = filter(None, [kind.__doc__, BESIDE.get(kind)])
    return "\n".join(
        [f"## [{name}]", "", *said, "", "| setting | default | |", "| --- | --- | --- |", *rows, ""]
    )


def _defaults(section: str, run: object) -> Iterator[tuple[str, str]]:
    """Each setting of a section, as a run file writes it."""
    _, _, text = to_toml(run).partition(f"[{section}]\n")
    for line in text.partition("\n\n")[0].splitlines():
        key, _, value = line.partition(" = ")
        yield key, value


def _words(section: type, key: str) -> str:
    """The docstring of a field, and what it may be."""
    said, wanted = [_docstrings(section).get(key, "")], get_type_hints(section)[key]
    if get_origin(wanted) is Literal:
        said.append(f"One of {', '.join(f'`{word}`' for word in get_args(wanted))}.")
    return " ".join(filter(None, said))


def _docstrings(section: type) -> dict[str, str]:
    """What stands under each field; Python itself keeps the words of classes and functions only."""
    if section is object:
        return {}
    [definition] = ast.parse(inspect.getsource(section)).body
    assert isinstance(definition, ast.ClassDef)
    found = _docstrings(section.__mro__[1])
    for field, below in zip(definition.body, definition.body[1:], strict=False):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = " ".join(text.split())
    return found


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
