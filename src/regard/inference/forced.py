"""Forced decoding: log-probabilities and attention of given translations, all positions in one pass."""

from collections.abc import Iterable, Sequence
from typing import cast

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.data.batch import pad_rows
from regard.inference.alignment import ForcedDecoding, pick_alignment_layer
from regard.model.layers import DecoderLayer, KVCache
from regard.model.masks import CAUSAL_MASK, AttentionMask, make_padding_mask
from regard.model.transformer import Transformer, position_ids
from regard.search.topk import log_normalizer
from regard.text.tokenizer import BOS, EOS, PAD


class ForcedDecoder:
    """Decodes given targets with a model."""

    def __init__(self, model: Transformer) -> None:
        self._model = model
        self._layer = pick_alignment_layer(model.config.decoder_layers)

    @property
    def max_tokens(self) -> int:
        """The maximum number of tokens of either side."""
        return self._model.max_tokens

    def force_decode(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
    ) -> list[ForcedDecoding]:
        """Decode all pairs in one batch."""
        if not sources:
            return []
        device = self._model.device
        source = pad_rows([np.array([*row, EOS]) for row in sources]).to(device)
        target = pad_rows([np.array([BOS, *row, EOS]) for row in targets]).to(device)
        was_training = self._model.training
        self._model.eval()
        try:
            with torch.inference_mode():
                logs, attention = self._decode_batch(source, target[:, :-1], target[:, 1:])
        finally:
            self._model.train(was_training)
        sizes = [(len(t) + 1, len(s) + 1) for s, t in zip(sources, targets, strict=True)]
        return [
            ForcedDecoding(tuple(row[:target_size].tolist()), weights[:target_size, :source_size])
            for row, weights, (target_size, source_size) in zip(
                logs.cpu(), attention.cpu().numpy(), sizes, strict=True
            )
        ]

    def _decode_batch(
        self,
        source: Int[Tensor, "batch source"],
        target_in: Int[Tensor, "batch target"],
        target_out: Int[Tensor, "batch target"],
    ) -> tuple[Float[Tensor, "batch target"], Float[Tensor, "batch target source"]]:
        """Return each token's log-probability and its cross-attention, averaged over heads."""
        model, mask = self._model, make_padding_mask(source != PAD)
        caches = model.decoder.start_caches(model.encode(source, position_ids(source), mask))
        x = model.target_embedding(target_in, position_ids(target_in))
        attention = torch.zeros(0)
        layers = cast(Iterable[DecoderLayer], model.decoder.layers)
        for number, (layer, cache) in enumerate(zip(layers, caches, strict=True)):
            if number == self._layer:
                attention = _cross_attention_weights(layer, x, cache, mask).mean(dim=1)
            x, _ = layer(x, cache, CAUSAL_MASK, mask)
        logits = model.output(model.decoder.norm(x)).flatten(0, 1)
        target_logits = logits.gather(1, target_out.reshape(-1, 1))[:, 0].float()
        return (target_logits - log_normalizer(logits)).view(target_out.shape), attention.float()


def _cross_attention_weights(
    layer: DecoderLayer, x: Float[Tensor, "batch target d_model"], cache: KVCache, mask: AttentionMask
) -> Float[Tensor, "batch heads target source"]:
    """Return the layer's cross-attention weights, computed without hooks or state in the layer."""
    weights: list[Tensor] = []

    def attend_to_target(y: Tensor) -> Tensor:
        return layer.self_attention(y, layer.self_attention.project_keys_values(y), CAUSAL_MASK)

    def record_weights(y: Tensor) -> Tensor:
        weights.append(layer.cross_attention.weights(y, cache.source, mask))
        return y

    layer.around_cross_attention(layer.around_self_attention(x, attend_to_target), record_weights)
    return weights[0]
