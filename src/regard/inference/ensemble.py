"""Several models as one: the mean of what they hold to be likely."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.errors import ConfigError
from regard.model.transformer import DecoderState, Transformer
from regard.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class EnsembleState:
    """Where each of the models stands."""

    states: tuple[DecoderState, ...]

    def expand(self, beam: int) -> "EnsembleState":
        return EnsembleState(tuple(one.expand(beam) for one in self.states))

    def reorder(self, rows: Int[Tensor, " row"]) -> "EnsembleState":
        return EnsembleState(tuple(one.reorder(rows) for one in self.states))

    def select(self, sentences: Int[Tensor, " sentence"]) -> "EnsembleState":
        return EnsembleState(tuple(one.select(sentences) for one in self.states))


class Ensemble(nn.Module):
    """Takes the place of a model in `EagerEngine`; its members may differ in all but their tokenizer."""

    def __init__(self, members: Sequence[Transformer]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)
        self.max_tokens = min(member.max_tokens for member in members)

    @property
    def device(self) -> torch.device:
        return self._transformers()[0].device

    def start_decoding(
        self, source: Int[Tensor, "row source"], source_keep: Bool[Tensor, "row source"]
    ) -> EnsembleState:
        return EnsembleState(
            tuple(member.start_decoding(source, source_keep) for member in self._transformers())
        )

    def step(
        self, state: EnsembleState, token: Int[Tensor, " row"]
    ) -> tuple[Float[Tensor, "row vocab"], EnsembleState]:
        """The logarithm of the mean probability of every next token."""
        steps = [
            member.step(one, token) for member, one in zip(self._transformers(), state.states, strict=True)
        ]
        logs = torch.stack([logits.float().log_softmax(dim=-1) for logits, _ in steps])
        mean = logs.logsumexp(dim=0) - math.log(len(steps))
        return mean, EnsembleState(tuple(decoding for _, decoding in steps))

    def _transformers(self) -> list[Transformer]:
        return [cast(Transformer, member) for member in self.members]


def make_ensemble(models: Sequence[Transformer], tokenizers: Sequence[Tokenizer]) -> Ensemble:
    """Models that cut text into the same pieces, as one; others have nothing to take the mean of."""
    for number, tokenizer in enumerate(tokenizers[1:], start=2):
        if tokenizer.fingerprint != tokenizers[0].fingerprint:
            raise ConfigError(
                f"models 1 and {number} cut text into different pieces and cannot work as one; "
                "train them on the same text with the same vocab_size"
            )
    return Ensemble(models)
