"""Characters that no text should have."""

import re

from regard.text import findings as kinds
from regard.text.findings import Kind

CONTROL = re.compile(r"[\x01-\x08\x0a-\x1f\x7f-\x9f]")


def no_print(*texts: str) -> Kind | None:
    """What is in one of the texts that prints nothing; a tab is fine."""
    if all(map(str.isprintable, texts)):  # quick, and true of nearly all lines
        return None
    if any("\0" in text for text in texts):
        return kinds.NUL
    return kinds.CONTROL if any(map(CONTROL.search, texts)) else None
