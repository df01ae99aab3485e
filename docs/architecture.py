"""Write the module tree of docs/architecture.md from the first line of each module's docstring.

python docs/architecture.py
"""

import ast
from collections.abc import Iterator
from pathlib import Path

PAGE = Path(__file__).with_suffix(".md")
SOURCE = PAGE.parent.parent / "src" / "regard"
START, END = "<!-- module tree: python docs/architecture.py -->\n", "<!-- end of the module tree -->\n"
DATA_FLOW = [
    *("text", "corpus", "data", "model", "training", "search", "metrics", "inference"),
    *("translation", "classification", "forecasting", "documents", "jobs"),
    *("trace", "plots", "server", "assets", "demo", "api", "cli"),
]
"""The packages in the order in which data passes through them."""


def page() -> str:
    """Return the whole page with a tree that matches the source."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}{tree()}{END}{after}"


def tree() -> str:
    """Return one table for each package, then one for the modules beside them."""
    packages = [path.parent for path in SOURCE.glob("*/__init__.py")]
    order = sorted(packages, key=lambda path: DATA_FLOW.index(path.name))
    return "".join(["\n", *(_table(package) for package in order), _modules_beside()])


def _table(package: Path) -> str:
    rows = [
        f"| [{path.relative_to(package)}](../src/regard/{path.relative_to(SOURCE)}) | {summary(path)} |\n"
        for path in _modules(package)
    ]
    title = f"### regard.{package.name}\n\n{summary(package / '__init__.py')}\n\n"
    return title + ("| module | |\n| --- | --- |\n" + "".join(rows) + "\n" if rows else "")


def _modules(package: Path) -> Iterator[Path]:
    """Yield the modules of a package and of its subpackages."""
    for path in sorted(package.rglob("*.py"), key=lambda path: (path.parent, path.name)):
        if path.name != "__init__.py":
            yield path


def _modules_beside() -> str:
    rows = [
        f"| [{path.name}](../src/regard/{path.name}) | {summary(path)} |\n"
        for path in sorted(SOURCE.glob("*.py"))
    ]
    return "### Modules outside the packages\n\n| module | |\n| --- | --- |\n" + "".join(rows) + "\n"


def summary(path: Path) -> str:
    """Return the first line of a module's docstring, as Markdown in a table."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert docstring, f"{path} has no docstring"
    return docstring.partition("\n\n")[0].replace("\n", " ").replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
