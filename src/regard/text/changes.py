"""What is new in a sentence, word by word."""

import difflib
from collections.abc import Iterator


def changes(before: str | None, now: str) -> Iterator[tuple[str, bool]]:
    """The words of `now`, each with whether it is new since `before`; if there was none, nothing is."""
    new = now.split()
    old = new if before is None else before.split()
    for tag, _, _, start, end in difflib.SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes():
        for word in new[start:end]:
            yield word, tag != "equal"
