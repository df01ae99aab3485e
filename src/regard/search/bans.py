"""What must not be written: forbidden phrases, runs of tokens that repeat, and tokens never wanted."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from regard.search.wish import Tokens

ANY = -1
NOTHING = -2


@dataclass(frozen=True)
class Bans:
    """Rules that take tokens away; the likelihood of those left stays what the model gave them."""

    heads: Int[Tensor, "sentence phrases head"]
    """Each forbidden phrase but for its last token, with `ANY` before it where it is short."""
    tails: Int[Tensor, "sentence phrases"]
    """Its last token; `NOTHING` where there is no such phrase."""
    no_repeat: int | None
    """The length of runs that must not occur twice."""
    never: tuple[slice, ...] = ()
    """Tokens that are not for this search."""

    @staticmethod
    def of(
        forbidden: Sequence[Sequence[Tokens]],
        no_repeat: int | None = None,
        never: tuple[slice, ...] = (),
        device: torch.device | None = None,
    ) -> "Bans":
        most = max(map(len, forbidden), default=0)
        longest = max((len(phrase) for phrases in forbidden for phrase in phrases), default=1)
        heads = torch.full((len(forbidden), most, longest - 1), ANY)
        tails = torch.full((len(forbidden), most), NOTHING)
        for i, phrases in enumerate(forbidden):
            for j, (*head, tail) in enumerate(phrases):
                heads[i, j, longest - 1 - len(head) :] = torch.tensor(head, dtype=torch.long)
                tails[i, j] = tail
        return Bans(heads.to(device), tails.to(device), no_repeat, never)

    def apply(
        self,
        logits: Float[Tensor, "sentence place vocab"],
        written: Int[Tensor, "sentence place length"],
        free: Bool[Tensor, " sentence"],
    ) -> None:
        """Leaves no chance to what must not come next, except where there is no choice (`free` is False)."""
        for some in self.never:
            logits[:, :, some].masked_fill_(free[:, None, None], -math.inf)
        if self.tails.shape[1]:
            ends = self._forbidden(written) & free[:, None, None]
            _take_away(logits, self.tails[:, None].expand_as(ends), ends)
        if self.no_repeat is not None and written.shape[2] >= self.no_repeat:
            runs = written.unfold(2, self.no_repeat, 1)
            begun = written[:, :, None, written.shape[2] - self.no_repeat + 1 :]
            again = (runs[..., :-1] == begun).all(dim=3) & free[:, None, None]
            _take_away(logits, runs[..., -1], again)

    def select(self, sentences: Int[Tensor, " chosen"]) -> "Bans":
        return Bans(self.heads[sentences], self.tails[sentences], self.no_repeat, self.never)

    def _forbidden(
        self, written: Int[Tensor, "sentence place length"]
    ) -> Bool[Tensor, "sentence place phrases"]:
        """Which phrases want only their last token."""
        head = self.heads.shape[2]
        last = written[:, :, max(written.shape[2] - head, 0) :]
        last = functional.pad(last, (head - last.shape[2], 0), value=NOTHING)[:, :, None]
        heads = self.heads[:, None]
        return ((heads == last) | (heads == ANY)).all(dim=3) & (self.tails != NOTHING)[:, None]


def _take_away(
    logits: Float[Tensor, "sentence place vocab"],
    tokens: Int[Tensor, "sentence place rules"],
    where: Bool[Tensor, "sentence place rules"],
) -> None:
    """Adds minus infinity or nothing, so that rules about the same token do not undo each other."""
    less = torch.zeros(where.shape, dtype=logits.dtype, device=logits.device)
    logits.scatter_add_(2, tokens.clamp(min=0), less.masked_fill(where, -math.inf))
