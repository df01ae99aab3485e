"""One encoder layer that mixes tokens by attention, by a linear layer or by a convolution."""

from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.model.attention import MultiHeadAttention
from regard.model.config import ModelConfig
from regard.model.embedding import Embedding
from regard.model.layers import FeedForward, ResidualConnection
from regard.model.masks import NO_MASK
from regard.model.transformer import position_ids

MixerKind = Literal["attention", "linear", "convolution"]
KERNEL = 5


class AttentionMixer(nn.Module):
    """Mixing weights computed from the input: self-attention."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(width, heads, width // heads)

    def forward(self, x: Float[Tensor, "batch length width"]) -> Float[Tensor, "batch length width"]:
        return self.attention(x, self.attention.project_keys_values(x), NO_MASK)

    def weights(self, x: Float[Tensor, "batch length width"]) -> Float[Tensor, "batch heads length length"]:
        return self.attention.weights(x, self.attention.project_keys_values(x), NO_MASK)


class LinearMixer(nn.Module):
    """One trained weight for each pair of positions."""

    def __init__(self, width: int, length: int) -> None:
        super().__init__()
        self.value, self.output = nn.Linear(width, width), nn.Linear(width, width)
        self.position_weights = nn.Linear(length, length)

    def forward(self, x: Float[Tensor, "batch length width"]) -> Float[Tensor, "batch length width"]:
        return self.output(self.position_weights(self.value(x).transpose(1, 2)).transpose(1, 2))

    def weights(self, x: Float[Tensor, "batch length width"]) -> Float[Tensor, "batch 1 length length"]:
        return self.position_weights.weight.expand(len(x), 1, -1, -1)


class ConvolutionMixer(nn.Module):
    """One trained weight for each relative position, up to two tokens to either side."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(width, width, KERNEL, padding=KERNEL // 2)

    def forward(self, x: Float[Tensor, "batch length width"]) -> Float[Tensor, "batch length width"]:
        return self.convolution(x.transpose(1, 2)).transpose(1, 2)

    def weights(self, x: Float[Tensor, "batch length width"]) -> Float[Tensor, "batch 1 length length"]:
        """Return the strength of each relative position: the norm of its matrix."""
        length = x.shape[1]
        strength = self.convolution.weight.norm(dim=(0, 1))
        bands = [
            torch.diag_embed(strength[index].expand(length - abs(offset)), offset)
            for index, offset in enumerate(range(-(KERNEL // 2), KERNEL // 2 + 1))
        ]
        return torch.stack(bands).sum(0).expand(len(x), 1, -1, -1)


class MixingModel(nn.Module):
    """Embedding and positions, one mixer, feed-forward: logits at every source position."""

    def __init__(self, config: ModelConfig, length: int, answers: int, kind: MixerKind) -> None:
        super().__init__()
        width = config.d_model
        self.embedding = Embedding(config.vocab_size, width, config.position, length, dropout=0.0)
        nn.init.normal_(self.embedding.tokens.weight, std=width**-0.5)
        match kind:
            case "attention":
                self.mixer = AttentionMixer(width, config.heads)
            case "linear":
                self.mixer = LinearMixer(width, length)
            case "convolution":
                self.mixer = ConvolutionMixer(width)
        self.feed_forward = FeedForward(config)
        self.mixer_residual, self.feed_forward_residual = (
            ResidualConnection(config),
            ResidualConnection(config),
        )
        self.output = nn.Linear(width, answers)

    def forward(
        self,
        source: Int[Tensor, "batch length"],
        target_in: Int[Tensor, "batch length"],  # noqa: ARG002  all positions are predicted at once
    ) -> Float[Tensor, "batch length answers"]:
        x = self.mixer_residual(self._embedded(source), self.mixer)
        return self.output(self.feed_forward_residual(x, self.feed_forward))

    def weights(self, source: Int[Tensor, "batch length"]) -> Float[Tensor, "batch _ length length"]:
        """Return the mixing weights between all positions."""
        return self.mixer.weights(self._embedded(source)).detach()

    def _embedded(self, source: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length width"]:
        return self.embedding(source, position_ids(source))
