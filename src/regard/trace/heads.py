"""What kind of head it is, and whether it matters."""

import numpy as np
from jaxtyping import Float

from regard.trace.interventions import Kind
from regard.trace.parts import HeadFacts, Label

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
