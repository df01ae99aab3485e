"""Encoder and decoder stacks: the two halves of Figure 1."""

from collections.abc import Iterable
from typing import cast

from jaxtyping import Float
from torch import Tensor, nn

from regard.model.config import LayerConfig
from regard.model.layers import DecoderLayer, EncoderLayer, KVCache, make_final_norm
from regard.model.masks import AttentionMask


class Encoder(nn.Module):
    """N encoder layers; all positions at once."""

    def __init__(self, config: LayerConfig, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(layers))
        self.norm = make_final_norm(config)

    def forward(
        self, x: Float[Tensor, "batch source d_model"], mask: AttentionMask
    ) -> Float[Tensor, "batch source d_model"]:
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


class Decoder(nn.Module):
    """N decoder layers, each attending to the output of the last encoder layer."""

    def __init__(self, config: LayerConfig, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(layers))
        self.norm = make_final_norm(config)

    def start_caches(self, encoded: Float[Tensor, "batch source d_model"]) -> tuple[KVCache, ...]:
        """Return each layer's cache before the first token, with the keys and values of the source."""
        layers = cast(Iterable[DecoderLayer], self.layers)
        return tuple(KVCache(layer.cross_attention.project_keys_values(encoded), None) for layer in layers)

    def forward(
        self,
        x: Float[Tensor, "batch target d_model"],
        caches: tuple[KVCache, ...],
        target_mask: AttentionMask,
        source_mask: AttentionMask,
    ) -> tuple[Float[Tensor, "batch target d_model"], tuple[KVCache, ...]]:
        """Return the output for the new tokens x, and the caches that include them."""
        new_caches = []
        for layer, cache in zip(self.layers, caches, strict=True):
            x, new_cache = layer(x, cache, target_mask, source_mask)
            new_caches.append(new_cache)
        return self.norm(x), tuple(new_caches)
