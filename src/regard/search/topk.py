"""Stable top-k and argmax over the vocabulary, and the log-normalizer of logits."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

try:  # Triton comes with torch where there is a GPU
    from regard.search import selection_kernels
except ImportError:
    selection_kernels = None

VOCAB_CHUNK = 256
"""Logits represented by their maximum in the first pass of a top-k."""

SOFTMAX_ROWS = 16
"""Rows per softmax on a CPU: few enough that their probabilities stay in the processor's cache."""


def log_normalizer(logits: Float[Tensor, "row vocab"]) -> Float[Tensor, " row"]:
    """Return the log of the sum of exponentials; a logit minus it is a log-probability, never above 0.

    Computed from the highest probability, because softmax is one kernel, with the same result for a row
    wherever it is in the batch, while `logsumexp` makes four passes over the logits.
    """
    size = len(logits) if logits.is_cuda else SOFTMAX_ROWS
    tops = [rows.softmax(dim=1, dtype=torch.float32).amax(dim=1) for rows in logits.split(size)]
    return logits.amax(dim=1).float() - torch.cat(tops).clamp(max=1.0).log()


def log_normalizer_and_chunk_maxima(
    logits: Float[Tensor, "row vocab"],
) -> tuple[Float[Tensor, " row"], Float[Tensor, "row chunk"]]:
    """Return `log_normalizer` and `chunk_maxima`, on a GPU in one pass over the logits."""
    if selection_kernels and logits.is_cuda:
        return selection_kernels.log_normalizers_cuda(logits, VOCAB_CHUNK)
    return log_normalizer(logits), chunk_maxima(logits)


def stable_argmax(logits: Float[Tensor, "row vocab"]) -> Int[Tensor, " row"]:
    """Return the index of the highest logit of each row, the first among ties.

    On a CPU `argmax` is not vectorized and `amax` is, so chunk maxima come first.
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
    """Return the top-k of each row and their indexes; ties in index order, NaN never.

    `torch.topk` promises no order among ties, and a sentence must have the same result
    everywhere. So it is applied to integer keys of which no two are equal: the bits of the
    score, reordered so that integers compare as the floats do, and below them the index counted from the end.
    """
    if selection_kernels and scores.is_cuda and scores.shape[1] <= selection_kernels.MAX_TOPK_CHOICES:
        return selection_kernels.stable_topk_cuda(scores, count)
    scores = scores.masked_fill(scores.isnan(), -math.inf) + 0.0  # -0.0 and 0.0 are ties
    bits = scores.view(torch.int32)
    ordered = (bits ^ ((bits >> 31) & 0x7FFFFFFF)).long()
    last = scores.shape[1] - 1
    keys = (ordered << 32) + torch.arange(last, -1, -1, device=scores.device)
    index = last - (keys.topk(count).values & 0xFFFFFFFF)
    return scores.gather(1, index), index


def topk_continuations(
    logits: Float[Tensor, "sentence slot vocab"],
    norm: Float[Tensor, "sentence slot"],
    score: Float[Tensor, "sentence slot"],
    count: int,
    maxima: Float[Tensor, "sentence slot chunk"] | None = None,
) -> tuple[Float[Tensor, "sentence count"], Int[Tensor, "sentence count"], Int[Tensor, "sentence count"]]:
    """Prune the beam: return scores, slots and tokens of the best continuations over all slots of a sentence.

    A continuation scores (logit - norm) + score, computed for few tokens only: the chunks of
    the vocabulary are first ranked by their maxima. A chunk outside the best `count` holds none of the
    result, because each of those chunks has at least one continuation that ranks before all of
    it, ties included: rounding is monotonic.
    """
    slots, vocab = logits.shape[1:]
    if vocab < 2 * VOCAB_CHUNK or count > slots * (vocab // VOCAB_CHUNK):
        scores = (logits.float() - norm[:, :, None]) + score[:, :, None]
        best, index = stable_topk(scores.flatten(1), count)
        return best, index // vocab, index % vocab
    maxima = chunk_maxima(logits) if maxima is None else maxima
    chunks = maxima.shape[2]
    _, chosen = stable_topk(((maxima - norm[:, :, None]) + score[:, :, None]).flatten(1), count)
    chosen = chosen.sort(dim=1).values  # back in index order, for ties between chunks
    slot, chunk = chosen // chunks, chosen % chunks
    token = chunk[:, :, None] * VOCAB_CHUNK + torch.arange(VOCAB_CHUNK, device=logits.device)
    flat_index = (slot[:, :, None] * vocab + token.clamp(max=vocab - 1)).flatten(1)
    scores = logits.flatten(1).gather(1, flat_index).float().unflatten(1, (count, VOCAB_CHUNK))
    scores = (scores - norm.gather(1, slot)[:, :, None]) + score.gather(1, slot)[:, :, None]
    best, index = stable_topk(scores.masked_fill(token >= vocab, -math.inf).flatten(1), count)
    chosen_token = token.flatten(1).gather(1, index).clamp(max=vocab - 1)  # if fewer than count are possible
    return best, slot.gather(1, index // VOCAB_CHUNK), chosen_token


def chunk_maxima(logits: Float[Tensor, "*row vocab"]) -> Float[Tensor, "*row chunk"]:
    """Return the maximum of each chunk of the vocabulary; the last chunk may be shorter."""
    whole = logits.shape[-1] // VOCAB_CHUNK * VOCAB_CHUNK
    maxima = logits[..., :whole].unflatten(-1, (whole // VOCAB_CHUNK, VOCAB_CHUNK)).amax(dim=-1)
    if whole < logits.shape[-1]:
        maxima = torch.cat([maxima, logits[..., whole:].amax(dim=-1, keepdim=True)], dim=-1)
    return maxima.float()
