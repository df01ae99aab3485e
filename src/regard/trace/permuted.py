"""Words in another order, with positions and without: what an encoder alone can tell of the order."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.model.transformer import Transformer
from regard.trace.capture import capture


@dataclass(frozen=True)
class Compared:
    """One sentence in two orders, as largest differences of any number, each word with itself."""

    tokens: tuple[float, ...]
    """Of the encoder's vector of each token."""
    mean: float
    """Of the mean of these vectors."""
    probability: float
    """Of the distribution over the first target token: a read-out that sees all words alike."""
    first: tuple[int, int]
    """The likeliest first token, in the one order and in the other."""
    sure: tuple[float, float]


def reversed_words(words: Sequence[int | None]) -> list[int]:
    """The places of the tokens when the words come in reverse, each word's own tokens in their order.

    Marks, which belong to no word, stay behind all words.
    """
    by_word: dict[int, list[int]] = {}
    for place, word in enumerate(words):
        if word is not None:
            by_word.setdefault(word, []).append(place)
    marks = [place for place, word in enumerate(words) if word is None]
    return [place for word in sorted(by_word, reverse=True) for place in by_word[word]] + marks


@torch.inference_mode()
def permuted(model: Transformer, source: Int[Tensor, "1 source"], order: Sequence[int], bos: int) -> Compared:
    """The sentence as it is and with its tokens in that order."""
    keep = torch.ones_like(source, dtype=torch.bool)
    begin = torch.full((1, 1), bos, device=source.device)
    places = torch.tensor(order, device=source.device)
    one, other = capture(model, source, keep, begin), capture(model, source[:, places], keep, begin)
    back = torch.empty_like(other.encoded)
    back[places] = other.encoded
    chances = [each.logits[0].float().softmax(dim=0) for each in (one, other)]
    return Compared(
        tokens=tuple(_apart(one.encoded, back).tolist()),
        mean=float(_apart(one.encoded.mean(dim=0)[None], other.encoded.mean(dim=0)[None])),
        probability=float((chances[0] - chances[1]).abs().max()),
        first=(int(chances[0].argmax()), int(chances[1].argmax())),
        sure=(float(chances[0].max()), float(chances[1].max())),
    )


def _apart(one: Float[Tensor, "n d_model"], other: Float[Tensor, "n d_model"]) -> Float[Tensor, " n"]:
    return (one - other).abs().amax(dim=1)
