"""Forced decoding: a model reads given translations along their sources, all positions in one pass."""

from collections.abc import Iterable, Sequence
from typing import cast

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.data.batch import pad
from regard.inference.alignment import Reading, alignment_layer
from regard.model.layers import DecoderLayer, Past
from regard.model.masks import CAUSAL, Visible, padded
from regard.model.transformer import Transformer, positions
from regard.search.topk import log_norm
from regard.text.tokenizer import BOS, EOS, PAD


class ForcedEngine:
    """Reads translations with a model as it is."""

    def __init__(self, model: Transformer) -> None:
        self._model = model
        self._layer = alignment_layer(model.config.decoder_layers)

    @property
    def longest(self) -> int:
        """Tokens that either side may have."""
        return self._model.longest

    def read(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[Reading]:
        """One reading for each pair, all in one batch."""
        if not sources:
            return []
        device = self._model.device
        source = pad([np.array([*row, EOS]) for row in sources]).to(device)
        target = pad([np.array([BOS, *row, EOS]) for row in targets]).to(device)
        was_training = self._model.training
        self._model.eval()
        try:
            with torch.inference_mode():
                logs, attention = self._pass(source, target[:, :-1], target[:, 1:])
        finally:
            self._model.train(was_training)
        sizes = [(len(t) + 1, len(s) + 1) for s, t in zip(sources, targets, strict=True)]
        return [
            Reading(tuple(row[:written].tolist()), looks[:written, :read])
            for row, looks, (written, read) in zip(logs.cpu(), attention.cpu().numpy(), sizes, strict=True)
        ]

    def _pass(
        self,
        source: Int[Tensor, "batch source"],
        target_in: Int[Tensor, "batch target"],
        target_out: Int[Tensor, "batch target"],
    ) -> tuple[Float[Tensor, "batch target"], Float[Tensor, "batch target source"]]:
        """The log-probability of each token, and where it looks, heads averaged."""
        model, visible = self._model, padded(source != PAD)
        past = model.decoder.start(model.encode(source, positions(source), visible))
        x = model.target_embedding(target_in, positions(target_in))
        looks = torch.zeros(0)
        layers = cast(Iterable[DecoderLayer], model.decoder.layers)
        for number, (layer, seen) in enumerate(zip(layers, past, strict=True)):
            if number == self._layer:
                looks = _cross_attention(layer, x, seen, visible).mean(dim=1)
            x, _ = layer(x, seen, CAUSAL, visible)
        logits = model.output(model.decoder.norm(x)).flatten(0, 1)
        chosen = logits.gather(1, target_out.reshape(-1, 1))[:, 0].float()
        return (chosen - log_norm(logits)).view(target_out.shape), looks.float()


def _cross_attention(
    layer: DecoderLayer, x: Float[Tensor, "batch target d_model"], past: Past, visible: Visible
) -> Float[Tensor, "batch heads target source"]:
    """What the layer weighs the source with; it is asked, not watched, so nothing is left behind in it."""
    weights: list[Tensor] = []

    def look_back(y: Tensor) -> Tensor:
        return layer.self_attention(y, layer.self_attention.remember(y), CAUSAL)

    def ask(y: Tensor) -> Tensor:
        weights.append(layer.cross_attention.weights(y, past.source, visible))
        return y

    layer.around_cross_attention(layer.around_self_attention(x, look_back), ask)
    return weights[0]
