"""Slow, obvious twins of what the package does fast."""

import math

import torch
from torch import Tensor

from regard.model.masks import PackedSequences
from regard.search.constraints import Constraints
from regard.search.hypothesis import Hypothesis
from regard.search.topk import log_normalizer


def attend_one_by_one(query: Tensor, key: Tensor, value: Tensor, keep: Tensor, scale: float) -> Tensor:
    """Equation 1 for one head, a query at a time, by the notes' steps: dot, scale, softmax, weigh, sum."""
    out = torch.zeros(query.shape[0], value.shape[1])
    for i in range(query.shape[0]):
        seen = [j for j in range(key.shape[0]) if keep[i, j]]
        scores = [(query[i] @ key[j]).item() * scale for j in seen]
        exponentials = [math.exp(score - max(scores)) for score in scores]
        for j, exponential in zip(seen, exponentials, strict=True):
            out[i] += exponential / sum(exponentials) * value[j]
    return out


def attend_head_by_head(attend, x: Tensor, other: Tensor, keep: Tensor) -> Tensor:
    """Multi-head attention as a for-loop over heads, each with its own slice of the matrices."""
    width = attend.query.out_features // attend.heads
    joined = []
    for head in range(attend.heads):
        rows = slice(head * width, (head + 1) * width)
        project = [
            inputs @ layer.weight[rows].T + layer.bias[rows]
            for inputs, layer in ((x, attend.query), (other, attend.key), (other, attend.value))
        ]
        joined.append(attend_one_by_one(*project, keep, 1 / math.sqrt(width)))
    return torch.cat(joined, dim=1) @ attend.output.weight.T + attend.output.bias


def greedy_one_by_one(model, source: list[int], bos: int, eos: int, limit: int) -> list[int]:
    """Greedy search without cache or batch: the whole prefix again for every token."""
    found: list[int] = []
    while len(found) < limit:
        logits = model(
            torch.tensor([source]),
            torch.ones(1, len(source), dtype=torch.bool),
            torch.tensor([[bos, *found]]),
        )
        best = int(logits[0, -1].argmax())
        if best == eos:
            break
        found.append(best)
    return found


def make_packed_sequences(lengths: list[int]) -> PackedSequences:
    """Sentences of these lengths, end to end."""
    starts = [sum(lengths[:n]) for n in range(len(lengths) + 1)]
    at = [place for length in lengths for place in range(length)]
    return PackedSequences(torch.tensor(starts, dtype=torch.int32), torch.tensor([at]), max(lengths))


def log_probabilities(logits: Tensor) -> Tensor:
    """Of one distribution, rounded as search rounds them: equal scores must be equal in both."""
    return logits.float() - log_normalizer(logits[None])


def allow_any(_prefix, _token) -> bool:
    return True


def beam_one_by_one(logits, eos: int, limit: int, beam: int, alpha: float, n_best: int = 1, may=allow_any):
    """Beam search as a list of hypotheses, run on until all have ended; `logits` is asked by prefix.

    `may` says whether a token may follow a prefix.
    """
    open_, ended = [((), torch.tensor(0.0))], []
    for length in range(1, limit + 2):
        choices = []
        for prefix, score in open_:
            for token, more in enumerate(log_probabilities(logits(list(prefix)))):
                if (length <= limit or token == eos) and may(prefix, token):
                    choices.append(((*prefix, token), score + more))
        choices.sort(key=lambda choice: -choice[1])  # stable: equals keep their order
        kept = choices[: beam - len(ended)]
        ended += [choice for choice in kept if choice[0][-1] == eos]
        open_ = [choice for choice in kept if choice[0][-1] != eos]
    return best_ended(ended, alpha, n_best)


def every_sequence(logits, eos: int, limit: int, alpha: float, n_best: int = 1, keep=bool):
    """Exhaustive search: the score of all that can be said within the limit, and that `keep` lets pass."""
    ended, open_ = [], [((), torch.tensor(0.0))]
    for length in range(1, limit + 2):
        grown = []
        for prefix, score in open_:
            more = log_probabilities(logits(list(prefix)))
            ended.append(((*prefix, eos), score + more[eos]))
            words = [token for token in range(len(more)) if token != eos and length <= limit]
            grown += [((*prefix, token), score + more[token]) for token in words]
        open_ = grown
    return best_ended([one for one in ended if keep(one[0])], alpha, n_best)


def satisfies(wish: Constraints, tokens: tuple[int, ...], no_repeat: int | None = None) -> bool:
    """Whether a finished translation has what was wished for; its forced beginning is nobody's fault."""
    ends = range(len(wish.prefix) + 1, len(tokens) + 1)

    def occurs(phrase) -> bool:
        return any(tokens[end - len(phrase) : end] == phrase for end in range(len(phrase), len(tokens) + 1))

    def repeats(end: int) -> bool:
        run = tokens[end - no_repeat : end] if end >= no_repeat else None
        return any(tokens[other - no_repeat : other] == run for other in range(no_repeat, end))

    return (
        tokens[: len(wish.prefix)] == wish.prefix
        and all(any(occurs(alternative) for alternative in phrase) for phrase in wish.required)
        and not any(tokens[:end][-len(bad) :] == bad for bad in wish.forbidden for end in ends)
        and (no_repeat is None or not any(repeats(end) for end in ends))
    )


def best_ended(ended, alpha: float, n_best: int) -> list[Hypothesis]:
    """Wu et al. (2016), equation 14: log-probability / ((5 + n) / 6) ** alpha; the first among equals."""

    def score(hypothesis):
        return hypothesis[1] / torch.tensor(((5 + len(hypothesis[0])) / 6) ** alpha)

    best = sorted(ended, key=lambda hypothesis: -score(hypothesis))[:n_best]  # stable, as above
    return [Hypothesis(tuple(h[0][:-1]), float(h[1]), float(score(h))) for h in best]


def one_against_all(true: list[int], predicted: list[int], label: int) -> tuple[float, float, float]:
    """Precision, recall and F1 of one label, counted text by text."""
    hits = sum(t == p == label for t, p in zip(true, predicted, strict=True))
    precision = hits / max(1, predicted.count(label))
    recall = hits / max(1, true.count(label))
    return precision, recall, 2 * precision * recall / (precision + recall) if hits else 0.0


def calibration_bin_by_bin(sure: list[float], right: list[bool], bins: int) -> float:
    """Expected calibration error by its definition: a loop over bins, each weighed by its texts."""
    total = 0.0
    for number in range(bins):
        low, high = number / bins, (number + 1) / bins
        inside = [i for i, p in enumerate(sure) if low < p <= high]
        if inside:
            confidence = sum(sure[i] for i in inside) / len(inside)
            accuracy = sum(right[i] for i in inside) / len(inside)
            total += len(inside) / len(sure) * abs(confidence - accuracy)
    return total
