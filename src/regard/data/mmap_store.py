"""Memory-mapped corpora of token ids: larger than memory, and opened without reading them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from regard.data.pairs import PairDataset, RaggedIds
from regard.data.tokenization import CorpusTokenization, NumberedPair, TokenizedPairs, TokenRows

CHUNK_PAIRS = 2**14
"""Pairs tokenized at a time."""
NumberedPairs = Iterable[NumberedPair]


def write_token_ids(
    folder: Path, corpora: Sequence[NumberedPairs], tokenization: CorpusTokenization
) -> dict[str, Any]:
    """Tokenize the corpora one after the other, on all cores; return what `open_pair_dataset` needs."""
    kind, sizes_kind = (
        "<u2" if largest < 2**16 else "<i4"
        for largest in (tokenization.id_count - 1, tokenization.max_length)
    )
    variants = tokenization.dropout.variants
    sizes, long_counts = [], Counter()
    with (
        _SideWriter(folder, "source", kind, sizes_kind) as source,
        _SideWriter(folder, "target", kind, sizes_kind) as target,
        (folder / "lines").open("wb") as lines,
    ):
        for texts in corpora:
            before = source.sentences
            for chunk in _tokenize_chunks(texts, tokenization):
                source.add(chunk.source)
                target.add(chunk.target)
                lines.write(np.array(chunk.line_numbers, "<i8").tobytes())
                long_counts += chunk.long_counts
            sizes.append((source.sentences - before) // variants)
    return {
        "kind": kind,
        "sizes_kind": sizes_kind,
        "sizes": sizes,
        "variants": variants,
        "long": dict(long_counts),
    }


def open_pair_dataset(folder: Path, facts: Mapping[str, Any], weights: Sequence[float]) -> PairDataset:
    """Map what `write_token_ids` wrote; nothing is read before it is accessed."""
    source, target = (
        RaggedIds(
            _open_mmap(folder / f"{side}.ids", facts["kind"]),
            _open_mmap(folder / f"{side}.starts", "<i8"),
            _open_mmap(folder / f"{side}.sizes", facts["sizes_kind"]),
        )
        for side in ("source", "target")
    )
    lines = _open_mmap(folder / "lines", "<i8")
    return PairDataset(source, target, tuple(facts["sizes"]), tuple(weights), facts["variants"], lines)


def _tokenize_chunks(texts: NumberedPairs, tokenization: CorpusTokenization) -> Iterator[TokenizedPairs]:
    """Yield the tokenized chunks; while one is tokenized, the next is read."""
    with ThreadPoolExecutor(1) as worker:
        pending = None
        for number, chunk in enumerate(_chunks(texts)):
            job = worker.submit(tokenization, chunk, number * CHUNK_PAIRS)
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
    """Writes the files of one side: ids end to end, the start of each sentence, and its length."""

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
    """Map a file; slices of the plain view are faster than those of `np.memmap` itself."""
    return np.asarray(np.memmap(path, kind, "r")) if path.stat().st_size else np.zeros(0, kind)
