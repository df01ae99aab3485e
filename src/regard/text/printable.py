"""What of a text can be shown: a model can write any byte, and a terminal or a page would obey some."""

JOINERS = "\u200c\u200d"
"""Persian, Hindi and their like are misspelt without them."""


def printable(text: str, longest: int = 500) -> str:
    """The text on one line, without what moves a cursor, turns the reading order or is in no page.

    A young model repeats itself without end, so only the beginning of a long text is shown.
    """
    shown = "".join(letter if letter.isprintable() or letter in JOINERS else " " for letter in text[:longest])
    return shown.strip() + ("…" if len(text) > longest else "")
