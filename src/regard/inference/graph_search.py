"""Search state inside a CUDA graph: beam search, or greedy search in one kernel."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.search.beam_state import BeamSearchStep, BeamState, collect_hypotheses
from regard.search.config import SearchConfig
from regard.search.constraint_state import ConstraintState
from regard.search.greedy import make_hypothesis
from regard.search.hypothesis import Hypothesis
from regard.search.topk import VOCAB_CHUNK, log_normalizer_and_chunk_maxima
from regard.text.tokenizer import BOS, EOS

try:  # Triton comes with torch where there is a GPU
    from regard.search import selection_kernels
except ImportError:
    selection_kernels = None


@runtime_checkable
class GraphSearch(Protocol):
    """The search state of a batch, in tensors that keep their addresses."""

    @property
    def last_token(self) -> Int[Tensor, " row"]:
        """The tokens the model reads next."""
        ...

    def reset(self, max_lengths: Sequence[int]) -> None: ...

    def advance(
        self, logits: Float[Tensor, "row vocab"], position: Int[Tensor, ""]
    ) -> Int[Tensor, " row"] | None:
        """Append one token at `position`; return each row's parent row, or None if rows keep their places."""
        ...

    def is_unfinished(self) -> Bool[Tensor, ""]:
        """Return whether any sentence needs another step."""
        ...

    def hypotheses(self, sentences: int) -> list[list[Hypothesis]]:
        """Return the results of the first `sentences` sentences."""
        ...


def make_graph_search(sentences: int, width: int, config: SearchConfig, device: torch.device) -> GraphSearch:
    """Return greedy search for a beam of one if Triton is installed, else beam search."""
    make = GraphGreedy if config.beam == 1 and selection_kernels else GraphBeam
    return make(sentences, width, config, device)


class GraphBeam:
    """Beam search; `width` is the longest length limit plus one for the end mark."""

    def __init__(self, sentences: int, width: int, config: SearchConfig, device: torch.device) -> None:
        self._search = BeamSearchStep(config.beam, config.n_best, config.alpha, EOS, width, device)
        self._beams, self._initial = (self._search.initial_state(sentences, BOS) for _ in range(2))
        self._constraints = ConstraintState.from_lists([width - 1] * sentences, device=device)

    @property
    def last_token(self) -> Int[Tensor, " row"]:
        return self._beams.last_token.flatten()

    def reset(self, max_lengths: Sequence[int]) -> None:
        _copy_tensors(self._constraints, ConstraintState.from_lists(max_lengths))
        _copy_tensors(self._beams, self._initial)

    def advance(self, logits: Float[Tensor, "row vocab"], position: Int[Tensor, ""]) -> Int[Tensor, " row"]:
        norm, maxima = log_normalizer_and_chunk_maxima(logits)
        length = position + 1
        beams, parents = self._search.advance(self._beams, self._constraints, logits, norm, length, maxima)
        _copy_tensors(self._beams, beams)
        return parents

    def is_unfinished(self) -> Bool[Tensor, ""]:
        return self._search.can_improve(self._beams, self._constraints).any()

    def hypotheses(self, sentences: int) -> list[list[Hypothesis]]:
        indexes = torch.arange(sentences, device=self._beams.last_token.device)
        return collect_hypotheses(self._beams.select(indexes), EOS)


class GraphGreedy:
    """Greedy search: rows keep their places, and each has one hypothesis."""

    def __init__(self, sentences: int, width: int, config: SearchConfig, device: torch.device) -> None:
        self._alpha = config.alpha
        self.last_token = torch.full((sentences,), BOS, device=device)
        self._tokens = torch.full((sentences, width), EOS, device=device)
        self._log_probability = torch.zeros(sentences, device=device)
        self._is_open = torch.ones(sentences, dtype=torch.bool, device=device)
        self._max_length = torch.full((sentences,), width - 1, device=device)

    def reset(self, max_lengths: Sequence[int]) -> None:
        self._max_length.copy_(torch.tensor(max_lengths))
        self.last_token.fill_(BOS)
        self._tokens.fill_(EOS)
        self._log_probability.zero_()
        self._is_open.fill_(True)

    def advance(self, logits: Float[Tensor, "row vocab"], position: Int[Tensor, ""]) -> None:
        assert selection_kernels is not None
        selection_kernels.greedy_step_cuda(
            logits, self.last_token, self._tokens, self._log_probability, self._is_open, self._max_length,
            position, EOS, VOCAB_CHUNK,
        )  # fmt: skip

    def is_unfinished(self) -> Bool[Tensor, ""]:
        return self._is_open.any()

    def hypotheses(self, sentences: int) -> list[list[Hypothesis]]:
        rows = self._tokens[:sentences].tolist()
        log_probabilities = self._log_probability[:sentences].tolist()
        return [
            [make_hypothesis(tokens, log_probability, EOS, self._alpha)]
            for tokens, log_probability in zip(rows, log_probabilities, strict=True)
        ]


def _tensor_fields(state: BeamState | ConstraintState) -> list[Tensor]:
    values = (getattr(state, field.name) for field in fields(state))
    return [value for value in values if isinstance(value, Tensor)]


def _copy_tensors(destination: BeamState | ConstraintState, source: BeamState | ConstraintState) -> None:
    for tensor, value in zip(_tensor_fields(destination), _tensor_fields(source), strict=True):
        tensor.copy_(value)
