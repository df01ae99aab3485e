"""Pages in HTML, CSS and JavaScript: the explorer, exported traces, and the translator."""

from collections.abc import Iterator
from importlib.resources.abc import Traversable


def walk_files(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, Traversable]]:
    """Yield every file below a folder with its relative path."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from walk_files(entry, f"{prefix}{entry.name}/")
        else:
            yield f"{prefix}{entry.name}", entry
