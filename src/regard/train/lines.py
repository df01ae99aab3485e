"""Lines of files, for a person who must find the one that spoils a step."""

from collections.abc import Iterable
from dataclasses import dataclass

SHOWN = 20


@dataclass(frozen=True)
class Lines:
    """Lines of files that belong together: a source and its target, or one file of both."""

    files: tuple[str, ...]
    numbers: tuple[int, ...]
    """Counted from 1, each once and in order."""

    def __str__(self) -> str:
        shown = ", ".join(map(str, self.numbers[:SHOWN]))
        more = f" and {len(self.numbers) - SHOWN:,} more" if len(self.numbers) > SHOWN else ""
        return f"{' and '.join(self.files)} line{'s' if len(self.numbers) > 1 else ''} {shown}{more}"


def together(some: Iterable[Lines]) -> list[Lines]:
    """All of them, each file named once."""
    numbers: dict[tuple[str, ...], set[int]] = {}
    for each in some:
        numbers.setdefault(each.files, set()).update(each.numbers)
    return [Lines(files, tuple(sorted(found))) for files, found in numbers.items()]
