"""The plain road from a model to a search: cached keys and values, any device."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.data.batch import source_rows
from regard.engine.engine import limit
from regard.errors import RegardError
from regard.model.transformer import Decoding, Transformer
from regard.search.bans import Bans
from regard.search.beam import beam
from regard.search.beams import Bounds
from regard.search.config import PAPER, SearchConfig
from regard.search.greedy import greedy
from regard.search.hypothesis import Hypothesis
from regard.search.sampling import sample
from regard.search.wish import NO_WISH, Wish
from regard.text.tokenizer import BOS, BYTES, EOS, MARKS, PAD

SPELLING = slice(len(MARKS), len(MARKS) + len(BYTES))
"""The pieces that are single bytes: how characters are written that no piece has."""


class EagerEngine:
    """Translates ids with a model as it is; satisfies `Engine`, and `search.step.Step`."""

    def __init__(self, model: Transformer) -> None:
        self._model = model

    @property
    def longest(self) -> int:
        return self._model.config.max_length - 1  # one place is the end mark's

    def translate(
        self,
        sources: Sequence[Sequence[int]],
        config: SearchConfig = PAPER,
        wishes: Sequence[Wish] | None = None,
    ) -> list[list[Hypothesis]]:
        """The best translations found of each row of ids.

        Sentences with required phrases are searched apart, since they need more room than others.
        """
        wishes = [NO_WISH] * len(sources) if wishes is None else wishes
        limits = [
            limit(len(row), self.longest, config, wish) for row, wish in zip(sources, wishes, strict=True)
        ]
        found: list[list[Hypothesis]] = [[] for _ in sources]
        for needy in (False, True):
            some = [i for i, wish in enumerate(wishes) if bool(wish.required) == needy]
            if not some:
                continue
            answers = self._search(
                [sources[i] for i in some], [limits[i] for i in some], config, [wishes[i] for i in some]
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
    ) -> list[list[Hypothesis]]:
        """All in one batch; either all or none have required phrases."""
        model = self._model
        device = next(model.parameters()).device
        source = source_rows(sources).to(device)
        required = [wish.required for wish in wishes] if wishes[0].required else None
        prefixes = [wish.prefix for wish in wishes]
        bounds = Bounds.of(limits, config.min_length, prefixes, required, device)
        bans = _bans(config, wishes, device)
        was_training = model.training
        model.eval()
        try:
            with torch.inference_mode():
                state = model.start(source, source != PAD)
                if config.sampling is not None:
                    if required is not None:
                        raise RegardError("required phrases need a beam; leave sampling out")
                    return sample(self, state, BOS, EOS, bounds, config, config.sampling, sources, bans)
                search = greedy if config.beam == 1 and required is None else beam
                return search(self, state, BOS, EOS, bounds, config, bans)
        finally:
            model.train(was_training)

    def step(
        self, state: Decoding, token: Int[Tensor, " row"]
    ) -> tuple[Float[Tensor, "row vocab"], Decoding]:
        return self._model.step(state, token)

    def expand(self, state: Decoding, beam: int) -> Decoding:
        return state.expand(beam)

    def reorder(self, state: Decoding, rows: Int[Tensor, " row"]) -> Decoding:
        return state.reorder(rows)

    def select(self, state: Decoding, sentences: Int[Tensor, " sentence"]) -> Decoding:
        return state.select(sentences)


def _bans(config: SearchConfig, wishes: Sequence[Wish], device: torch.device) -> Bans | None:
    """None where nothing is banned, so that nothing is spent on it."""
    forbidden = [wish.forbidden for wish in wishes]
    if config.no_repeat_ngram is None and config.unknown and not any(forbidden):
        return None
    return Bans.of(forbidden, config.no_repeat_ngram, None if config.unknown else SPELLING, device)
