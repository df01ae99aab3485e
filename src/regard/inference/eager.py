"""The plain road from a model to a search: cached keys and values, any device."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.data.batch import source_rows
from regard.errors import RegardError
from regard.inference.engine import NO_ROOM, allowed, limit, needed
from regard.inference.ensemble import Ensemble
from regard.inference.incremental import Lean
from regard.model.transformer import Transformer
from regard.search.beam import beam
from regard.search.beam_state import Bounds
from regard.search.config import PAPER, SearchConfig
from regard.search.constraint_state import Bans
from regard.search.constraints import NO_WISH, Edges, Wish
from regard.search.greedy import greedy
from regard.search.hypothesis import Hypothesis
from regard.search.sampling import sample
from regard.search.topk import highest, log_norm
from regard.text.tokenizer import BOS, BYTES, EOS, MARKS, PAD

SPELLING = slice(len(MARKS), len(MARKS) + len(BYTES))
"""The pieces that are single bytes: how characters are written that no piece has."""
INSIDE = slice(PAD, BOS + 1)
"""Marks that no text has."""


class EagerEngine:
    """Translates ids with a model as it is; satisfies `Engine`, and `search.step.Step`."""

    def __init__(self, model: Transformer | Ensemble | Lean, edges: Edges | None = None) -> None:
        """With the edges of its pieces, required phrases stand by themselves and not in longer words."""
        self._model, self._edges = model, edges

    @property
    def longest(self) -> int:
        return self._model.longest

    def translate(
        self,
        sources: Sequence[Sequence[int]],
        config: SearchConfig = PAPER,
        wishes: Sequence[Wish] | None = None,
    ) -> list[list[Hypothesis]]:
        """The best translations found of each row of ids.

        Sentences with required phrases are searched apart, since they need more room than others.
        """
        steered = wishes is not None
        wishes = [NO_WISH] * len(sources) if wishes is None else wishes
        limits = [
            limit(len(row), self.longest, config, wish) for row, wish in zip(sources, wishes, strict=True)
        ]
        most = allowed(self.longest, config)
        found = [[] if needed(wish) <= most else [NO_ROOM] for wish in wishes]
        for needy in (False, True):
            some = [i for i, wish in enumerate(wishes) if bool(wish.required) == needy and not found[i]]
            if not some:
                continue
            answers = self._search(
                [sources[i] for i in some],
                [limits[i] for i in some],
                config,
                [wishes[i] for i in some],
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
        wishes: Sequence[Wish],
        steered: bool,
    ) -> list[list[Hypothesis]]:
        """All in one batch; either all or none have required phrases."""
        device = self._model.device
        source = source_rows(sources).to(device)
        required = [wish.required for wish in wishes] if wishes[0].required else None
        prefixes = [wish.prefix for wish in wishes]
        bounds = Bounds.of(limits, config.min_length, prefixes, required, self._edges, device)
        bans = bans_for(config, wishes, steered, device)
        with self._asking():
            state = self._model.start(source, source != PAD)
            if config.sampling is not None:
                if required is not None:
                    raise RegardError("required phrases need a beam; leave sampling out")
                return sample(self, state, BOS, EOS, bounds, config, config.sampling, sources, bans)
            search = greedy if config.beam == 1 and required is None else beam
            return search(self, state, BOS, EOS, bounds, config, bans)

    def following(
        self, source: Sequence[int], prefix: Sequence[int], count: int
    ) -> tuple[float, list[tuple[int, float]]]:
        """The log-probability of a beginning, and the likeliest tokens after it with theirs."""
        device = self._model.device
        row = source_rows([source]).to(device)
        before = 0.0
        with self._asking():
            logs, state = self._after(self._model.start(row, row != PAD), BOS)
            for token in prefix:
                before += float(logs[0, token])
                logs, state = self._after(state, token)
            values, tokens = highest(logs, min(count, logs.shape[1]))
        return before, list(zip(tokens[0].tolist(), values[0].tolist(), strict=True))

    def _after(self, state: Any, token: int) -> tuple[Float[Tensor, "1 vocab"], Any]:
        """Log-probabilities of what follows, in one row."""
        logits, state = self.step(state, torch.tensor([token], device=self._model.device))
        return logits.float() - log_norm(logits)[:, None], state

    @contextmanager
    def _asking(self) -> Iterator[None]:
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


def bans_for(
    config: SearchConfig, wishes: Sequence[Wish], steered: bool, device: torch.device
) -> Bans | None:
    """None where nothing is banned, so that nothing is spent on it.

    Left alone, a model never writes a mark; one that may not write what it would, or draws by chance, could.
    """
    free = SearchConfig(config.beam, config.alpha, config.n_best, max_length=config.max_length)
    if config == free and not steered:
        return None
    never = (INSIDE,) if config.unknown else (INSIDE, SPELLING)
    return Bans.of([wish.forbidden for wish in wishes], config.no_repeat_ngram, never, device)
