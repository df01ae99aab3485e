"""A stack of encoder layers: the left half of Figure 1."""

from collections.abc import Iterable
from typing import cast

from jaxtyping import Float
from torch import Tensor, nn

from regard.model.config import LayerConfig
from regard.model.layers import DecoderLayer, EncoderLayer, KVCache, make_final_norm
from regard.model.masks import AttentionMask


class Encoder(nn.Module):
    """N layers, each reading the one below; the whole sentence at once, no loop over time."""

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
    """N layers; the output of the last encoder layer goes to every one of them."""

    def __init__(self, config: LayerConfig, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(layers))
        self.norm = make_final_norm(config)

    def start_caches(self, encoded: Float[Tensor, "batch source d_model"]) -> tuple[KVCache, ...]:
        """What each layer remembers before the first token: its own view of the source."""
        layers = cast(Iterable[DecoderLayer], self.layers)
        return tuple(KVCache(layer.cross_attention.project_keys_values(encoded), None) for layer in layers)

    def forward(
        self,
        x: Float[Tensor, "batch target d_model"],
        caches: tuple[KVCache, ...],
        target_mask: AttentionMask,
        source_mask: AttentionMask,
    ) -> tuple[Float[Tensor, "batch target d_model"], tuple[KVCache, ...]]:
        """The new tokens x, read after `past`, and the past with them in it."""
        grown = []
        for layer, before in zip(self.layers, caches, strict=True):
            x, after = layer(x, before, target_mask, source_mask)
            grown.append(after)
        return self.norm(x), tuple(grown)
