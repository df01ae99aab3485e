"""The plain road from a model to a search: cached keys and values, any device."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.data.batch import source_rows
from regard.model.transformer import Decoding, Transformer
from regard.search.beam import beam
from regard.search.config import PAPER, SearchConfig
from regard.search.greedy import greedy
from regard.text.tokenizer import BOS, EOS, PAD

EXTRA = 50
"""A translation may be this much longer than its source (section 6.1)."""


class EagerEngine:
    """Translates ids with a model as it is; satisfies `search.step.Step`."""

    def __init__(self, model: Transformer) -> None:
        self._model = model

    def translate(self, sources: Sequence[Sequence[int]], config: SearchConfig = PAPER) -> list[list[int]]:
        """The best translation found of each row of ids, all in one batch."""
        model = self._model
        device = next(model.parameters()).device
        source = source_rows(sources).to(device)
        limits = torch.tensor([self._limit(len(row)) for row in sources], device=device)
        was_training = model.training
        model.eval()
        try:
            with torch.inference_mode():
                state = model.start(source, source != PAD)
                if config.beam == 1:
                    return greedy(self, state, BOS, EOS, limits)
                return beam(self, state, BOS, EOS, limits, config)
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

    def _limit(self, source_length: int) -> int:
        return min(source_length + EXTRA, self._model.config.max_length - 1)
