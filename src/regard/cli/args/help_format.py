"""Help texts that fit the terminal: paragraphs are filled, indented lines keep their columns."""

import argparse
import re
import textwrap
from collections.abc import Iterator

HIDDEN_NAMES = ("--output",)
"""Other names of a flag, which are accepted but not shown."""
COLUMNS = re.compile(r"( *\S(?:.*?\S)?)( {2,})(?=\S)")
"""The first column of a line and the two spaces or more that end it."""


class HelpFormatter(argparse.HelpFormatter):
    """A formatter for descriptions with paragraphs, headings and indented examples."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines = wrap_help(text, width - len(indent))
        return "".join(f"{indent}{line}".rstrip() + "\n" for line in lines)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        """Return the names of a flag with its value once: `-o, --out FILE`."""
        if not action.option_strings:
            return super()._format_action_invocation(action)
        names = ", ".join(name for name in action.option_strings if name not in HIDDEN_NAMES)
        if action.nargs == 0:
            return names
        return f"{names} {self._format_args(action, self._get_default_metavar_for_optional(action))}"


def flag_name(action: argparse.Action) -> str:
    """Return the name of an argument in messages: its first long flag, or its metavar."""
    flags = action.option_strings
    return next((flag for flag in flags if flag.startswith("--")), flags[0] if flags else str(action.metavar))


def wrap_help(text: str, width: int) -> Iterator[str]:
    """Yield lines of at most `width` characters.

    Lines without indentation are a paragraph. Indented ones are kept if they fit; others are wrapped below
    their second column, which begins after two spaces.
    """
    paragraph: list[str] = []
    for entry in _entries(text):
        if entry[0] and not entry[0].startswith(" "):
            paragraph += entry
            continue
        yield from textwrap.wrap(" ".join(paragraph), width)
        paragraph = []
        yield from entry if max(map(len, entry)) <= width else _wrap_entry(entry, width)
    yield from textwrap.wrap(" ".join(paragraph), width)


def _entries(text: str) -> Iterator[list[str]]:
    """Yield each line with the lines that continue it.

    They are indented more, or alike in a paragraph; commands below a heading `examples` are no paragraph.
    """
    entry: list[str] = []
    heading = ""
    for line in text.rstrip("\n").split("\n"):
        if entry and entry[0].startswith(" ") and line.strip():
            deeper = _indentation(line) - _indentation(entry[0])
            is_prose = not heading.startswith("example") and not any(map(COLUMNS.match, (entry[0], line)))
            if deeper > 0 or (deeper == 0 and is_prose):
                entry.append(line)
                continue
        if entry:
            yield entry
        entry = [line]
        heading = heading if line.startswith(" ") or not line else line
    yield entry


def _wrap_entry(entry: list[str], width: int) -> Iterator[str]:
    if len(entry) > 1 and any(line.endswith("\\") for line in entry):  # a command over several lines
        for line in entry:
            yield from _wrap_line(line, _indentation(line) + 4, width)
        return
    indentation = _indentation(entry[0])
    columns = COLUMNS.match(entry[0])
    text = " ".join([entry[0].rstrip(), *(line.strip() for line in entry[1:])])
    if columns is None:
        hanging = indentation if len(entry) > 1 else indentation + 4
        yield from _wrap_line(text, hanging, width)
    elif columns.end() <= width // 2:
        yield from _wrap_line(text, columns.end(), width)
    else:  # no room for the second column: below the first
        yield from _wrap_line(columns[1], indentation + 4, width)
        rest = " ".join(text[columns.end() :].split())
        yield from _wrap_line(" " * (indentation + 4) + rest, indentation + 4, width)


def _wrap_line(line: str, hanging: int, width: int) -> list[str]:
    return textwrap.wrap(
        line,
        max(width, hanging + 10),
        subsequent_indent=" " * hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())
