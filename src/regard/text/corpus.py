"""Text files, read as what lies between newline bytes and nothing else."""

from dataclasses import dataclass
from pathlib import Path
from random import Random

from regard.errors import DataError


@dataclass(frozen=True)
class Corpus:
    """Sentences and their translations, pair by pair."""

    source: list[str]
    target: list[str]
    blank: int = 0
    """Pairs left out because one side had nothing on it."""

    def __len__(self) -> int:
        return len(self.source)


def read_corpus(source: Path, target: Path) -> Corpus:
    """The pairs of two files that match line by line; refused if they cannot."""
    sources, targets = read_lines(source), read_lines(target)
    if len(sources) != len(targets):
        raise DataError(
            f"{source} has {len(sources)} lines and {target} {len(targets)}; "
            "the two sides must pair line by line"
        )
    pairs = [(a.strip(), b.strip()) for a, b in zip(sources, targets, strict=True)]
    full = [(a, b) for a, b in pairs if a and b]
    if not full:
        raise DataError(f"{source} and {target} have no pair with text on both sides")
    return Corpus([a for a, _ in full], [b for _, b in full], blank=len(pairs) - len(full))


def read_lines(path: Path) -> list[str]:
    """The lines of a UTF-8 file that must have some."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"{path} does not exist; give the path of a text file") from None
    except IsADirectoryError:
        raise DataError(f"{path} is a folder; give the path of a text file") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
    if not content:
        raise DataError(f"{path} is empty; it must hold one sentence per line")
    return split_lines(content, str(path))


def split_lines(content: bytes, name: str) -> list[str]:
    """Lines end at a newline byte; U+2028 and its like are text, and a final newline starts no line."""
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if not lines[-1]:
        lines.pop()
    return [_decode(line, name, number) for number, line in enumerate(lines, start=1)]


def hold_out(corpus: Corpus, pairs: int, seed: int) -> tuple[Corpus, Corpus]:
    """The corpus without a random part, and that part; no sentence of the part stays behind.

    Repeats are common in real corpora: a pair that shares either side with a held-out one is
    held out of both, or validation would measure memory.
    """
    order = list(range(len(corpus)))
    Random(seed).shuffle(order)
    held = sorted(order[:pairs])
    sources = {corpus.source[i] for i in held}
    targets = {corpus.target[i] for i in held}
    rest = [
        i for i in range(len(corpus)) if corpus.source[i] not in sources and corpus.target[i] not in targets
    ]
    return _take(corpus, rest), _take(corpus, held)


def _take(corpus: Corpus, indexes: list[int]) -> Corpus:
    return Corpus([corpus.source[i] for i in indexes], [corpus.target[i] for i in indexes])


def _decode(line: bytes, name: str, number: int) -> str:
    try:
        return line.decode("utf-8").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{name} line {number} is not UTF-8 (byte {error.start + 1} is 0x{line[error.start]:02x}); "
            "convert the file to UTF-8"
        ) from None
