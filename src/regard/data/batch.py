"""Sentence pairs and labelled texts as tensors, end to end without padding; padded rows for search."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Int, Int64, Integer
from torch import Tensor

from regard.data.pairs import RaggedIds
from regard.text.tokenizer import BOS, EOS, PAD

TokenRow = Sequence[int] | Integer[np.ndarray, " _"]


class PackedTokens(NamedTuple):
    """One language of a batch: its sentences end to end in one row."""

    tokens: Int[Tensor, "1 tokens"]
    positions: Int[Tensor, "1 tokens"]
    """The position of each token in its sentence."""
    starts: Int[Tensor, " sentences_and_one"]
    """Where each sentence begins, and where the last one ends."""

    def to(self, device: torch.device) -> "PackedTokens":
        return PackedTokens(*(tensor.to(device, non_blocking=True) for tensor in self))


class BatchShape(NamedTuple):
    """One shape for every batch, which is what a captured GPU program needs."""

    tokens: int
    sentences: int
    max_length: int

    @property
    def guaranteed_pairs(self) -> int:
        """Pairs that surely fit, whatever padding comes after them."""
        return self.sentences - (-(-self.tokens // self.max_length))


@dataclass(frozen=True)
class PairBatch:
    """What one training step sees; the target stands twice, shifted by one (section 3.1)."""

    source: PackedTokens
    """a b c </s>"""
    target_in: PackedTokens
    """<s> x y"""
    target_out: Int[Tensor, "1 tokens"]
    """x y </s>"""
    max_source_length: int
    max_target_length: int
    source_tokens: int
    """Real ones, the end mark counted."""
    target_tokens: int
    pair_indexes: Int64[np.ndarray, " pair_indexes"]
    """Which pairs of the corpus these are."""

    @property
    def computed_tokens(self) -> int:
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

    def pin_memory(self) -> "PairBatch":
        """In memory that a GPU can fetch from by itself."""
        return replace(
            self,
            source=PackedTokens(*(tensor.pin_memory() for tensor in self.source)),
            target_in=PackedTokens(*(tensor.pin_memory() for tensor in self.target_in)),
            target_out=self.target_out.pin_memory(),
        )


def make_pair_batch(
    source: RaggedIds,
    target: RaggedIds,
    pair_indexes: Int64[np.ndarray, " pairs"],
    shape: BatchShape | None = None,
) -> PairBatch:
    """Those pairs as one batch: as large as they are, or filled up with padding to a given form."""
    sources, targets = _pack(source, pair_indexes, shape), _pack(target, pair_indexes, shape)
    return PairBatch(
        source=sources.to_sequences(sources.tokens),
        target_in=targets.to_sequences(targets.shift_right()),
        target_out=torch.from_numpy(targets.tokens)[None],
        max_source_length=sources.max_length if shape is None else shape.max_length,
        max_target_length=targets.max_length if shape is None else shape.max_length,
        source_tokens=sources.real_tokens,
        target_tokens=targets.real_tokens,
        pair_indexes=pair_indexes,
    )


@dataclass(frozen=True)
class LabelBatch:
    """What one training step of a classifier sees; it reads the label off the mark in front of each text."""

    texts: PackedTokens
    """<s> a b c"""
    labels: Int[Tensor, " texts"]
    max_length: int
    token_count: int
    """The marks counted."""
    text_indexes: Int64[np.ndarray, " texts"]
    """Which texts of the corpus these are."""

    def to(self, device: torch.device) -> "LabelBatch":
        labels = self.labels.to(device, non_blocking=True)
        return replace(self, texts=self.texts.to(device), labels=labels)

    def pin_memory(self) -> "LabelBatch":
        """In memory that a GPU can fetch from by itself."""
        texts = PackedTokens(*(tensor.pin_memory() for tensor in self.texts))
        return replace(self, texts=texts, labels=self.labels.pin_memory())


def make_label_batch(
    texts: RaggedIds, labels: RaggedIds, text_indexes: Int64[np.ndarray, " texts"]
) -> LabelBatch:
    """Those texts as one batch; of `labels` each row is one number."""
    read = _pack(texts, text_indexes, None)
    numbers = labels.flat[labels.starts[text_indexes]].astype(np.int64)
    return LabelBatch(
        read.to_sequences(read.shift_right()),
        torch.from_numpy(numbers),
        read.max_length,
        read.real_tokens,
        text_indexes,
    )


class _PackedArrays(NamedTuple):
    """Sentences end to end, each closed by the end mark, in numpy."""

    tokens: Int64[np.ndarray, " tokens"]
    positions: Int64[np.ndarray, " tokens"]
    starts: Int64[np.ndarray, " sentences_and_one"]
    max_length: int
    real_tokens: int

    def to_sequences(self, tokens: Int64[np.ndarray, " tokens"]) -> PackedTokens:
        starts = torch.from_numpy(self.starts.astype(np.int32))
        return PackedTokens(torch.from_numpy(tokens)[None], torch.from_numpy(self.positions)[None], starts)

    def shift_right(self) -> Int64[np.ndarray, " tokens"]:
        """The same behind a mark that begins each sentence, in place of the one that ends it."""
        shifted = np.roll(self.tokens, 1)
        shifted[self.positions == 0] = BOS
        shifted[self.real_tokens :] = PAD
        return shifted


def _pack(ids: RaggedIds, pairs: Int64[np.ndarray, " pairs"], form: BatchShape | None) -> _PackedArrays:
    first = ids.starts[pairs]
    lengths = ids.starts[pairs + 1] - first + 1
    real = int(lengths.sum())
    if form is not None:
        first, lengths = _pad_to_shape(first, lengths, real, form)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    at = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
    tokens = ids.flat[np.minimum(np.repeat(first, lengths) + at, len(ids.flat) - 1)].astype(np.int64)
    tokens[starts[1 : len(pairs) + 1] - 1] = EOS
    tokens[real:] = PAD
    return _PackedArrays(tokens, at, starts, int(lengths.max()), real)


def _pad_to_shape(
    first: Int64[np.ndarray, " pairs"], lengths: Int64[np.ndarray, " pairs"], real: int, form: BatchShape
) -> tuple[Int64[np.ndarray, " sentences"], Int64[np.ndarray, " sentences"]]:
    """With sentences of padding at the end, and empty ones after them, until the form is full."""
    whole, rest = divmod(form.tokens - real, form.max_length)
    padding = [form.max_length] * whole + [rest] * bool(rest)
    empty = form.sentences - len(lengths) - len(padding)
    if whole < 0 or empty < 0 or lengths.max() > form.max_length:
        raise ValueError(f"{len(lengths)} sentences of {real} tokens do not fit {form}")
    padding = np.array(padding + [0] * empty, np.int64)
    return np.concatenate([first, np.zeros_like(padding)]), np.concatenate([lengths, padding])


def pad_source(rows: Sequence[TokenRow]) -> Int[Tensor, "batch source"]:
    """Sentences as the encoder reads them: closed by the end mark, padded on the right."""
    return pad_rows([np.concatenate([row, [EOS]]) for row in rows])


def pad_rows(rows: Sequence[TokenRow]) -> Int[Tensor, "batch length"]:
    """Rows of different lengths in one tensor."""
    padded = np.full((len(rows), max(map(len, rows))), PAD, np.int64)
    for line, row in zip(padded, rows, strict=True):
        line[: len(row)] = row
    return torch.from_numpy(padded)
