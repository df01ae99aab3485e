"""Constraints as tensors: length limits, forced prefixes, banned tokens."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from regard.search.constraints import TokenIds
from regard.search.required_phrases import RequiredPhrases

UNFORCED = -1
"""In place of a forced token: any token may come next."""
ANY_TOKEN = -1
"""In a banned phrase's context: matches every token."""
NO_PHRASE = -2
"""In place of a banned phrase's last token: no such phrase."""


@dataclass(frozen=True)
class TokenBans:
    """Tokens that must not come next; the probabilities of the others are not renormalized."""

    contexts: Int[Tensor, "sentence phrases context"]
    """Each forbidden phrase without its last token, left-padded with `ANY_TOKEN`."""
    last_tokens: Int[Tensor, "sentence phrases"]
    """Its last token; `NO_PHRASE` where a sentence has fewer phrases."""
    no_repeat_ngram: int | None
    """The length of token sequences that must not occur twice."""
    suppressed: tuple[slice, ...] = ()
    """Token ids that are never allowed."""

    @staticmethod
    def from_phrases(
        forbidden: Sequence[Sequence[TokenIds]],
        no_repeat_ngram: int | None = None,
        suppressed: tuple[slice, ...] = (),
        device: torch.device | None = None,
    ) -> "TokenBans":
        most = max(map(len, forbidden), default=0)
        longest = max((len(phrase) for phrases in forbidden for phrase in phrases), default=1)
        contexts = torch.full((len(forbidden), most, longest - 1), ANY_TOKEN)
        last_tokens = torch.full((len(forbidden), most), NO_PHRASE)
        for i, phrases in enumerate(forbidden):
            for j, (*context, last) in enumerate(phrases):
                contexts[i, j, longest - 1 - len(context) :] = torch.tensor(context, dtype=torch.long)
                last_tokens[i, j] = last
        return TokenBans(contexts.to(device), last_tokens.to(device), no_repeat_ngram, suppressed)

    def mask_logits(
        self,
        logits: Float[Tensor, "sentence slot vocab"],
        tokens: Int[Tensor, "sentence slot length"],
        unforced: Bool[Tensor, " sentence"],
    ) -> None:
        """Set the logits of banned tokens to minus infinity, unless the sentence's next token is forced."""
        for ids in self.suppressed:
            logits[:, :, ids].masked_fill_(unforced[:, None, None], -math.inf)
        if self.last_tokens.shape[1]:
            matches = self._matching_contexts(tokens) & unforced[:, None, None]
            _mask_tokens(logits, self.last_tokens[:, None].expand_as(matches), matches)
        if self.no_repeat_ngram is not None and tokens.shape[2] >= self.no_repeat_ngram:
            ngrams = tokens.unfold(2, self.no_repeat_ngram, 1)
            suffix = tokens[:, :, None, tokens.shape[2] - self.no_repeat_ngram + 1 :]
            repeats = (ngrams[..., :-1] == suffix).all(dim=3) & unforced[:, None, None]
            _mask_tokens(logits, ngrams[..., -1], repeats)

    def select(self, sentences: Int[Tensor, " chosen"]) -> "TokenBans":
        return TokenBans(
            self.contexts[sentences], self.last_tokens[sentences], self.no_repeat_ngram, self.suppressed
        )

    def _matching_contexts(
        self, tokens: Int[Tensor, "sentence slot length"]
    ) -> Bool[Tensor, "sentence slot phrases"]:
        """Return which phrases lack only their last token."""
        width = self.contexts.shape[2]
        suffix = tokens[:, :, max(tokens.shape[2] - width, 0) :]
        suffix = functional.pad(suffix, (width - suffix.shape[2], 0), value=NO_PHRASE)[:, :, None]
        contexts = self.contexts[:, None]
        matches = ((contexts == suffix) | (contexts == ANY_TOKEN)).all(dim=3)
        return matches & (self.last_tokens != NO_PHRASE)[:, None]


def _mask_tokens(
    logits: Float[Tensor, "sentence slot vocab"],
    tokens: Int[Tensor, "sentence slot rules"],
    banned: Bool[Tensor, "sentence slot rules"],
) -> None:
    """Add minus infinity or zero, so that several rules about one token do not overwrite each other."""
    bias = torch.zeros(banned.shape, dtype=logits.dtype, device=logits.device)
    logits.scatter_add_(2, tokens.clamp(min=0), bias.masked_fill(banned, -math.inf))


@dataclass(frozen=True)
class ConstraintState:
    """All that a batch's search must obey: lengths, prefixes, required phrases and banned tokens."""

    max_length: Int[Tensor, " sentence"]
    """Maximum number of tokens."""
    min_length: Int[Tensor, " sentence"]
    """Minimum number of tokens; at most `max_length`."""
    prefix: Int[Tensor, "sentence prefix"]
    """The tokens each translation begins with, padded with `UNFORCED`, which the last column always is."""
    required: RequiredPhrases | None = None
    bans: TokenBans | None = None

    @staticmethod
    def from_lists(
        max_lengths: Sequence[int],
        min_length: int = 0,
        prefixes: Sequence[Sequence[int]] | None = None,
        required: RequiredPhrases | None = None,
        bans: TokenBans | None = None,
        device: torch.device | None = None,
    ) -> "ConstraintState":
        prefixes = [()] * len(max_lengths) if prefixes is None else prefixes
        width = 1 + max(map(len, prefixes), default=0)
        rows = [[*prefix, *[UNFORCED] * (width - len(prefix))] for prefix in prefixes]
        max_length = torch.tensor(max_lengths, dtype=torch.long, device=device)
        prefix = torch.tensor(rows, dtype=torch.long, device=device).reshape(len(max_lengths), width)
        return ConstraintState(max_length, max_length.clamp(max=min_length), prefix, required, bans)

    def forced_token(self, length: Int[Tensor, ""], eos: int) -> Int[Tensor, " sentence"]:
        """Return the only token allowed at this position, counted from 1, or `UNFORCED`."""
        column = (length - 1).clamp(max=self.prefix.shape[1] - 1).expand(len(self.max_length), 1)
        return self.prefix.gather(1, column)[:, 0].masked_fill(length > self.max_length, eos)

    def unconstrained_lengths(self) -> range:
        """Return the lengths at which no sentence has a forced token and every sentence may end."""
        if not len(self.max_length):
            return range(0)
        first = max(self.prefix.shape[1], int(self.min_length.max()) + 1)
        return range(first, int(self.max_length.min()) + 1)

    def select(self, sentences: Int[Tensor, " chosen"]) -> "ConstraintState":
        return ConstraintState(
            self.max_length[sentences],
            self.min_length[sentences],
            self.prefix[sentences],
            None if self.required is None else self.required.select(sentences),
            None if self.bans is None else self.bans.select(sentences),
        )
