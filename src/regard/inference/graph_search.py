"""How the next tokens are chosen inside a CUDA graph: by beam search, or greedily in one kernel."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.search.beam_state import BeamSearchStep, BeamState, ConstraintState, collect_hypotheses
from regard.search.config import SearchConfig
from regard.search.greedy import make_hypothesis
from regard.search.hypothesis import Hypothesis
from regard.search.topk import VOCAB_CHUNK, log_normalizer_and_chunk_maxima
from regard.text.tokenizer import BOS, EOS

try:  # comes with torch wherever there is a GPU to compute on
    from regard.search import selection_kernels
except ImportError:
    selection_kernels = None


@runtime_checkable
class GraphSearch(Protocol):
    """Where every sentence of a batch stands, in tensors that stay where they are."""

    @property
    def last_token(self) -> Int[Tensor, " row"]:
        """What the model reads next."""
        ...

    def reset(self, max_lengths: Sequence[int]) -> None: ...

    def advance(
        self, logits: Float[Tensor, "row vocab"], position: Int[Tensor, ""]
    ) -> Int[Tensor, " row"] | None:
        """Writes one token more after `at`; the row that each goes on from, or none if each stays its own."""
        ...

    def is_unfinished(self) -> Bool[Tensor, ""]:
        """Whether anything is left to do."""
        ...

    def hypotheses(self, sentences: int) -> list[list[Hypothesis]]:
        """The answers of the first so many."""
        ...


def make_graph_search(sentences: int, width: int, config: SearchConfig, device: torch.device) -> GraphSearch:
    """A GPU without triton has no kernel of ours, and takes a beam of one."""
    return (GraphGreedy if config.beam == 1 and selection_kernels else GraphBeam)(
        sentences, width, config, device
    )


class GraphBeam:
    """Beam search; `width` is the longest limit and one for the end mark."""

    def __init__(self, sentences: int, width: int, config: SearchConfig, device: torch.device) -> None:
        self._config = config
        self._search = BeamSearchStep(config.beam, config.n_best, config.alpha, EOS, width, device)
        self._beams, self._fresh = (self._search.initial_state(sentences, BOS) for _ in range(2))
        self._bounds = ConstraintState.from_lists([width - 1] * sentences, config.min_length, device=device)

    @property
    def last_token(self) -> Int[Tensor, " row"]:
        return self._beams.last_token.flatten()

    def reset(self, max_lengths: Sequence[int]) -> None:
        _copy_tensors(self._bounds, ConstraintState.from_lists(max_lengths, self._config.min_length))
        _copy_tensors(self._beams, self._fresh)

    def advance(self, logits: Float[Tensor, "row vocab"], position: Int[Tensor, ""]) -> Int[Tensor, " row"]:
        norm, maxima = log_normalizer_and_chunk_maxima(logits)
        grown, rows = self._search.advance(self._beams, self._bounds, logits, norm, position + 1, maxima)
        _copy_tensors(self._beams, grown)
        return rows

    def is_unfinished(self) -> Bool[Tensor, ""]:
        return self._search.can_improve(self._beams, self._bounds).any()

    def hypotheses(self, sentences: int) -> list[list[Hypothesis]]:
        first = torch.arange(sentences, device=self._beams.last_token.device)
        return collect_hypotheses(self._beams.select(first), EOS)


class GraphGreedy:
    """A beam of one, where nothing changes places and what ends is the answer."""

    def __init__(self, sentences: int, width: int, config: SearchConfig, device: torch.device) -> None:
        self._config = config
        self.last_token = torch.full((sentences,), BOS, device=device)
        self._written = torch.full((sentences, width), EOS, device=device)
        self._log = torch.zeros(sentences, device=device)
        self._open = torch.ones(sentences, dtype=torch.bool, device=device)
        self._limit, self._minimum = (
            torch.full((sentences,), width - 1, device=device),
            torch.zeros(sentences, dtype=torch.long, device=device),
        )

    def reset(self, max_lengths: Sequence[int]) -> None:
        limit = torch.tensor(max_lengths)
        self._limit.copy_(limit)
        self._minimum.copy_(limit.clamp(max=self._config.min_length))
        self.last_token.fill_(BOS)
        self._written.fill_(EOS)
        self._log.zero_()
        self._open.fill_(True)

    def advance(self, logits: Float[Tensor, "row vocab"], position: Int[Tensor, ""]) -> None:
        assert selection_kernels is not None
        selection_kernels.greedy_step_cuda(
            logits, self.last_token, self._written, self._log, self._open, self._limit, self._minimum, position,
            EOS, VOCAB_CHUNK,
        )  # fmt: skip

    def is_unfinished(self) -> Bool[Tensor, ""]:
        return self._open.any()

    def hypotheses(self, sentences: int) -> list[list[Hypothesis]]:
        rows = zip(self._written[:sentences].tolist(), self._log[:sentences].tolist(), strict=True)
        return [[make_hypothesis(row, log, EOS, self._config.alpha)] for row, log in rows]


def _tensor_fields(values: BeamState | ConstraintState) -> list[Tensor]:
    found = (getattr(values, field.name) for field in fields(values))
    return [each for each in found if isinstance(each, Tensor)]


def _copy_tensors(places: BeamState | ConstraintState, values: BeamState | ConstraintState) -> None:
    for place, value in zip(_tensor_fields(places), _tensor_fields(values), strict=True):
        place.copy_(value)
