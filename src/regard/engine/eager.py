"""The plain road from a model to a search: cached keys and values, any device."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.data.batch import source_rows
from regard.engine.engine import limit
from regard.model.transformer import Decoding, Transformer
from regard.search.beam import beam
from regard.search.beams import Bounds
from regard.search.config import PAPER, SearchConfig
from regard.search.greedy import greedy
from regard.search.hypothesis import Hypothesis
from regard.search.wish import NO_WISH, Wish
from regard.text.tokenizer import BOS, EOS, PAD


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
        """The best translations found of each row of ids, all in one batch."""
        if not sources:
            return []
        model = self._model
        device = next(model.parameters()).device
        source = source_rows(sources).to(device)
        wishes = [NO_WISH] * len(sources) if wishes is None else wishes
        bounds = Bounds.of(
            [limit(len(row), self.longest, config, wish) for row, wish in zip(sources, wishes, strict=True)],
            config.min_length,
            [wish.prefix for wish in wishes],
            device,
        )
        was_training = model.training
        model.eval()
        try:
            with torch.inference_mode():
                state = model.start(source, source != PAD)
                search = greedy if config.beam == 1 else beam
                return search(self, state, BOS, EOS, bounds, config)
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
