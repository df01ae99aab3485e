"""Writes docs/settings.md: every setting, with the words that stand under it in the code.

python docs/settings.py
"""

import ast
import inspect
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

from regard.config import to_toml
from regard.tasks.course import TaskRun
from regard.tasks.forecasting import ForecastRun
from regard.tasks.translation import TranslationRun

PAGE = Path(__file__).with_suffix(".md")
HEAD = """\
# Settings

Every setting of `regard train`, by section, with the default of the preset `small`. Set one with
`--set section.key=value` or under `[section]` in a run file. `none` switches off what can be off;
a text is off when it is empty.
"""
BESIDE = {
    "data": 'More in [corpora.md](corpora.md). A list is written `["a", "b"]`; one value may stand alone.',
}
"""What a section's docstring does not say."""
FORECASTING = """\
# Settings of a forecaster

With `task = "forecasting"` before the sections of a run file, or `--series`. Sections that are not here
(`[train]`, `[compute]`) and settings that have no words are as above, with the defaults in the last table;
[forecasting.md](forecasting.md) says more.
"""
SAME = ("train", "compute", "optimizer")
"""Sections that a forecaster has in common with a translator, all but their defaults."""


def page() -> str:
    """The whole page."""
    run, forecast = TranslationRun(), ForecastRun()
    sections = [_section(run, field.name, BESIDE.get(field.name)) for field in fields(run)]
    others = [_section(forecast, field.name) for field in fields(forecast) if field.name not in SAME]
    return "\n".join([HEAD, *sections, FORECASTING, *others, _changed(run, forecast)])


def _changed(run: TaskRun, other: TaskRun) -> str:
    """The defaults of sections that both have, where they differ."""
    rows = []
    for name in SAME:
        usual = dict(_defaults(run, name))
        rows += [
            f"| `{name}.{key}` | `{value}` |" for key, value in _defaults(other, name) if usual[key] != value
        ]
    return "\n".join(["## Other defaults", "", "| setting | default |", "| --- | --- |", *rows, ""])


def _section(run: TaskRun, name: str, beside: str | None = None) -> str:
    kind = type(getattr(run, name))
    rows = [f"| `{name}.{key}` | `{value}` | {_words(kind, key)} |" for key, value in _defaults(run, name)]
    said = filter(None, [kind.__doc__, beside])
    return "\n".join(
        [f"## [{name}]", "", *said, "", "| setting | default | |", "| --- | --- | --- |", *rows, ""]
    )


def _defaults(run: TaskRun, section: str) -> Iterator[tuple[str, str]]:
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
