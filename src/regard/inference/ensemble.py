"""Several models as one: the mean of what they hold to be likely."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.errors import ConfigError
from regard.model.transformer import Decoding, Transformer
from regard.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Decodings:
    """Where each of the models stands."""

    each: tuple[Decoding, ...]

    def expand(self, beam: int) -> "Decodings":
        return Decodings(tuple(one.expand(beam) for one in self.each))

    def reorder(self, rows: Int[Tensor, " row"]) -> "Decodings":
        return Decodings(tuple(one.reorder(rows) for one in self.each))

    def select(self, sentences: Int[Tensor, " sentence"]) -> "Decodings":
        return Decodings(tuple(one.select(sentences) for one in self.each))


class Ensemble(nn.Module):
    """Takes the place of a model in `EagerEngine`; its members may differ in all but their tokenizer."""

    def __init__(self, members: Sequence[Transformer]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)
        self.longest = min(member.longest for member in members)

    @property
    def device(self) -> torch.device:
        return self._each()[0].device

    def start(self, source: Int[Tensor, "row source"], source_keep: Bool[Tensor, "row source"]) -> Decodings:
        return Decodings(tuple(member.start(source, source_keep) for member in self._each()))

    def step(
        self, decodings: Decodings, token: Int[Tensor, " row"]
    ) -> tuple[Float[Tensor, "row vocab"], Decodings]:
        """The logarithm of the mean probability of every next token."""
        steps = [member.step(one, token) for member, one in zip(self._each(), decodings.each, strict=True)]
        logs = torch.stack([logits.float().log_softmax(dim=-1) for logits, _ in steps])
        mean = logs.logsumexp(dim=0) - math.log(len(steps))
        return mean, Decodings(tuple(decoding for _, decoding in steps))

    def _each(self) -> list[Transformer]:
        return [cast(Transformer, member) for member in self.members]


def ensemble(models: Sequence[Transformer], tokenizers: Sequence[Tokenizer]) -> Ensemble:
    """Models that cut text into the same pieces, as one; others have nothing to take the mean of."""
    for number, tokenizer in enumerate(tokenizers[1:], start=2):
        if tokenizer.fingerprint != tokenizers[0].fingerprint:
            raise ConfigError(
                f"models 1 and {number} cut text into different pieces and cannot work as one; "
                "train them on the same text with the same vocab_size"
            )
    return Ensemble(models)
