"""Ensemble: several models searched as one, by the mean of their probabilities."""

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
    """The decoder state of each model."""

    states: tuple[DecoderState, ...]

    def expand(self, beam: int) -> "EnsembleState":
        return EnsembleState(tuple(state.expand(beam) for state in self.states))

    def reorder(self, rows: Int[Tensor, " row"]) -> "EnsembleState":
        return EnsembleState(tuple(state.reorder(rows) for state in self.states))

    def select(self, sentences: Int[Tensor, " sentence"]) -> "EnsembleState":
        return EnsembleState(tuple(state.select(sentences) for state in self.states))


class Ensemble(nn.Module):
    """A model for `EagerEngine`; its members may differ in everything but their tokenizer."""

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
        members = self._transformers()
        return EnsembleState(tuple(member.start_decoding(source, source_keep) for member in members))

    def step(
        self, state: EnsembleState, token: Int[Tensor, " row"]
    ) -> tuple[Float[Tensor, "row vocab"], EnsembleState]:
        """Return the log of the mean probability of every next token, and the new state."""
        pairs = zip(self._transformers(), state.states, strict=True)
        steps = [member.step(member_state, token) for member, member_state in pairs]
        logs = torch.stack([logits.float().log_softmax(dim=-1) for logits, _ in steps])
        mean = logs.logsumexp(dim=0) - math.log(len(steps))
        return mean, EnsembleState(tuple(member_state for _, member_state in steps))

    def _transformers(self) -> list[Transformer]:
        return [cast(Transformer, member) for member in self.members]


def make_ensemble(models: Sequence[Transformer], tokenizers: Sequence[Tokenizer]) -> Ensemble:
    """Return an ensemble of models with equal tokenizers; others are refused."""
    for number, tokenizer in enumerate(tokenizers[1:], start=2):
        if tokenizer.fingerprint != tokenizers[0].fingerprint:
            raise ConfigError(
                f"models 1 and {number} have different tokenizers and cannot form an ensemble; "
                "train them on the same text with the same vocab_size"
            )
    return Ensemble(models)
