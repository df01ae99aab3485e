"""What kind of head it is, and whether it matters."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.model.transformer import Transformer
from regard.search.topk import highest
from regard.trace.capture import Captured, Passed
from regard.trace.interventions import KINDS, Kind
from regard.trace.schema import Candidate, Guess, HeadFacts, Label, Step
from regard.trace.tokens import Names
from regard.trace.trace import Projections, Residual

MOST = 0.6
"""A share of the weight from which on a head is named after where it looks."""
NO_COLUMN_OVER = 0.3
"""A head that aligns looks at many places; one that always looks at the same does not."""


def facts(
    kind: Kind, weights: Float[np.ndarray, "query key"], hidden: int = 0, causal: bool = True
) -> HeadFacts:
    """Of one head over one sentence, so many of whose source tokens are hidden.

    `causal` is whether a decoder sees earlier places only. Rows that may see one key only have no choice,
    and are not asked.
    """
    queries, keys = weights.shape
    seen = np.full(queries, keys if kind == "decoder" else keys - hidden)
    if kind == "decoder" and causal:
        seen = np.minimum(np.arange(queries) + 1, keys)
    asked = weights[seen > 1].astype(np.float64)
    if not len(asked):
        return HeadFacts(0.0, 1.0, None)
    logs = np.log(np.where(asked > 0, asked, 1.0))
    entropy = -(asked * logs).sum(axis=1) / np.log(seen[seen > 1])
    peak = float(asked.max(axis=1).mean())
    return HeadFacts(
        float(np.clip(entropy.mean(), 0.0, 1.0)),
        min(peak, 1.0),
        _label(kind if causal or kind == "cross" else "encoder", weights, peak),
    )


def _label(kind: Kind, weights: Float[np.ndarray, "query key"], peak: float) -> Label | None:
    """The likeliest name; in cross-attention positions of the two sides do not compare."""
    shares: dict[Label, float] = {"first": _share(weights[1:] if kind == "decoder" else weights, 0)}
    if kind != "decoder":
        shares["last"] = _share(weights, weights.shape[1] - 1)
    if kind != "cross":
        shares["previous"] = _diagonal(weights, -1)
        shares["self"] = _diagonal(weights[1:], 1) if kind == "decoder" else _diagonal(weights, 0)
    if kind == "encoder":
        shares["next"] = _diagonal(weights, 1)
    best = max(shares, key=lambda label: shares[label])
    if shares[best] >= MOST:
        return best
    if kind == "cross" and peak >= MOST and weights.mean(axis=0).max() <= NO_COLUMN_OVER:
        return "alignment"
    return None


def _share(weights: Float[np.ndarray, "query key"], column: int) -> float:
    return float(weights[:, column].mean()) if len(weights) else 0.0


def _diagonal(weights: Float[np.ndarray, "query key"], offset: int) -> float:
    """The mean weight so many places to the right, of the rows that have such a place."""
    diagonal = np.diagonal(weights, offset)
    return float(diagonal.mean()) if len(diagonal) else 0.0


@torch.inference_mode()
def steps(
    logits: Float[Tensor, "target vocab"], target: Sequence[int], top_k: int, names: Names
) -> tuple[list[Step], list[float]]:
    """The choice at each place, and the log-probability of what was taken there."""
    logs = logits.float().log_softmax(dim=1)
    taken = torch.tensor(target, device=logs.device)[:, None]
    chosen = logs.gather(1, taken)
    entropy = -(logs.exp() * logs).sum(dim=1)
    values, ids = highest(logs, min(top_k, logs.shape[1]))
    before = torch.arange(logs.shape[1], device=logs.device) < taken  # equals in the order of their ids
    rank = 1 + ((logs > chosen) | ((logs == chosen) & before)).sum(dim=1)
    rows = zip(entropy.tolist(), rank.tolist(), ids.tolist(), values.tolist(), strict=True)
    found = [
        Step(t, max(spread, 0.0), place, _candidates(row, value, names))
        for t, (spread, place, row, value) in enumerate(rows)
    ]
    return found, chosen[:, 0].tolist()


@torch.inference_mode()
def lens(
    model: Transformer, captured: Captured, target: Sequence[int], names: Names
) -> tuple[tuple[Guess, ...], ...]:
    """The output projection, after the final norm where the model has one, applied to every decoder layer."""
    taken = torch.tensor(target, device=model.device)[:, None]
    found = []
    for end in captured.layer_ends():
        probabilities = model.output(model.decoder.norm(end)).float().softmax(dim=1)
        best, ids = probabilities.max(dim=1)
        rows = zip(ids.tolist(), best.tolist(), probabilities.gather(1, taken)[:, 0].tolist(), strict=True)
        found.append(
            tuple(Guess(id, names.text(id), names.piece(id), prob, final) for id, prob, final in rows)
        )
    return tuple(found)


def attention(captured: Captured) -> dict[str, Float[np.ndarray, "layers heads query key"]]:
    """The weights of all heads, by kind."""
    return {kind: _stacked([each.weights for each in captured.attended(kind)]) for kind in _kinds(captured)}


def value_norms(captured: Captured) -> dict[str, Float[np.ndarray, "layers heads key"]]:
    return {
        kind: _stacked([each.value_norm for each in captured.attended(kind)]) for kind in _kinds(captured)
    }


def residual(captured: Captured) -> dict[str, Residual]:
    """How long the vectors are in each stack, point by point."""
    stacks = {
        "encoder": (captured.source_embedded, captured.encoder),
        "decoder": (captured.target_embedded, captured.decoder),
    }
    return {name: _norms(*each) for name, each in stacks.items() if each[1]}


def head_facts(
    attention: dict[str, Float[np.ndarray, "layers heads query key"]], hidden: int, causal: bool = True
) -> dict[str, tuple[tuple[HeadFacts, ...], ...]]:
    """Of every head, by kind and layer; so many source tokens are hidden."""
    return {
        kind: tuple(tuple(facts(kind, head, hidden, causal) for head in layer) for layer in layers)
        for kind in KINDS
        if (layers := attention.get(kind)) is not None
    }


def projections(captured: Captured) -> dict[str, Projections]:
    """Queries, keys and values of every layer."""
    return {
        kind: Projections(
            tuple(range(1, len(every := captured.attended(kind)) + 1)),
            _stacked([each.query for each in every]),
            _stacked([each.key for each in every]),
            _stacked([each.value for each in every]),
        )
        for kind in _kinds(captured)
    }


def _kinds(captured: Captured) -> list[Kind]:
    return [kind for kind in KINDS if captured.attended(kind)]


def _candidates(ids: Sequence[int], values: Sequence[float], names: Names) -> tuple[Candidate, ...]:
    pairs = zip(ids, values, strict=True)
    return tuple(Candidate(id, names.text(id), names.piece(id), value) for id, value in pairs)


def _norms(embedded: Float[Tensor, "length d_model"], passed: Sequence[Passed]) -> Residual:
    stream = [embedded, *(each.stream for each in passed)]
    update = [embedded, *(each.added for each in passed)]
    points = ("embed", *(each.name for each in passed))
    return Residual(points, _lengths(stream), _lengths(update))


def _lengths(vectors: Sequence[Float[Tensor, "length d_model"]]) -> Float[np.ndarray, "points length"]:
    return torch.stack([each.norm(dim=-1) for each in vectors]).float().cpu().numpy()


def _stacked(tensors: Sequence[Tensor]) -> np.ndarray:
    return torch.stack(list(tensors)).float().cpu().numpy()
