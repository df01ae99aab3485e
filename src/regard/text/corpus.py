"""Text files, read as what lies between newline bytes and nothing else."""

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from regard.errors import DataError
from regard.text.lines import read_lines


@dataclass(frozen=True)
class Corpus:
    """Sentences and their translations, pair by pair, in Unicode's form NFC."""

    source: list[str]
    target: list[str]
    left_out: Mapping[str, int] = field(default_factory=dict)
    """How many pairs of the files are not here, by reason."""
    files: Mapping[str, str] = field(default_factory=dict)
    """The SHA-256 of each file as it was read."""

    def __len__(self) -> int:
        return len(self.source)


def read_corpus(source: Path, target: Path) -> Corpus:
    """The pairs of two files that match line by line; refused if they cannot."""
    (sources, source_digest), (targets, target_digest) = _read(source), _read(target)
    if len(sources) != len(targets):
        raise DataError(
            f"{source} has {len(sources)} lines and {target} {len(targets)}; "
            "the two sides must pair line by line"
        )
    pairs = [(clean(a), clean(b)) for a, b in zip(sources, targets, strict=True)]
    full = [(a, b) for a, b in pairs if a and b]
    if not full:
        raise DataError(f"{source} and {target} have no pair with text on both sides")
    return Corpus(
        [a for a, _ in full],
        [b for _, b in full],
        left_out={"with a blank side": len(pairs) - len(full)},
        files={str(source): source_digest, str(target): target_digest},
    )


def read_texts(path: Path) -> list[str]:
    """The lines of a file, packed or not, that must have some; blank ones too, and none mended."""
    return _read(path)[0]


def _read(path: Path) -> tuple[list[str], str]:
    """Those lines, and the SHA-256 of the file as it lies on disk."""
    digest = hashlib.sha256()
    lines = enumerate(read_lines(path, digest.update), start=1)
    texts = [_decoded(line, str(path), number) for number, line in lines]
    if not texts:
        raise DataError(f"{path} is empty; it must hold one sentence per line")
    return texts, digest.hexdigest()


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


def hold_out(corpus: Corpus, pairs: int, seed: int) -> tuple[Corpus, Corpus]:
    """The corpus without a random part, and that part; no sentence of the part stays behind.

    Repeats are common in real corpora, and a pair that shares a side with a held-out one is left
    out of both, or validation would measure memory. To lose few, those that share least are held
    out first.
    """
    sources, targets = Counter(corpus.source), Counter(corpus.target)
    order = list(range(len(corpus)))
    Random(seed).shuffle(order)
    order.sort(key=lambda i: sources[corpus.source[i]] + targets[corpus.target[i]])
    held = sorted(order[:pairs])
    held_sources, held_targets = {corpus.source[i] for i in held}, {corpus.target[i] for i in held}
    rest = [
        i
        for i in range(len(corpus))
        if corpus.source[i] not in held_sources and corpus.target[i] not in held_targets
    ]
    lost = {"sharing a sentence with the held-out part": len(corpus) - len(rest) - len(held)}
    return _take(corpus, rest, {**corpus.left_out, **lost}), _take(corpus, held, {})


def _take(corpus: Corpus, indexes: list[int], left_out: Mapping[str, int]) -> Corpus:
    source, target = [corpus.source[i] for i in indexes], [corpus.target[i] for i in indexes]
    return Corpus(source, target, left_out, corpus.files)


def _decoded(line: bytes, name: str, number: int) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{name} line {number} is not UTF-8 (byte {error.start + 1} is 0x{line[error.start]:02x}); "
            "convert the file to UTF-8"
        ) from None
