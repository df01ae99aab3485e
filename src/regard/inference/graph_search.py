"""How the next tokens are chosen inside a CUDA graph: by beam search, or greedily in one kernel."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.search.beam_state import Beams, BeamSearch, Bounds, hypotheses
from regard.search.config import SearchConfig
from regard.search.greedy import hypothesis
from regard.search.hypothesis import Hypothesis
from regard.search.topk import CHUNK, norms
from regard.text.tokenizer import BOS, EOS

try:  # comes with torch wherever there is a GPU to compute on
    from regard.search import selection_kernels
except ImportError:
    selection_kernels = None


@runtime_checkable
class Choosing(Protocol):
    """Where every sentence of a batch stands, in tensors that stay where they are."""

    @property
    def last(self) -> Int[Tensor, " row"]:
        """What the model reads next."""
        ...

    def begin(self, limits: Sequence[int]) -> None: ...

    def choose(self, logits: Float[Tensor, "row vocab"], at: Int[Tensor, ""]) -> Int[Tensor, " row"] | None:
        """Writes one token more after `at`; the row that each goes on from, or none if each stays its own."""
        ...

    def going_on(self) -> Bool[Tensor, ""]:
        """Whether anything is left to do."""
        ...

    def found(self, sentences: int) -> list[list[Hypothesis]]:
        """The answers of the first so many."""
        ...


def choosing(sentences: int, width: int, config: SearchConfig, device: torch.device) -> Choosing:
    """A GPU without triton has no kernel of ours, and takes a beam of one."""
    return (Greedily if config.beam == 1 and selection_kernels else ByBeam)(sentences, width, config, device)


class ByBeam:
    """Beam search; `width` is the longest limit and one for the end mark."""

    def __init__(self, sentences: int, width: int, config: SearchConfig, device: torch.device) -> None:
        self._config = config
        self._search = BeamSearch(config.beam, config.n_best, config.alpha, EOS, width, device)
        self._beams, self._fresh = (self._search.start(sentences, BOS) for _ in range(2))
        self._bounds = Bounds.of([width - 1] * sentences, config.min_length, device=device)

    @property
    def last(self) -> Int[Tensor, " row"]:
        return self._beams.last.flatten()

    def begin(self, limits: Sequence[int]) -> None:
        _copy(self._bounds, Bounds.of(limits, self._config.min_length))
        _copy(self._beams, self._fresh)

    def choose(self, logits: Float[Tensor, "row vocab"], at: Int[Tensor, ""]) -> Int[Tensor, " row"]:
        norm, maxima = norms(logits)
        grown, rows = self._search.advance(self._beams, self._bounds, logits, norm, at + 1, maxima)
        _copy(self._beams, grown)
        return rows

    def going_on(self) -> Bool[Tensor, ""]:
        return self._search.can_win(self._beams, self._bounds).any()

    def found(self, sentences: int) -> list[list[Hypothesis]]:
        first = torch.arange(sentences, device=self._beams.last.device)
        return hypotheses(self._beams.select(first), EOS)


class Greedily:
    """A beam of one, where nothing changes places and what ends is the answer."""

    def __init__(self, sentences: int, width: int, config: SearchConfig, device: torch.device) -> None:
        self._config = config
        self.last = torch.full((sentences,), BOS, device=device)
        self._written = torch.full((sentences, width), EOS, device=device)
        self._log = torch.zeros(sentences, device=device)
        self._open = torch.ones(sentences, dtype=torch.bool, device=device)
        self._limit, self._minimum = (
            torch.full((sentences,), width - 1, device=device),
            torch.zeros(sentences, dtype=torch.long, device=device),
        )

    def begin(self, limits: Sequence[int]) -> None:
        limit = torch.tensor(limits)
        self._limit.copy_(limit)
        self._minimum.copy_(limit.clamp(max=self._config.min_length))
        self.last.fill_(BOS)
        self._written.fill_(EOS)
        self._log.zero_()
        self._open.fill_(True)

    def choose(self, logits: Float[Tensor, "row vocab"], at: Int[Tensor, ""]) -> None:
        assert selection_kernels is not None
        selection_kernels.choose(
            logits, self.last, self._written, self._log, self._open, self._limit, self._minimum, at,
            EOS, CHUNK,
        )  # fmt: skip

    def going_on(self) -> Bool[Tensor, ""]:
        return self._open.any()

    def found(self, sentences: int) -> list[list[Hypothesis]]:
        rows = zip(self._written[:sentences].tolist(), self._log[:sentences].tolist(), strict=True)
        return [[hypothesis(row, log, EOS, self._config.alpha)] for row, log in rows]


def _tensors(values: Beams | Bounds) -> list[Tensor]:
    found = (getattr(values, field.name) for field in fields(values))
    return [each for each in found if isinstance(each, Tensor)]


def _copy(places: Beams | Bounds, values: Beams | Bounds) -> None:
    for place, value in zip(_tensors(places), _tensors(values), strict=True):
        place.copy_(value)
