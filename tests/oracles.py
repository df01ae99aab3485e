"""Slow reference implementations of what the package computes fast."""

import math

import numpy as np
import torch
from torch import Tensor

from regard.model.masks import PackedSequences
from regard.search.constraints import Constraints
from regard.search.hypothesis import Hypothesis
from regard.search.topk import log_normalizer


def attend_one_by_one(query: Tensor, key: Tensor, value: Tensor, keep: Tensor, scale: float) -> Tensor:
    """Equation 1 for one head, one query at a time: dot products, scale, softmax, weighted sum."""
    out = torch.zeros(query.shape[0], value.shape[1])
    for i in range(query.shape[0]):
        visible = [j for j in range(key.shape[0]) if keep[i, j]]
        scores = [(query[i] @ key[j]).item() * scale for j in visible]
        exponentials = [math.exp(score - max(scores)) for score in scores]
        for j, exponential in zip(visible, exponentials, strict=True):
            out[i] += exponential / sum(exponentials) * value[j]
    return out


def attend_head_by_head(attend, x: Tensor, other: Tensor, keep: Tensor) -> Tensor:
    """Multi-head attention as a loop over heads, each with its own slice of the matrices."""
    width = attend.query.out_features // attend.heads
    heads = []
    for head in range(attend.heads):
        rows = slice(head * width, (head + 1) * width)
        projected = [
            inputs @ layer.weight[rows].T + layer.bias[rows]
            for inputs, layer in ((x, attend.query), (other, attend.key), (other, attend.value))
        ]
        heads.append(attend_one_by_one(*projected, keep, 1 / math.sqrt(width)))
    return torch.cat(heads, dim=1) @ attend.output.weight.T + attend.output.bias


def greedy_one_by_one(model, source: list[int], bos: int, eos: int, limit: int) -> list[int]:
    """Greedy search without cache or batch: the whole prefix is decoded again for every token."""
    tokens: list[int] = []
    while len(tokens) < limit:
        logits = model(
            torch.tensor([source]),
            torch.ones(1, len(source), dtype=torch.bool),
            torch.tensor([[bos, *tokens]]),
        )
        best = int(logits[0, -1].argmax())
        if best == eos:
            break
        tokens.append(best)
    return tokens


def make_packed_sequences(lengths: list[int]) -> PackedSequences:
    """Return sequences of these lengths, end to end."""
    starts = [sum(lengths[:n]) for n in range(len(lengths) + 1)]
    positions = [position for length in lengths for position in range(length)]
    return PackedSequences(torch.tensor(starts, dtype=torch.int32), torch.tensor([positions]), max(lengths))


def log_probabilities(logits: Tensor) -> Tensor:
    """Return the log-probabilities of one distribution, rounded as the search rounds them."""
    return logits.float() - log_normalizer(logits[None])


def allow_any(_prefix, _token) -> bool:
    return True


def beam_one_by_one(
    logits, eos: int, limit: int, beam: int, alpha: float, n_best: int = 1, is_allowed=allow_any
):
    """Beam search as a list of hypotheses that runs until all have ended.

    `logits` is a function of the prefix; `is_allowed` tells whether a token may follow a prefix.
    """
    open_, ended = [((), torch.tensor(0.0))], []
    for length in range(1, limit + 2):
        candidates = []
        for prefix, score in open_:
            for token, increment in enumerate(log_probabilities(logits(list(prefix)))):
                if (length <= limit or token == eos) and is_allowed(prefix, token):
                    candidates.append(((*prefix, token), score + increment))
        candidates.sort(key=lambda candidate: -candidate[1])  # stable: ties keep their order
        pruned = candidates[: beam - len(ended)]
        ended += [candidate for candidate in pruned if candidate[0][-1] == eos]
        open_ = [candidate for candidate in pruned if candidate[0][-1] != eos]
    return best_ended(ended, alpha, n_best)


def every_sequence(logits, eos: int, limit: int, alpha: float, n_best: int = 1, keep=bool):
    """Exhaustive search: score every sequence within the limit for which `keep` is true."""
    ended, open_ = [], [((), torch.tensor(0.0))]
    for length in range(1, limit + 2):
        extended = []
        for prefix, score in open_:
            increments = log_probabilities(logits(list(prefix)))
            ended.append(((*prefix, eos), score + increments[eos]))
            tokens = [token for token in range(len(increments)) if token != eos and length <= limit]
            extended += [((*prefix, token), score + increments[token]) for token in tokens]
        open_ = extended
    return best_ended([one for one in ended if keep(one[0])], alpha, n_best)


def satisfies(constraints: Constraints, tokens: tuple[int, ...], no_repeat: int | None = None) -> bool:
    """Return whether a finished translation satisfies its constraints; bans do not apply to the prefix."""
    stops = range(len(constraints.prefix) + 1, len(tokens) + 1)

    def occurrences(phrase) -> int:
        """Count from the left, without overlap."""
        count = start = 0
        for stop in range(1, len(tokens) + 1):
            if any(tokens[max(stop - len(one), start) : stop] == one for one in phrase):
                count, start = count + 1, stop
        return count

    def repeats(stop: int) -> bool:
        ngram = tokens[stop - no_repeat : stop] if stop >= no_repeat else None
        return any(tokens[other - no_repeat : other] == ngram for other in range(no_repeat, stop))

    return (
        tokens[: len(constraints.prefix)] == constraints.prefix
        and all(occurrences(phrase) >= constraints.required.count(phrase) for phrase in constraints.required)
        and not any(
            tokens[:stop][-len(phrase) :] == phrase for phrase in constraints.forbidden for stop in stops
        )
        and (no_repeat is None or not any(repeats(stop) for stop in stops))
    )


def best_ended(ended, alpha: float, n_best: int) -> list[Hypothesis]:
    """Wu et al. (2016), equation 14: log-probability / ((5 + n) / 6) ** alpha; the first among ties."""

    def score(hypothesis):
        return hypothesis[1] / torch.tensor(((5 + len(hypothesis[0])) / 6) ** alpha)

    best = sorted(ended, key=lambda hypothesis: -score(hypothesis))[:n_best]  # stable, as above
    return [Hypothesis(tuple(h[0][:-1]), float(h[1]), float(score(h))) for h in best]


def attention_rollout(weights: np.ndarray, residual_share: float = 0.5) -> np.ndarray:
    """Return how much of each token is in each other after each layer (Abnar and Zuidema, 2020).

    `weights` has the axes layer, head, query, key. Heads are averaged, and `residual_share` of each position
    passes the attention by the residual connection.
    """
    identity = np.eye(weights.shape[-1], dtype=weights.dtype)
    product, layers = identity, []
    for layer in weights.mean(axis=1):
        product = (residual_share * identity + (1 - residual_share) * layer) @ product
        layers.append(product)
    return np.stack(layers)


def one_against_all(true: list[int], predicted: list[int], label: int) -> tuple[float, float, float]:
    """Return precision, recall and F1 of one label, counted text by text."""
    hits = sum(t == p == label for t, p in zip(true, predicted, strict=True))
    precision = hits / max(1, predicted.count(label))
    recall = hits / max(1, true.count(label))
    return precision, recall, 2 * precision * recall / (precision + recall) if hits else 0.0


def calibration_bin_by_bin(sure: list[float], right: list[bool], bins: int) -> float:
    """Return the expected calibration error: a loop over bins, each weighted by its number of texts."""
    total = 0.0
    for number in range(bins):
        low, high = number / bins, (number + 1) / bins
        inside = [i for i, p in enumerate(sure) if low < p <= high]
        if inside:
            confidence = sum(sure[i] for i in inside) / len(inside)
            accuracy = sum(right[i] for i in inside) / len(inside)
            total += len(inside) / len(sure) * abs(confidence - accuracy)
    return total
