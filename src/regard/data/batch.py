"""Batches as tensors: pairs and labelled texts packed end to end without padding; padded rows for search."""

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
    """The sentences of one side of a batch, end to end in one row."""

    tokens: Int[Tensor, "1 tokens"]
    positions: Int[Tensor, "1 tokens"]
    """Position of each token in its sentence."""
    starts: Int[Tensor, " sentences_and_one"]
    """Start of each sentence, and the end of the last one."""

    def to(self, device: torch.device) -> "PackedTokens":
        return PackedTokens(*(tensor.to(device, non_blocking=True) for tensor in self))


class BatchShape(NamedTuple):
    """A fixed shape for every batch, which CUDA graphs need."""

    tokens: int
    sentences: int
    max_length: int

    @property
    def guaranteed_pairs(self) -> int:
        """Number of pairs that fit with any lengths, padding included."""
        return self.sentences - (-(-self.tokens // self.max_length))


@dataclass(frozen=True)
class PairBatch:
    """Input of one training step; the target is there twice, shifted by one token (section 3.1)."""

    source: PackedTokens
    """a b c </s>"""
    target_in: PackedTokens
    """<s> x y"""
    target_out: Int[Tensor, "1 tokens"]
    """x y </s>"""
    max_source_length: int
    max_target_length: int
    source_tokens: int
    """</s> counted, padding not."""
    target_tokens: int
    pair_indexes: Int64[np.ndarray, " pairs"]
    """Indexes of the pairs in the dataset."""

    @property
    def computed_tokens(self) -> int:
        """Number of tokens on both sides, padding included."""
        return self.source.tokens.shape[1] + self.target_out.shape[1]

    def tensors(self) -> tuple[Tensor, ...]:
        """Return all tensors, always in the same order."""
        return (*self.source, *self.target_in, self.target_out)

    def to(self, device: torch.device) -> "PairBatch":
        return replace(
            self,
            source=self.source.to(device),
            target_in=self.target_in.to(device),
            target_out=self.target_out.to(device, non_blocking=True),
        )

    def pin_memory(self) -> "PairBatch":
        """Return the batch in page-locked memory, for asynchronous copies to a GPU."""
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
    """Pack these pairs into one batch, padded to a fixed shape if there is one."""
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
    """Input of one training step of a classifier, which predicts the label at the <s> before each text."""

    texts: PackedTokens
    """<s> a b c"""
    labels: Int[Tensor, " texts"]
    max_length: int
    token_count: int
    """<s> counted."""
    text_indexes: Int64[np.ndarray, " texts"]
    """Indexes of the texts in the dataset."""

    def to(self, device: torch.device) -> "LabelBatch":
        labels = self.labels.to(device, non_blocking=True)
        return replace(self, texts=self.texts.to(device), labels=labels)

    def pin_memory(self) -> "LabelBatch":
        """Return the batch in page-locked memory, for asynchronous copies to a GPU."""
        texts = PackedTokens(*(tensor.pin_memory() for tensor in self.texts))
        return replace(self, texts=texts, labels=self.labels.pin_memory())


def make_label_batch(
    texts: RaggedIds, labels: RaggedIds, text_indexes: Int64[np.ndarray, " texts"]
) -> LabelBatch:
    """Pack these texts into one batch; each row of `labels` is one id."""
    packed = _pack(texts, text_indexes, None)
    label_ids = labels.flat[labels.starts[text_indexes]].astype(np.int64)
    return LabelBatch(
        packed.to_sequences(packed.shift_right()),
        torch.from_numpy(label_ids),
        packed.max_length,
        packed.real_tokens,
        text_indexes,
    )


class _PackedArrays(NamedTuple):
    """Sentences end to end in numpy, each with </s> at its end."""

    tokens: Int64[np.ndarray, " tokens"]
    positions: Int64[np.ndarray, " tokens"]
    starts: Int64[np.ndarray, " sentences_and_one"]
    max_length: int
    real_tokens: int

    def to_sequences(self, tokens: Int64[np.ndarray, " tokens"]) -> PackedTokens:
        starts = torch.from_numpy(self.starts.astype(np.int32))
        return PackedTokens(torch.from_numpy(tokens)[None], torch.from_numpy(self.positions)[None], starts)

    def shift_right(self) -> Int64[np.ndarray, " tokens"]:
        """Return the tokens with <s> before each sentence in place of </s> after it."""
        shifted = np.roll(self.tokens, 1)
        shifted[self.positions == 0] = BOS
        shifted[self.real_tokens :] = PAD
        return shifted


def _pack(ids: RaggedIds, pairs: Int64[np.ndarray, " pairs"], shape: BatchShape | None) -> _PackedArrays:
    first = ids.starts[pairs]
    lengths = ids.starts[pairs + 1] - first + 1
    real = int(lengths.sum())
    if shape is not None:
        first, lengths = _pad_to_shape(first, lengths, real, shape)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    positions = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
    tokens = ids.flat[np.minimum(np.repeat(first, lengths) + positions, len(ids.flat) - 1)].astype(np.int64)
    tokens[starts[1 : len(pairs) + 1] - 1] = EOS
    tokens[real:] = PAD
    return _PackedArrays(tokens, positions, starts, int(lengths.max()), real)


def _pad_to_shape(
    first: Int64[np.ndarray, " pairs"], lengths: Int64[np.ndarray, " pairs"], real: int, shape: BatchShape
) -> tuple[Int64[np.ndarray, " sentences"], Int64[np.ndarray, " sentences"]]:
    """Append sentences of padding, then empty ones, until the shape is full."""
    full, rest = divmod(shape.tokens - real, shape.max_length)
    padding = [shape.max_length] * full + [rest] * bool(rest)
    empty = shape.sentences - len(lengths) - len(padding)
    if full < 0 or empty < 0 or lengths.max() > shape.max_length:
        raise ValueError(f"{len(lengths)} sentences of {real} tokens do not fit {shape}")
    padding = np.array(padding + [0] * empty, np.int64)
    return np.concatenate([first, np.zeros_like(padding)]), np.concatenate([lengths, padding])


def pad_source(rows: Sequence[TokenRow]) -> Int[Tensor, "batch source"]:
    """Return sentences as the encoder reads them: with </s>, padded on the right."""
    return pad_rows([np.concatenate([row, [EOS]]) for row in rows])


def pad_rows(rows: Sequence[TokenRow]) -> Int[Tensor, "batch length"]:
    """Return rows of different lengths as one tensor, padded on the right."""
    padded = np.full((len(rows), max(map(len, rows))), PAD, np.int64)
    for line, row in zip(padded, rows, strict=True):
        line[: len(row)] = row
    return torch.from_numpy(padded)
