"""The Transformer of this project, asked as the other models are asked."""

from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.model.config import ModelConfig
from regard.model.masks import CAUSAL_MASK, NO_MASK
from regard.model.transformer import Transformer, position_ids


class TransformerBaseline(nn.Module):
    """Scores of every next target token; no source here is padded, so every word of it may be seen."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.transformer = Transformer(config)

    def forward(
        self, source: Int[Tensor, "batch source"], target_in: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target vocab"]:
        model = self.transformer
        encoded = model.encode(source, position_ids(source), NO_MASK)
        return model.output(model.decode(target_in, position_ids(target_in), encoded, CAUSAL_MASK, NO_MASK))
