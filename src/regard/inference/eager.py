"""Eager engine: step-by-step search with a torch model on any device, and its constraint setup."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.data.batch import pad_source
from regard.errors import RegardError
from regard.inference.engine import (
    UNSATISFIABLE,
    constrained_min_length,
    max_output_length,
    output_length_limit,
)
from regard.inference.ensemble import Ensemble
from regard.inference.incremental import IncrementalDecoder
from regard.model.transformer import Transformer
from regard.search.beam import beam_search
from regard.search.config import PAPER_SEARCH, SearchConfig
from regard.search.constraint_state import ConstraintState, TokenBans
from regard.search.constraints import NO_CONSTRAINTS, Constraints, WordBoundaries
from regard.search.greedy import greedy_search
from regard.search.hypothesis import Hypothesis
from regard.search.required_phrases import RequiredPhrases
from regard.search.sampling import sampling_search
from regard.search.topk import log_normalizer, stable_topk
from regard.text.tokenizer import BOS, BYTE_TOKENS, EOS, PAD, SPECIAL_TOKENS

BYTE_TOKEN_IDS = slice(len(SPECIAL_TOKENS), len(SPECIAL_TOKENS) + len(BYTE_TOKENS))
"""The tokens that are single bytes, of which characters outside the vocabulary are made."""
SPECIAL_TOKEN_IDS = slice(PAD, BOS + 1)
"""The special tokens that no target contains."""


class EagerEngine:
    """Translates token ids with a torch model; implements `Engine` and `search.interface.StepModel`."""

    def __init__(
        self,
        model: Transformer | Ensemble | IncrementalDecoder,
        word_boundaries: WordBoundaries | None = None,
    ) -> None:
        """Without word boundaries, required phrases may be parts of longer words."""
        self._model, self._word_boundaries = model, word_boundaries

    @property
    def max_tokens(self) -> int:
        return self._model.max_tokens

    def translate(
        self,
        sources: Sequence[Sequence[int]],
        config: SearchConfig = PAPER_SEARCH,
        constraints: Sequence[Constraints] | None = None,
    ) -> list[list[Hypothesis]]:
        """Return the best translations of each source.

        Sentences with required phrases form a batch of their own, since they need more beam slots.
        """
        by_sentence = [NO_CONSTRAINTS] * len(sources) if constraints is None else constraints
        limits = [
            output_length_limit(len(source), self.max_tokens, config, each)
            for source, each in zip(sources, by_sentence, strict=True)
        ]
        longest = max_output_length(self.max_tokens, config)
        results = [[] if constrained_min_length(each) <= longest else [UNSATISFIABLE] for each in by_sentence]
        for has_required in (False, True):
            indexes = [
                index
                for index, each in enumerate(by_sentence)
                if bool(each.required) == has_required and not results[index]
            ]
            if not indexes:
                continue
            batch = self._search(
                [sources[index] for index in indexes],
                [limits[index] for index in indexes],
                config,
                None if constraints is None else [constraints[index] for index in indexes],
            )
            for index, hypotheses in zip(indexes, batch, strict=True):
                results[index] = hypotheses
        return results

    def _search(
        self,
        sources: Sequence[Sequence[int]],
        limits: Sequence[int],
        config: SearchConfig,
        constraints: Sequence[Constraints] | None,
    ) -> list[list[Hypothesis]]:
        """Search one batch; either all or none of its sentences have required phrases."""
        source = pad_source(sources).to(self._model.device)
        rules = make_constraint_state(limits, config, constraints, self._word_boundaries, source.device)
        with self._inference_mode():
            state = self._model.start_decoding(source, source != PAD)
            if config.sampling is not None:
                if rules.required is not None:
                    raise RegardError("required phrases need a beam; leave sampling out")
                return sampling_search(self, state, BOS, EOS, rules, config, config.sampling, sources)
            search = greedy_search if config.beam == 1 and rules.required is None else beam_search
            return search(self, state, BOS, EOS, rules, config)

    def top_next_tokens(
        self, source: Sequence[int], prefix: Sequence[int], count: int
    ) -> tuple[float, list[tuple[int, float]]]:
        """Return the log-probability of a prefix, and the most probable next tokens with theirs."""
        device = self._model.device
        row = pad_source([source]).to(device)
        prefix_log_probability = 0.0
        with self._inference_mode():
            logs, state = self._next_log_probabilities(self._model.start_decoding(row, row != PAD), BOS)
            for token in prefix:
                prefix_log_probability += float(logs[0, token])
                logs, state = self._next_log_probabilities(state, token)
            values, tokens = stable_topk(logs, min(count, logs.shape[1]))
        return prefix_log_probability, list(zip(tokens[0].tolist(), values[0].tolist(), strict=True))

    def _next_log_probabilities(self, state: Any, token: int) -> tuple[Float[Tensor, "1 vocab"], Any]:
        logits, state = self.step(state, torch.tensor([token], device=self._model.device))
        return logits.float() - log_normalizer(logits)[:, None], state

    @contextmanager
    def _inference_mode(self) -> Iterator[None]:
        """Disable gradients and dropout, and restore the model's training mode afterwards."""
        training = self._model if isinstance(self._model, nn.Module) and self._model.training else None
        if training is not None:
            training.eval()
        try:
            with torch.inference_mode():
                yield
        finally:
            if training is not None:
                training.train()

    def step(self, state: Any, token: Int[Tensor, " row"]) -> tuple[Float[Tensor, "row vocab"], Any]:
        return self._model.step(state, token)

    def expand(self, state: Any, beam: int) -> Any:
        return state.expand(beam)

    def reorder(self, state: Any, rows: Int[Tensor, " row"]) -> Any:
        return state.reorder(rows)

    def select(self, state: Any, sentences: Int[Tensor, " sentence"]) -> Any:
        return state.select(sentences)


def make_constraint_state(
    max_lengths: Sequence[int],
    config: SearchConfig,
    constraints: Sequence[Constraints] | None = None,
    word_boundaries: WordBoundaries | None = None,
    device: torch.device | None = None,
) -> ConstraintState:
    """Return the constraints of a batch as tensors; either all or none have required phrases."""
    if constraints is None:
        bans = _token_bans(config, [()] * len(max_lengths), False, device)
        return ConstraintState.from_lists(max_lengths, config.min_length, bans=bans, device=device)
    required = None
    if any(each.required for each in constraints):
        phrases = [each.required for each in constraints]
        required = RequiredPhrases.from_phrases(phrases, word_boundaries, device)
    return ConstraintState.from_lists(
        max_lengths,
        config.min_length,
        [each.prefix for each in constraints],
        required,
        _token_bans(config, [each.forbidden for each in constraints], True, device),
        device,
    )


def _token_bans(
    config: SearchConfig,
    forbidden: Sequence[Sequence[tuple[int, ...]]],
    is_constrained: bool,
    device: torch.device | None,
) -> TokenBans | None:
    """Return None if nothing is banned, so that an unconstrained search spends no time on it.

    An unconstrained search never writes special tokens; one with masked tokens, or a sample, could.
    """
    if config.is_plain and not is_constrained:
        return None
    suppressed = (SPECIAL_TOKEN_IDS,) if config.allow_unknown else (SPECIAL_TOKEN_IDS, BYTE_TOKEN_IDS)
    return TokenBans.from_phrases(forbidden, config.no_repeat_ngram, suppressed, device)
