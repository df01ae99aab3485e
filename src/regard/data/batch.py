"""Sentence pairs and labelled texts as tensors, end to end without padding; padded rows for search."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Int, Int64, Integer
from torch import Tensor

from regard.data.pairs import Ids
from regard.text.tokenizer import BOS, EOS, PAD

Row = Sequence[int] | Integer[np.ndarray, " _"]


class Side(NamedTuple):
    """One language of a batch: its sentences end to end in one row."""

    tokens: Int[Tensor, "1 tokens"]
    at: Int[Tensor, "1 tokens"]
    """The position of each token in its sentence."""
    starts: Int[Tensor, " sentences_and_one"]
    """Where each sentence begins, and where the last one ends."""

    def to(self, device: torch.device) -> "Side":
        return Side(*(tensor.to(device, non_blocking=True) for tensor in self))


class Form(NamedTuple):
    """One shape for every batch, which is what a captured GPU program needs."""

    tokens: int
    sentences: int
    longest: int

    @property
    def room(self) -> int:
        """Pairs that surely fit, whatever padding comes after them."""
        return self.sentences - (-(-self.tokens // self.longest))


@dataclass(frozen=True)
class PairBatch:
    """What one training step sees; the target stands twice, shifted by one (section 3.1)."""

    source: Side
    """a b c </s>"""
    target_in: Side
    """<s> x y"""
    target_out: Int[Tensor, "1 tokens"]
    """x y </s>"""
    longest_source: int
    longest_target: int
    source_tokens: int
    """Real ones, the end mark counted."""
    target_tokens: int
    pairs: Int64[np.ndarray, " pairs"]
    """Which pairs of the corpus these are."""

    @property
    def places(self) -> int:
        """Tokens that are computed, real or not."""
        return self.source.tokens.shape[1] + self.target_out.shape[1]

    def tensors(self) -> tuple[Tensor, ...]:
        """All of them, in one order."""
        return (*self.source, *self.target_in, self.target_out)

    def to(self, device: torch.device) -> "PairBatch":
        return replace(
            self,
            source=self.source.to(device),
            target_in=self.target_in.to(device),
            target_out=self.target_out.to(device, non_blocking=True),
        )

    def pinned(self) -> "PairBatch":
        """In memory that a GPU can fetch from by itself."""
        return replace(
            self,
            source=Side(*(tensor.pin_memory() for tensor in self.source)),
            target_in=Side(*(tensor.pin_memory() for tensor in self.target_in)),
            target_out=self.target_out.pin_memory(),
        )


def pair_batch(
    source: Ids, target: Ids, pairs: Int64[np.ndarray, " pairs"], form: Form | None = None
) -> PairBatch:
    """Those pairs as one batch: as large as they are, or filled up with padding to a given form."""
    sources, targets = _end_to_end(source, pairs, form), _end_to_end(target, pairs, form)
    return PairBatch(
        source=sources.side(sources.tokens),
        target_in=targets.side(targets.shifted()),
        target_out=torch.from_numpy(targets.tokens)[None],
        longest_source=sources.longest if form is None else form.longest,
        longest_target=targets.longest if form is None else form.longest,
        source_tokens=sources.real,
        target_tokens=targets.real,
        pairs=pairs,
    )


@dataclass(frozen=True)
class LabelBatch:
    """What one training step of a classifier sees; it reads the label off the mark in front of each text."""

    texts: Side
    """<s> a b c"""
    labels: Int[Tensor, " texts"]
    longest: int
    tokens: int
    """The marks counted."""
    rows: Int64[np.ndarray, " texts"]
    """Which texts of the corpus these are."""

    def to(self, device: torch.device) -> "LabelBatch":
        labels = self.labels.to(device, non_blocking=True)
        return replace(self, texts=self.texts.to(device), labels=labels)

    def pinned(self) -> "LabelBatch":
        """In memory that a GPU can fetch from by itself."""
        texts = Side(*(tensor.pin_memory() for tensor in self.texts))
        return replace(self, texts=texts, labels=self.labels.pin_memory())


def label_batch(texts: Ids, labels: Ids, rows: Int64[np.ndarray, " texts"]) -> LabelBatch:
    """Those texts as one batch; of `labels` each row is one number."""
    read = _end_to_end(texts, rows, None)
    numbers = labels.flat[labels.starts[rows]].astype(np.int64)
    return LabelBatch(read.side(read.shifted()), torch.from_numpy(numbers), read.longest, read.real, rows)


class _Row(NamedTuple):
    """Sentences end to end, each closed by the end mark, in numpy."""

    tokens: Int64[np.ndarray, " tokens"]
    at: Int64[np.ndarray, " tokens"]
    starts: Int64[np.ndarray, " sentences_and_one"]
    longest: int
    real: int

    def side(self, tokens: Int64[np.ndarray, " tokens"]) -> Side:
        starts = torch.from_numpy(self.starts.astype(np.int32))
        return Side(torch.from_numpy(tokens)[None], torch.from_numpy(self.at)[None], starts)

    def shifted(self) -> Int64[np.ndarray, " tokens"]:
        """The same behind a mark that begins each sentence, in place of the one that ends it."""
        shifted = np.roll(self.tokens, 1)
        shifted[self.at == 0] = BOS
        shifted[self.real :] = PAD
        return shifted


def _end_to_end(ids: Ids, pairs: Int64[np.ndarray, " pairs"], form: Form | None) -> _Row:
    first = ids.starts[pairs]
    lengths = ids.starts[pairs + 1] - first + 1
    real = int(lengths.sum())
    if form is not None:
        first, lengths = _filled(first, lengths, real, form)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    at = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
    tokens = ids.flat[np.minimum(np.repeat(first, lengths) + at, len(ids.flat) - 1)].astype(np.int64)
    tokens[starts[1 : len(pairs) + 1] - 1] = EOS
    tokens[real:] = PAD
    return _Row(tokens, at, starts, int(lengths.max()), real)


def _filled(
    first: Int64[np.ndarray, " pairs"], lengths: Int64[np.ndarray, " pairs"], real: int, form: Form
) -> tuple[Int64[np.ndarray, " sentences"], Int64[np.ndarray, " sentences"]]:
    """With sentences of padding at the end, and empty ones after them, until the form is full."""
    whole, rest = divmod(form.tokens - real, form.longest)
    padding = [form.longest] * whole + [rest] * bool(rest)
    empty = form.sentences - len(lengths) - len(padding)
    if whole < 0 or empty < 0 or lengths.max() > form.longest:
        raise ValueError(f"{len(lengths)} sentences of {real} tokens do not fit {form}")
    padding = np.array(padding + [0] * empty, np.int64)
    return np.concatenate([first, np.zeros_like(padding)]), np.concatenate([lengths, padding])


def source_rows(rows: Sequence[Row]) -> Int[Tensor, "batch source"]:
    """Sentences as the encoder reads them: closed by the end mark, padded on the right."""
    return pad([np.concatenate([row, [EOS]]) for row in rows])


def pad(rows: Sequence[Row]) -> Int[Tensor, "batch length"]:
    """Rows of different lengths in one tensor."""
    padded = np.full((len(rows), max(map(len, rows))), PAD, np.int64)
    for line, row in zip(padded, rows, strict=True):
        line[: len(row)] = row
    return torch.from_numpy(padded)
