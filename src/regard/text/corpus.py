"""Text files, read as what lies between newline bytes and nothing else."""

import unicodedata
from pathlib import Path

from regard.errors import DataError
from regard.text.lines import read_lines


def read_texts(path: Path) -> list[str]:
    """The lines of a file, packed or not, that must have some; blank ones too, and none mended."""
    texts = [_decoded(line, str(path), number) for number, line in enumerate(read_lines(path), start=1)]
    if not texts:
        raise DataError(f"{path} is empty; it must hold one sentence per line")
    return texts


def split_lines(content: bytes, name: str) -> list[str]:
    """Lines end at a newline byte; U+2028 and its like are text, and a final newline starts no line."""
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if not lines[-1]:
        lines.pop()
    return [as_text(line, name, number) for number, line in enumerate(lines, start=1)]


def as_text(line: bytes, name: str, number: int) -> str:
    """One line, without the carriage return that Windows leaves at its end."""
    return _decoded(line.removesuffix(b"\r"), name, number)


def clean(line: str) -> str:
    """The line as training sees it: without blanks around it, and in one spelling."""
    return unicodedata.normalize("NFC", line.strip())


def _decoded(line: bytes, name: str, number: int) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{name} line {number} is not UTF-8 (byte {error.start + 1} is 0x{line[error.start]:02x}); "
            "convert the file to UTF-8"
        ) from None
