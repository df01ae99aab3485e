"""Token ids in files that are mapped into memory: a corpus may be larger than memory, and opens at once."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from regard.data.config import LongPairPolicy
from regard.data.pairs import PairDataset, RaggedIds
from regard.data.tokenization import (
    NO_BPE_DROPOUT,
    BPEDropout,
    NumberedPair,
    TokenizedPairs,
    TokenRows,
    tokenize_pairs,
)
from regard.text.tokenizer import Tokenizer

CHUNK_PAIRS = 2**14  # pairs tokenized together
NumberedPairs = Iterable[NumberedPair]
TokenizeChunk = Callable[[Sequence[NumberedPair], int], TokenizedPairs]
"""Some lines as ids; the number is the place of the first of them in its corpus."""


def write_tokenized_pairs(
    folder: Path,
    corpora: Sequence[NumberedPairs],
    tokenizer: Tokenizer,
    max_length: int,
    policy: LongPairPolicy,
    dropout: BPEDropout = NO_BPE_DROPOUT,
) -> dict[str, Any]:
    """Tokenizes the corpora one after the other, on all cores; returns what `open_pairs` must be told."""

    def tokenize(chunk: Sequence[NumberedPair], first: int) -> TokenizedPairs:
        return tokenize_pairs(chunk, tokenizer, max_length, policy, dropout, first)

    return write_token_rows(folder, corpora, tokenize, tokenizer.vocab_size, max_length, dropout.variants)


def write_token_rows(
    folder: Path,
    corpora: Sequence[NumberedPairs],
    tokenize: TokenizeChunk,
    vocab_size: int,
    max_length: int,
    variants: int,
) -> dict[str, Any]:
    """The same, however two texts become ids, of which there are so many; each stands there in `ways`."""
    kind, sizes_kind = ("<u2" if most < 2**16 else "<i4" for most in (vocab_size - 1, max_length))
    sizes, long = [], Counter()
    with (
        _SideWriter(folder, "source", kind, sizes_kind) as source,
        _SideWriter(folder, "target", kind, sizes_kind) as target,
        (folder / "lines").open("wb") as lines,
    ):
        for texts in corpora:
            before = source.sentences
            for some in _tokenize_chunks(texts, tokenize):
                source.add(some.source)
                target.add(some.target)
                lines.write(np.array(some.line_numbers, "<i8").tobytes())
                long += some.long_counts
            sizes.append((source.sentences - before) // variants)
    return {"kind": kind, "sizes_kind": sizes_kind, "sizes": sizes, "ways": variants, "long": dict(long)}


def open_pair_dataset(folder: Path, facts: Mapping[str, Any], weights: Sequence[float]) -> PairDataset:
    """The pairs that `write_pairs` wrote; nothing is read before it is asked for."""
    source, target = (
        RaggedIds(
            _open_mmap(folder / f"{side}.ids", facts["kind"]),
            _open_mmap(folder / f"{side}.starts", "<i8"),
            _open_mmap(folder / f"{side}.sizes", facts["sizes_kind"]),
        )
        for side in ("source", "target")
    )
    lines = _open_mmap(folder / "lines", "<i8")
    return PairDataset(source, target, tuple(facts["sizes"]), tuple(weights), facts["ways"], lines)


def _tokenize_chunks(texts: NumberedPairs, tokenize: TokenizeChunk) -> Iterator[TokenizedPairs]:
    """Chunk by chunk; while one is tokenized, the next is read."""
    with ThreadPoolExecutor(1) as worker:
        pending = None
        for number, chunk in enumerate(_chunks(texts)):
            job = worker.submit(tokenize, chunk, number * CHUNK_PAIRS)
            if pending is not None:
                yield pending.result()
            pending = job
        if pending is not None:
            yield pending.result()


def _chunks(texts: NumberedPairs) -> Iterator[list[NumberedPair]]:
    texts = iter(texts)
    while chunk := list(islice(texts, CHUNK_PAIRS)):
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

    def add(self, rows: TokenRows) -> None:
        sizes = np.array([len(row) for row in rows], "<i8")
        ends = self._end + np.cumsum(sizes)
        self._sizes.write(sizes.astype(self._sizes_kind).tobytes())
        self._starts.write(ends.tobytes())
        self._ids.write(np.array([id for row in rows for id in row], self._kind).tobytes())
        if rows:
            self._end, self.sentences = int(ends[-1]), self.sentences + len(rows)


def _open_mmap(path: Path, kind: str) -> np.ndarray:
    """A plain view of the map: slices of `np.memmap` itself are slow."""
    return np.asarray(np.memmap(path, kind, "r")) if path.stat().st_size else np.zeros(0, kind)
