"""Write docs/api.md, the reference of the public Python API, from signatures and docstrings.

python docs/api.py
"""

import ast
import dataclasses
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

from settings import field_docstrings

import regard

PAGE = Path(__file__).with_suffix(".md")
HEAD = """\
# Python API

Everything that `import regard` offers, generated from signatures and docstrings by `python docs/api.py`.
Names that are not on this page may change without notice. [translation.md](translation.md) is the tutorial.
"""
GROUPS = {
    "Training": ("train", "Callback"),
    "Translation": (
        *("Translator", "TranslateOptions", "SearchConfig", "Sampling"),
        *("Glossary", "Translation"),
    ),
    "Classification": ("Classifier", "Classification"),
    "Forecasting": ("Forecaster", "Forecast"),
    "Traces": ("Trace",),
    "Models": (
        "Transformer",
        "TransformerClassifier",
        "TransformerForecaster",
        "ModelConfig",
        "BASE",
        "BIG",
        "SMALL",
        "TINY",
    ),
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
    if isinstance(value, FunctionType):
        return f"### regard.{name}\n\n{_signature(name, value)}\n{_text(value.__doc__)}"
    if not inspect.isclass(value):
        return f"### regard.{name}\n\n```python\n{name} = {_constructor(value)}\n```\n"
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
    """Return the signature as the source writes it, one parameter a line where it is long."""
    [definition] = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(definition, ast.FunctionDef)
    parameters = [each for each in _parameters(definition.args) if each not in ("self", "cls")]
    returns = "" if definition.returns is None or name[0].isupper() else f" -> {_plain(definition.returns)}"
    line = f"{name}({', '.join(parameters)}){returns}"
    if len(line) > 100:
        lines = ",\n    ".join(parameters)
        line = f"{name}(\n    {lines},\n){returns}"
    return f"```python\n{line}\n```\n"


def _parameters(arguments: ast.arguments) -> Iterator[str]:
    positional = [*arguments.posonlyargs, *arguments.args]
    missing: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    for argument, default in zip(positional, [*missing, *arguments.defaults], strict=True):
        yield _parameter(argument, default)
    if arguments.kwonlyargs:
        yield "*"
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _parameter(argument, default)
    if arguments.kwarg is not None:
        yield f"**{_parameter(arguments.kwarg, None)}"


def _parameter(argument: ast.arg, default: ast.expr | None) -> str:
    annotation = "" if argument.annotation is None else f": {_plain(argument.annotation)}"
    return f"{argument.arg}{annotation}" + ("" if default is None else f" = {ast.unparse(default)}")


def _plain(annotation: ast.expr) -> str:
    """Return an annotation without the quotes of a forward reference."""
    quoted = isinstance(annotation, ast.Constant) and isinstance(annotation.value, str)
    return annotation.value if quoted else ast.unparse(annotation)


def _constructor(value: Any) -> str:
    """Return a settings object with those fields that differ from their defaults."""
    changed = [
        f"{field.name}={getattr(value, field.name)!r}"
        for field in dataclasses.fields(value)
        if getattr(value, field.name) != field.default
    ]
    return f"{type(value).__name__}({', '.join(changed)})"


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
