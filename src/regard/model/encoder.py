"""A stack of encoder layers: the left half of Figure 1."""

from jaxtyping import Float
from torch import Tensor, nn

from regard.model.config import CoreConfig
from regard.model.layers import EncoderLayer, final_norm
from regard.model.visible import Visible


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
