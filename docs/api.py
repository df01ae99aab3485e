"""Write docs/api.md, the reference of the public Python API, from signatures and docstrings.

python docs/api.py
"""

import dataclasses
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import regard
from settings import _docstrings as field_docstrings

PAGE = Path(__file__).with_suffix(".md")
HEAD = """\
# Python API

Everything `import regard` offers, generated from signatures and docstrings by `python docs/api.py`. Names that are
not on this page may change without notice. [translation.md](translation.md) is the tutorial.
"""
GROUPS = {
    "Translation": ("Translator", "TranslateOptions", "SearchConfig", "Sampling", "Glossary", "Translation"),
    "Classification": ("Classifier", "Classification"),
    "Forecasting": ("Forecaster", "Forecast"),
    "Traces": ("Trace",),
    "Models": ("Transformer", "ModelConfig", "BASE", "BIG", "SMALL", "TINY"),
    "Errors": ("RegardError",),
}


def page() -> str:
    """Return the whole page; every public name must be in a group."""
    grouped = {name for names in GROUPS.values() for name in names}
    assert grouped == set(regard.__all__) - {"__version__"}, grouped ^ set(regard.__all__)
    parts = [HEAD]
    for title, names in GROUPS.items():
        parts.append(f"## {title}\n")
        parts += [_entry(name, getattr(regard, name)) for name in names]
    return "\n".join(parts)


def _entry(name: str, value: Any) -> str:
    if not inspect.isclass(value):
        return f"### regard.{name}\n\n```python\n{name} = {_wrapped(repr(value))}\n```\n"
    lines = [f"### regard.{name}\n", _text(value.__doc__)]
    if dataclasses.is_dataclass(value):
        lines += list(_fields(value))
    elif not issubclass(value, Exception) and "__init__" in vars(value):
        lines += [_signature(name, value.__init__), _text(value.__init__.__doc__)]
    for method, member in _members(value):
        lines += [f"#### {name}.{method}\n", _member(method, member)]
    return "\n".join(line for line in lines if line)


def _members(value: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties that a class defines itself, in source order."""
    for name, member in vars(value).items():
        public = not name.startswith("_") and not (
            dataclasses.is_dataclass(value) and name in {field.name for field in dataclasses.fields(value)}
        )
        if public and isinstance(member, FunctionType | classmethod | staticmethod | property):
            yield name, member


def _member(name: str, member: Any) -> str:
    if isinstance(member, property):
        return f"*property*\n\n{_text(member.__doc__)}"
    kind = {classmethod: "*class method*\n\n", staticmethod: "*static method*\n\n"}.get(type(member), "")
    function = getattr(member, "__func__", member)
    return f"{kind}{_signature(name, function)}\n{_text(function.__doc__)}"


def _signature(name: str, function: Any) -> str:
    signature = inspect.signature(function)
    parameters = [each for each in signature.parameters.values() if each.name not in ("self", "cls")]
    text = f"{name}{signature.replace(parameters=parameters)}"
    return f"```python\n{_wrapped(_plain(text))}\n```\n"


def _plain(text: str) -> str:
    """Shorten qualified names of types and drop quotes around forward references."""
    text = re.sub(r"\b(?:[a-z_]\w*\.)+([A-Z]\w*)", r"\1", text)
    text = re.sub(r"<class '([^']+)'>", lambda match: match[1].rpartition(".")[2], text)
    return text.replace("'", "").replace('"', "")


def _wrapped(text: str) -> str:
    """Put each argument on a line of its own where one line is too long."""
    if len(text) <= 100:
        return text
    depth, parts, start = 0, [], text.index("(") + 1
    last = start
    for at, letter in enumerate(text[start:], start):
        depth += letter in "([{"
        depth -= letter in ")]}"
        if depth < 0:
            parts.append(text[last:at].strip())
            return text[:start] + "\n    " + ",\n    ".join(parts) + ",\n" + text[at:]
        if letter == "," and depth == 0:
            parts.append(text[last:at].strip())
            last = at + 1
    return text


def _fields(value: type) -> Iterator[str]:
    docstrings = field_docstrings(value)
    rows = [
        f"| `{field.name}` | `{_default(field)}` | {docstrings.get(field.name, '')} |"
        for field in dataclasses.fields(value)
    ]
    yield "\n".join(["| field | default | |", "| --- | --- | --- |", *rows, ""])


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default is not dataclasses.MISSING:
        return repr(field.default).replace("|", "\\|")
    return "required" if field.default_factory is dataclasses.MISSING else "empty"


def _text(docstring: str | None) -> str:
    return f"{inspect.cleandoc(docstring)}\n" if docstring else ""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
