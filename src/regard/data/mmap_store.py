"""Token ids in files that are mapped into memory: a corpus may be larger than memory, and opens at once."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from regard.data.config import Long
from regard.data.pairs import Ids, Pairs
from regard.data.tokenization import NO_DROPOUT, Numbered, PieceDropout, Rows, Tokenized, tokenize_pairs
from regard.text.tokenizer import Tokenizer

CHUNK = 2**14  # pairs tokenized together
Texts = Iterable[Numbered]
Tokenize = Callable[[Sequence[Numbered], int], Tokenized]
"""Some lines as ids; the number is the place of the first of them in its corpus."""


def write_pairs(
    folder: Path,
    corpora: Sequence[Texts],
    tokenizer: Tokenizer,
    longest: int,
    policy: Long,
    dropout: PieceDropout = NO_DROPOUT,
) -> dict[str, Any]:
    """Tokenizes the corpora one after the other, on all cores; returns what `open_pairs` must be told."""

    def tokenize(chunk: Sequence[Numbered], first: int) -> Tokenized:
        return tokenize_pairs(chunk, tokenizer, longest, policy, dropout, first)

    return write_rows(folder, corpora, tokenize, tokenizer.vocab_size, longest, dropout.ways)


def write_rows(
    folder: Path, corpora: Sequence[Texts], tokenize: Tokenize, ids: int, longest: int, ways: int
) -> dict[str, Any]:
    """The same, however two texts become ids, of which there are so many; each stands there in `ways`."""
    kind, sizes_kind = ("<u2" if most < 2**16 else "<i4" for most in (ids - 1, longest))
    sizes, long = [], Counter()
    with (
        _SideWriter(folder, "source", kind, sizes_kind) as source,
        _SideWriter(folder, "target", kind, sizes_kind) as target,
        (folder / "lines").open("wb") as lines,
    ):
        for texts in corpora:
            before = source.sentences
            for some in _tokenized(texts, tokenize):
                source.add(some.source)
                target.add(some.target)
                lines.write(np.array(some.lines, "<i8").tobytes())
                long += some.long
            sizes.append((source.sentences - before) // ways)
    return {"kind": kind, "sizes_kind": sizes_kind, "sizes": sizes, "ways": ways, "long": dict(long)}


def open_pairs(folder: Path, facts: Mapping[str, Any], weights: Sequence[float]) -> Pairs:
    """The pairs that `write_pairs` wrote; nothing is read before it is asked for."""
    source, target = (
        Ids(
            _mapped(folder / f"{side}.ids", facts["kind"]),
            _mapped(folder / f"{side}.starts", "<i8"),
            _mapped(folder / f"{side}.sizes", facts["sizes_kind"]),
        )
        for side in ("source", "target")
    )
    lines = _mapped(folder / "lines", "<i8")
    return Pairs(source, target, tuple(facts["sizes"]), tuple(weights), facts["ways"], lines)


def _tokenized(texts: Texts, tokenize: Tokenize) -> Iterator[Tokenized]:
    """Chunk by chunk; while one is tokenized, the next is read."""
    with ThreadPoolExecutor(1) as worker:
        pending = None
        for number, chunk in enumerate(_chunks(texts)):
            job = worker.submit(tokenize, chunk, number * CHUNK)
            if pending is not None:
                yield pending.result()
            pending = job
        if pending is not None:
            yield pending.result()


def _chunks(texts: Texts) -> Iterator[list[Numbered]]:
    texts = iter(texts)
    while chunk := list(islice(texts, CHUNK)):
        yield chunk


class _SideWriter:
    """The files of one side: the ids end to end, where each sentence starts, and how long it is."""

    def __init__(self, folder: Path, side: str, kind: str, sizes_kind: str) -> None:
        self._ids: IO[bytes] = (folder / f"{side}.ids").open("wb")
        self._starts: IO[bytes] = (folder / f"{side}.starts").open("wb")
        self._sizes: IO[bytes] = (folder / f"{side}.sizes").open("wb")
        self._starts.write(np.zeros(1, "<i8").tobytes())
        self._kind, self._sizes_kind, self._end, self.sentences = kind, sizes_kind, 0, 0

    def __enter__(self) -> "_SideWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self._ids.close()
        self._starts.close()
        self._sizes.close()

    def add(self, rows: Rows) -> None:
        sizes = np.array([len(row) for row in rows], "<i8")
        ends = self._end + np.cumsum(sizes)
        self._sizes.write(sizes.astype(self._sizes_kind).tobytes())
        self._starts.write(ends.tobytes())
        self._ids.write(np.array([id for row in rows for id in row], self._kind).tobytes())
        if rows:
            self._end, self.sentences = int(ends[-1]), self.sentences + len(rows)


def _mapped(path: Path, kind: str) -> np.ndarray:
    """A plain view of the map: slices of `np.memmap` itself are slow."""
    return np.asarray(np.memmap(path, kind, "r")) if path.stat().st_size else np.zeros(0, kind)
