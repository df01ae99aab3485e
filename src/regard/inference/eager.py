"""The plain road from a model to a search: cached keys and values, any device."""

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
from regard.search.beam_state import ConstraintState
from regard.search.config import PAPER_SEARCH, SearchConfig
from regard.search.constraint_state import TokenBans
from regard.search.constraints import NO_CONSTRAINTS, Constraints, WordBoundaries
from regard.search.greedy import greedy_search
from regard.search.hypothesis import Hypothesis
from regard.search.sampling import sampling_search
from regard.search.topk import log_normalizer, stable_topk
from regard.text.tokenizer import BOS, BYTE_TOKENS, EOS, PAD, SPECIAL_TOKENS

BYTE_TOKEN_IDS = slice(len(SPECIAL_TOKENS), len(SPECIAL_TOKENS) + len(BYTE_TOKENS))
"""The pieces that are single bytes: how characters are written that no piece has."""
SPECIAL_TOKEN_IDS = slice(PAD, BOS + 1)
"""Marks that no text has."""


class EagerEngine:
    """Translates ids with a model as it is; satisfies `Engine`, and `search.step.Step`."""

    def __init__(
        self,
        model: Transformer | Ensemble | IncrementalDecoder,
        word_boundaries: WordBoundaries | None = None,
    ) -> None:
        """With the edges of its pieces, required phrases stand by themselves and not in longer words."""
        self._model, self._edges = model, word_boundaries

    @property
    def max_tokens(self) -> int:
        return self._model.max_tokens

    def translate(
        self,
        sources: Sequence[Sequence[int]],
        config: SearchConfig = PAPER_SEARCH,
        constraints: Sequence[Constraints] | None = None,
    ) -> list[list[Hypothesis]]:
        """The best translations found of each row of ids.

        Sentences with required phrases are searched apart, since they need more room than others.
        """
        steered = constraints is not None
        constraints = [NO_CONSTRAINTS] * len(sources) if constraints is None else constraints
        limits = [
            output_length_limit(len(row), self.max_tokens, config, wish)
            for row, wish in zip(sources, constraints, strict=True)
        ]
        most = max_output_length(self.max_tokens, config)
        found = [[] if constrained_min_length(wish) <= most else [UNSATISFIABLE] for wish in constraints]
        for needy in (False, True):
            some = [i for i, wish in enumerate(constraints) if bool(wish.required) == needy and not found[i]]
            if not some:
                continue
            answers = self._search(
                [sources[i] for i in some],
                [limits[i] for i in some],
                config,
                [constraints[i] for i in some],
                steered,
            )
            for i, answer in zip(some, answers, strict=True):
                found[i] = answer
        return found

    def _search(
        self,
        sources: Sequence[Sequence[int]],
        limits: Sequence[int],
        config: SearchConfig,
        wishes: Sequence[Constraints],
        steered: bool,
    ) -> list[list[Hypothesis]]:
        """All in one batch; either all or none have required phrases."""
        device = self._model.device
        source = pad_source(sources).to(device)
        required = [wish.required for wish in wishes] if wishes[0].required else None
        prefixes = [wish.prefix for wish in wishes]
        bounds = ConstraintState.from_lists(
            limits, config.min_length, prefixes, required, self._edges, device
        )
        bans = make_token_bans(config, wishes, steered, device)
        with self._inference_mode():
            state = self._model.start_decoding(source, source != PAD)
            if config.sampling is not None:
                if required is not None:
                    raise RegardError("required phrases need a beam; leave sampling out")
                return sampling_search(self, state, BOS, EOS, bounds, config, config.sampling, sources, bans)
            search = greedy_search if config.beam == 1 and required is None else beam_search
            return search(self, state, BOS, EOS, bounds, config, bans)

    def top_next_tokens(
        self, source: Sequence[int], prefix: Sequence[int], count: int
    ) -> tuple[float, list[tuple[int, float]]]:
        """The log-probability of a beginning, and the likeliest tokens after it with theirs."""
        device = self._model.device
        row = pad_source([source]).to(device)
        before = 0.0
        with self._inference_mode():
            logs, state = self._next_log_probabilities(self._model.start_decoding(row, row != PAD), BOS)
            for token in prefix:
                before += float(logs[0, token])
                logs, state = self._next_log_probabilities(state, token)
            values, tokens = stable_topk(logs, min(count, logs.shape[1]))
        return before, list(zip(tokens[0].tolist(), values[0].tolist(), strict=True))

    def _next_log_probabilities(self, state: Any, token: int) -> tuple[Float[Tensor, "1 vocab"], Any]:
        """Log-probabilities of what follows, in one row."""
        logits, state = self.step(state, torch.tensor([token], device=self._model.device))
        return logits.float() - log_normalizer(logits)[:, None], state

    @contextmanager
    def _inference_mode(self) -> Iterator[None]:
        """The model answers as it would when in use, and is left as it was found."""
        learning = self._model if isinstance(self._model, nn.Module) and self._model.training else None
        if learning is not None:
            learning.eval()
        try:
            with torch.inference_mode():
                yield
        finally:
            if learning is not None:
                learning.train()

    def step(self, state: Any, token: Int[Tensor, " row"]) -> tuple[Float[Tensor, "row vocab"], Any]:
        return self._model.step(state, token)

    def expand(self, state: Any, beam: int) -> Any:
        return state.expand(beam)

    def reorder(self, state: Any, rows: Int[Tensor, " row"]) -> Any:
        return state.reorder(rows)

    def select(self, state: Any, sentences: Int[Tensor, " sentence"]) -> Any:
        return state.select(sentences)


def make_token_bans(
    config: SearchConfig, constraints: Sequence[Constraints], is_constrained: bool, device: torch.device
) -> TokenBans | None:
    """None where nothing is banned, so that nothing is spent on it.

    Left alone, a model never writes a mark; one that may not write what it would, or draws by chance, could.
    """
    free = SearchConfig(config.beam, config.alpha, config.n_best, max_length=config.max_length)
    if config == free and not is_constrained:
        return None
    never = (SPECIAL_TOKEN_IDS,) if config.allow_unknown else (SPECIAL_TOKEN_IDS, BYTE_TOKEN_IDS)
    return TokenBans.from_phrases(
        [wish.forbidden for wish in constraints], config.no_repeat_ngram, never, device
    )
