"""A stack of encoder layers: the left half of Figure 1."""

from collections.abc import Iterable
from typing import cast

from jaxtyping import Float
from torch import Tensor, nn

from regard.model.config import CoreConfig
from regard.model.layers import DecoderLayer, EncoderLayer, Past, final_norm
from regard.model.masks import Visible


class Encoder(nn.Module):
    """N layers, each reading the one below; the whole sentence at once, no loop over time."""

    def __init__(self, config: CoreConfig, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(layers))
        self.norm = final_norm(config)

    def forward(
        self, x: Float[Tensor, "batch source d_model"], visible: Visible
    ) -> Float[Tensor, "batch source d_model"]:
        for layer in self.layers:
            x = layer(x, visible)
        return self.norm(x)


class Decoder(nn.Module):
    """N layers; the output of the last encoder layer goes to every one of them."""

    def __init__(self, config: CoreConfig, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(layers))
        self.norm = final_norm(config)

    def start(self, encoded: Float[Tensor, "batch source d_model"]) -> tuple[Past, ...]:
        """What each layer remembers before the first token: its own view of the source."""
        layers = cast(Iterable[DecoderLayer], self.layers)
        return tuple(Past(layer.cross_attention.remember(encoded), None) for layer in layers)

    def forward(
        self,
        x: Float[Tensor, "batch target d_model"],
        past: tuple[Past, ...],
        target_visible: Visible,
        source_visible: Visible,
    ) -> tuple[Float[Tensor, "batch target d_model"], tuple[Past, ...]]:
        """The new tokens x, read after `past`, and the past with them in it."""
        grown = []
        for layer, before in zip(self.layers, past, strict=True):
            x, after = layer(x, before, target_visible, source_visible)
            grown.append(after)
        return self.norm(x), tuple(grown)
