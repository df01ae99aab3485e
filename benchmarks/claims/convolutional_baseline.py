"""A convolutional encoder-decoder after Gehring et al. (2017): gates, and attention in each layer."""

from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from regard.model.embedding import Embedding
from regard.model.transformer import position_ids


class GatedConvolution(nn.Module):
    """x + GLU(convolution(norm(x))): a few neighbours, or with `causal` a few words before."""

    def __init__(self, width: int, kernel: int, causal: bool) -> None:
        super().__init__()
        left = kernel - 1 if causal else kernel // 2
        self.padding = (left, kernel - 1 - left)
        self.norm = nn.LayerNorm(width)
        self.convolution = nn.Conv1d(width, 2 * width, kernel)

    def forward(self, x: Float[Tensor, "batch length width"]) -> Float[Tensor, "batch length width"]:
        y = functional.pad(self.norm(x).transpose(1, 2), self.padding)
        return x + functional.glu(self.convolution(y), dim=1).transpose(1, 2)


class SourceAttention(nn.Module):
    """x + what it finds in the source: one head over the encoder's output."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.query = nn.Linear(width, width)
        self.output = nn.Linear(width, width)

    def forward(
        self, x: Float[Tensor, "batch target width"], memory: Float[Tensor, "batch source width"]
    ) -> Float[Tensor, "batch target width"]:
        found = functional.scaled_dot_product_attention(self.query(self.norm(x)), memory, memory)
        return x + self.output(found)


class ConvolutionalBaseline(nn.Module):
    """Scores of every next target token, from neighbours of neighbours."""

    def __init__(self, vocab: int, width: int, layers: int = 2, kernel: int = 3, longest: int = 2048) -> None:
        super().__init__()
        self.embedding = Embedding(vocab, width, "paper", longest, dropout=0.0)
        nn.init.normal_(self.embedding.tokens.weight, std=width**-0.5)
        self.encoder = nn.Sequential(*(GatedConvolution(width, kernel, causal=False) for _ in range(layers)))
        self.encoded = nn.LayerNorm(width)
        self.decoder = nn.ModuleList(GatedConvolution(width, kernel, causal=True) for _ in range(layers))
        self.source_attention = nn.ModuleList(SourceAttention(width) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(
        self, source: Int[Tensor, "batch source"], target_in: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target vocab"]:
        memory = self.encoded(self.encoder(self.embedding(source, position_ids(source))))
        x = self.embedding(target_in, position_ids(target_in))
        for convolve, look in zip(self.decoder, self.source_attention, strict=True):
            x = look(convolve(x), memory)
        return functional.linear(self.norm(x), self.embedding.tokens.weight)
