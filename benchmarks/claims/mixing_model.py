"""One layer of an encoder in which words are mixed by attention, by a linear layer or by a convolution."""

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
    """Weights made from the words themselves, each time anew."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(width, heads, width // heads)

    def forward(self, x: Float[Tensor, "batch length width"]) -> Float[Tensor, "batch length width"]:
        return self.attention(x, self.attention.project_keys_values(x), NO_MASK)

    def weights(self, x: Float[Tensor, "batch length width"]) -> Float[Tensor, "batch heads length length"]:
        return self.attention.weights(x, self.attention.project_keys_values(x), NO_MASK)


class LinearMixer(nn.Module):
    """One learnt weight for each pair of places."""

    def __init__(self, width: int, length: int) -> None:
        super().__init__()
        self.value, self.output = nn.Linear(width, width), nn.Linear(width, width)
        self.places = nn.Linear(length, length)

    def forward(self, x: Float[Tensor, "batch length width"]) -> Float[Tensor, "batch length width"]:
        return self.output(self.places(self.value(x).transpose(1, 2)).transpose(1, 2))

    def weights(self, x: Float[Tensor, "batch length width"]) -> Float[Tensor, "batch 1 length length"]:
        return self.places.weight.expand(len(x), 1, -1, -1)


class ConvolutionMixer(nn.Module):
    """One learnt weight for each distance, up to two words to either side."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(width, width, KERNEL, padding=KERNEL // 2)

    def forward(self, x: Float[Tensor, "batch length width"]) -> Float[Tensor, "batch length width"]:
        return self.convolution(x.transpose(1, 2)).transpose(1, 2)

    def weights(self, x: Float[Tensor, "batch length width"]) -> Float[Tensor, "batch 1 length length"]:
        """How strong each distance is: the norm of its matrix."""
        length = x.shape[1]
        strength = self.convolution.weight.norm(dim=(0, 1))
        bands = [
            torch.diag_embed(strength[place].expand(length - abs(offset)), offset)
            for place, offset in enumerate(range(-(KERNEL // 2), KERNEL // 2 + 1))
        ]
        return torch.stack(bands).sum(0).expand(len(x), 1, -1, -1)


class MixingModel(nn.Module):
    """Embedding and positions, one mixer, feed-forward: an answer at every word of the source."""

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
        target_in: Int[Tensor, "batch length"],  # noqa: ARG002  all answers are given at once
    ) -> Float[Tensor, "batch length answers"]:
        x = self.mixer_residual(self._embedded(source), self.mixer)
        return self.output(self.feed_forward_residual(x, self.feed_forward))

    def weights(self, source: Int[Tensor, "batch length"]) -> Float[Tensor, "batch _ length length"]:
        """How much each word takes of each."""
        return self.mixer.weights(self._embedded(source)).detach()

    def _embedded(self, source: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length width"]:
        return self.embedding(source, position_ids(source))
