"""The highest of many scores, equals always in the same order; and what makes scores of logits."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

try:  # comes with torch wherever there is a GPU to compute on
    from regard.search import selection_kernels
except ImportError:
    selection_kernels = None

VOCAB_CHUNK = 256
"""Logits that are first looked at through their maximum alone."""

SOFTMAX_ROWS = 16
"""Rows whose probabilities are held at a time: few enough to stay in the processor's cache."""


def log_normalizer(logits: Float[Tensor, "row vocab"]) -> Float[Tensor, " row"]:
    """The logarithm of the sum of exponentials: a logit less it is a log-probability, never above 0.

    By way of the highest probability, because softmax is one kernel, the same for a row wherever it
    stands, and `logsumexp` four passes over all logits.
    """
    size = len(logits) if logits.is_cuda else SOFTMAX_ROWS
    tops = [rows.softmax(dim=1, dtype=torch.float32).amax(dim=1) for rows in logits.split(size)]
    return logits.amax(dim=1).float() - torch.cat(tops).clamp(max=1.0).log()


def log_normalizer_and_chunk_maxima(
    logits: Float[Tensor, "row vocab"],
) -> tuple[Float[Tensor, " row"], Float[Tensor, "row chunk"]]:
    """`log_norm`, and the maximum of each chunk for `likeliest`: on a GPU in one look at the logits."""
    if selection_kernels and logits.is_cuda:
        return selection_kernels.log_normalizers_cuda(logits, VOCAB_CHUNK)
    return log_normalizer(logits), chunk_maxima(logits)


def stable_argmax(logits: Float[Tensor, "row vocab"]) -> Int[Tensor, " row"]:
    """Where the highest of each row is, the first among equals.

    On a CPU `argmax` goes number by number, and maxima do not; so the maximum of each chunk comes first.
    """
    vocab = logits.shape[1]
    if logits.is_cuda or vocab < 2 * VOCAB_CHUNK:
        return logits.argmax(dim=1)
    chunk = chunk_maxima(logits).argmax(dim=1, keepdim=True)
    token = (chunk * VOCAB_CHUNK + torch.arange(VOCAB_CHUNK, device=logits.device)).clamp_(max=vocab - 1)
    return token.gather(1, logits.gather(1, token).argmax(dim=1, keepdim=True))[:, 0]


def stable_topk(
    scores: Float[Tensor, "sentence choices"], count: int
) -> tuple[Float[Tensor, "sentence count"], Int[Tensor, "sentence count"]]:
    """The highest scores in order, and where; equals in the order of their places, NaN never.

    `topk` alone promises no order among equals, and the same sentence must have the same answer
    everywhere. So it is asked about whole numbers of which no two are equal: the bits of the
    score, in an order that is the score's own, and below them the place counted from the end.
    """
    if selection_kernels and scores.is_cuda and scores.shape[1] <= selection_kernels.MAX_TOPK_CHOICES:
        return selection_kernels.stable_topk_cuda(scores, count)
    scores = scores.masked_fill(scores.isnan(), -math.inf) + 0.0  # -0.0 and 0.0 are equals
    bits = scores.view(torch.int32)
    rising = (bits ^ ((bits >> 31) & 0x7FFFFFFF)).long()
    last = scores.shape[1] - 1
    keys = (rising << 32) + torch.arange(last, -1, -1, device=scores.device)
    where = last - (keys.topk(count).values & 0xFFFFFFFF)
    return scores.gather(1, where), where


def topk_continuations(
    logits: Float[Tensor, "sentence place vocab"],
    norm: Float[Tensor, "sentence place"],
    score: Float[Tensor, "sentence place"],
    count: int,
    maxima: Float[Tensor, "sentence place chunk"] | None = None,
) -> tuple[Float[Tensor, "sentence count"], Int[Tensor, "sentence count"], Int[Tensor, "sentence count"]]:
    """The likeliest continuations of all places together: their scores, places and tokens.

    A continuation scores (logit - norm) + score. Only the chosen are ever computed: each chunk of
    the vocabulary is looked at through its maximum first. A chunk outside the `count` best holds
    nothing that is wanted, because each of those has one choice at least that comes before all of
    it, equals included: rounding never turns a lower logit of a row into a higher score.
    """
    places, vocab = logits.shape[1:]
    if vocab < 2 * VOCAB_CHUNK or count > places * (vocab // VOCAB_CHUNK):
        scores = (logits.float() - norm[:, :, None]) + score[:, :, None]
        best, where = stable_topk(scores.flatten(1), count)
        return best, where // vocab, where % vocab
    maxima = chunk_maxima(logits) if maxima is None else maxima
    chunks = maxima.shape[2]
    _, chosen = stable_topk(((maxima - norm[:, :, None]) + score[:, :, None]).flatten(1), count)
    chosen = chosen.sort(dim=1).values  # back in the order of places, for the equals inside
    place, chunk = chosen // chunks, chosen % chunks
    token = chunk[:, :, None] * VOCAB_CHUNK + torch.arange(VOCAB_CHUNK, device=logits.device)
    inside = logits.flatten(1).gather(1, (place[:, :, None] * vocab + token.clamp(max=vocab - 1)).flatten(1))
    inside = (
        inside.float().unflatten(1, (count, VOCAB_CHUNK)) - norm.gather(1, place)[:, :, None]
    ) + score.gather(1, place)[:, :, None]
    best, where = stable_topk(inside.masked_fill(token >= vocab, -math.inf).flatten(1), count)
    chosen = token.flatten(1).gather(1, where).clamp(max=vocab - 1)  # where too few are possible
    return best, place.gather(1, where // VOCAB_CHUNK), chosen


def chunk_maxima(logits: Float[Tensor, "*row vocab"]) -> Float[Tensor, "*row chunk"]:
    """The maximum of each run of tokens; the last may be shorter."""
    whole = logits.shape[-1] // VOCAB_CHUNK * VOCAB_CHUNK
    maxima = logits[..., :whole].unflatten(-1, (whole // VOCAB_CHUNK, VOCAB_CHUNK)).amax(dim=-1)
    if whole < logits.shape[-1]:
        maxima = torch.cat([maxima, logits[..., whole:].amax(dim=-1, keepdim=True)], dim=-1)
    return maxima.float()
