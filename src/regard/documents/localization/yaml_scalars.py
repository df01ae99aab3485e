"""Scalars of YAML: where one stands in the document, and how another text is spelled in its style."""

import re
from dataclasses import dataclass
from functools import cache

import yaml

PROPERTIES = re.compile(r"(?:[&!]\S*(?:\s+|[ \t]#[^\n]*\n)*)+")
"""The anchor and tag before a scalar."""
BLOCK_HEADER = re.compile(r"[|>](?:[+-]?([1-9])?[+-]?)[ \t]*(?:#[^\r\n]*)?(\r\n|\r|\n)")
BREAK = r"(?:\r\n|\r|\n)"
UNPRINTABLE = re.compile(
    "[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
"""What a plain, single-quoted or block scalar cannot hold, or reads as a line break."""
UNSAFE_START = re.compile(r"[-?:,\[\]{}#&*!|>'\"%@`=<~\s]|\.\.\.|\+")
UNSAFE_IN_PLAIN = re.compile(r":(?=\s|\Z)|\s#|[\t\n]|\s\Z")
UNSAFE_IN_FLOW = re.compile(r"[,\[\]{}?:]")
NOT_A_STRING = re.compile(
    r"[-+.]*\d[-+.\d_,:eExXoOabcdefABCDEF]*|y|n|yes|no|true|false|on|off|null|~|\.nan|[-+]?\.inf",
    re.IGNORECASE,
)
"""Scalars that some version of YAML reads as a number, boolean or null."""
ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0", "\x1b": "\\e"}


@dataclass(frozen=True)
class YamlScalarStyle:
    """How a scalar of the document is written."""

    quote: str
    """`'`, `"`, `|`, `>`, or nothing."""
    original: str
    indent: int = 0
    """Spaces before each line of a block scalar."""
    in_flow: bool = False
    ascii_only: bool = False

    def write(self, text: str) -> str:
        """Spell a text in this style, or between double quotes if the style cannot hold it."""
        spelled = None
        if not UNPRINTABLE.search(text) and not (self.ascii_only and not text.isascii()):
            match self.quote:
                case "'":
                    spelled = None if "\n" in text else "'{}'".format(text.replace("'", "''"))
                case "|" | ">":
                    spelled = self._write_block(text)
                case "":
                    spelled = text if is_plain(text, self.in_flow) else None
        return self._double_quoted(text) if spelled is None else spelled

    def _double_quoted(self, text: str) -> str:
        raw = "".join(self._escape(letter) for letter in text)
        if self.quote not in ("|", ">"):
            return f'"{raw}"'
        ending = re.search(rf"{BREAK}\s*\Z", self.original)  # the line break belongs to the block
        return f'"{raw}"' + (ending[0] if ending else "")

    def _escape(self, letter: str) -> str:
        if letter in ESCAPES:
            return ESCAPES[letter]
        if not UNPRINTABLE.match(letter) and not (self.ascii_only and letter > "\x7e"):
            return letter
        code = ord(letter)
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

    def _write_block(self, text: str) -> str | None:
        header = BLOCK_HEADER.match(self.original)
        body = text.rstrip("\n")
        lines = body.split("\n")
        starts_with_space = re.match(r"[ \t\n]", body) is not None
        if header is None or not body or (starts_with_space and header[1] is None):
            return None
        if self.quote == ">":
            if any(line[:1] in (" ", "\t") for line in lines) or "\n\n\n" in body:
                return None
            lines = self._fold(lines)
        newline, end = header[2], len(self.original.rstrip(" \t\r\n"))
        ending = self.original[end:]
        if re.match(rf"[ \t]*{BREAK}|\Z", ending) is None:
            return None
        ending = ending.lstrip(" \t")
        return (
            header[0] + newline.join(f"{' ' * self.indent}{line}" if line else "" for line in lines) + ending
        )

    def _fold(self, lines: list[str]) -> list[str]:
        """Return the rows of a folded scalar: an empty row between lines, which break at single spaces."""
        width = max(len(row) - self.indent for row in self.original.splitlines()[1:])
        rows: list[str] = []
        for at, line in enumerate(lines):
            if at and line and lines[at - 1]:
                rows.append("")
            row = ""
            for word in re.split(r"(?<=\S) (?=\S)", line):
                if row and len(row) + 1 + len(word) > width:
                    rows.append(row)
                    row = word
                else:
                    row = f"{row} {word}" if row else word
            rows.append(row)
        return rows


def scalar_span(document: str, start: int, end: int, has_properties: bool) -> tuple[int, int]:
    """Return the span of a scalar without the anchor and tag before it."""
    properties = PROPERTIES.match(document, start, end) if has_properties else None
    return (properties.end() if properties else start), end


def block_indent(original: str, text: str) -> int:
    """Return the number of spaces before the lines of a block scalar that holds this text."""
    row = next((row for row in original.splitlines()[1:] if row.strip(" ")), "")
    line = next((line for line in text.split("\n") if line.strip(" ")), "")
    return len(row) - len(row.lstrip(" ")) - (len(line) - len(line.lstrip(" ")))


@cache
def is_string(text: str) -> bool:
    """Whether a plain scalar is a string, not a number, boolean, date, null or Ruby symbol."""
    tag = RESOLVER.resolve(yaml.ScalarNode, text, (True, False))
    return tag == "tag:yaml.org,2002:str" and re.fullmatch(r":[A-Za-z_]\w*[?!]?", text) is None


def is_plain(text: str, in_flow: bool) -> bool:
    """Whether a text can be written without quotes, and every version of YAML reads it as a string."""
    if not text or UNSAFE_START.match(text) or UNSAFE_IN_PLAIN.search(text):
        return False
    return (
        is_string(text) and not NOT_A_STRING.fullmatch(text) and not (in_flow and UNSAFE_IN_FLOW.search(text))
    )


RESOLVER = yaml.resolver.Resolver()
