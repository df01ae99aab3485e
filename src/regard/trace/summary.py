"""What kind of head it is, and whether it matters."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.model.transformer import Transformer
from regard.search.topk import stable_topk
from regard.trace.capture import ForwardCapture, SublayerCapture
from regard.trace.interventions import ATTENTION_KINDS, AttentionKind
from regard.trace.schema import HeadLabel, HeadSummary, LensPrediction, PredictionStep, TokenCandidate
from regard.trace.tokens import TokenRenderer
from regard.trace.trace import QkvProjections, ResidualNorms

LABEL_THRESHOLD = 0.6
"""A share of the weight from which on a head is named after where it looks."""
MAX_ALIGNMENT_COLUMN = 0.3
"""A head that aligns looks at many places; one that always looks at the same does not."""


def summarize_head(
    kind: AttentionKind, weights: Float[np.ndarray, "query key"], hidden_tokens: int = 0, causal: bool = True
) -> HeadSummary:
    """Of one head over one sentence, so many of whose source tokens are hidden.

    `causal` is whether a decoder sees earlier places only. Rows that may see one key only have no choice,
    and are not asked.
    """
    queries, keys = weights.shape
    seen = np.full(queries, keys if kind == "decoder" else keys - hidden_tokens)
    if kind == "decoder" and causal:
        seen = np.minimum(np.arange(queries) + 1, keys)
    asked = weights[seen > 1].astype(np.float64)
    if not len(asked):
        return HeadSummary(0.0, 1.0, None)
    logs = np.log(np.where(asked > 0, asked, 1.0))
    entropy = -(asked * logs).sum(axis=1) / np.log(seen[seen > 1])
    peak = float(asked.max(axis=1).mean())
    return HeadSummary(
        float(np.clip(entropy.mean(), 0.0, 1.0)),
        min(peak, 1.0),
        _label_head(kind if causal or kind == "cross" else "encoder", weights, peak),
    )


def _label_head(
    kind: AttentionKind, weights: Float[np.ndarray, "query key"], peak: float
) -> HeadLabel | None:
    """The likeliest name; in cross-attention positions of the two sides do not compare."""
    shares: dict[HeadLabel, float] = {
        "first": _column_weight(weights[1:] if kind == "decoder" else weights, 0)
    }
    if kind != "decoder":
        shares["last"] = _column_weight(weights, weights.shape[1] - 1)
    if kind != "cross":
        shares["previous"] = _diagonal_weight(weights, -1)
        shares["self"] = (
            _diagonal_weight(weights[1:], 1) if kind == "decoder" else _diagonal_weight(weights, 0)
        )
    if kind == "encoder":
        shares["next"] = _diagonal_weight(weights, 1)
    best = max(shares, key=lambda label: shares[label])
    if shares[best] >= LABEL_THRESHOLD:
        return best
    if kind == "cross" and peak >= LABEL_THRESHOLD and weights.mean(axis=0).max() <= MAX_ALIGNMENT_COLUMN:
        return "alignment"
    return None


def _column_weight(weights: Float[np.ndarray, "query key"], column: int) -> float:
    return float(weights[:, column].mean()) if len(weights) else 0.0


def _diagonal_weight(weights: Float[np.ndarray, "query key"], offset: int) -> float:
    """The mean weight so many places to the right, of the rows that have such a place."""
    diagonal = np.diagonal(weights, offset)
    return float(diagonal.mean()) if len(diagonal) else 0.0


@torch.inference_mode()
def prediction_steps(
    logits: Float[Tensor, "target vocab"], target: Sequence[int], top_k: int, renderer: TokenRenderer
) -> tuple[list[PredictionStep], list[float]]:
    """The choice at each place, and the log-probability of what was taken there."""
    logs = logits.float().log_softmax(dim=1)
    taken = torch.tensor(target, device=logs.device)[:, None]
    chosen = logs.gather(1, taken)
    entropy = -(logs.exp() * logs).sum(dim=1)
    values, ids = stable_topk(logs, min(top_k, logs.shape[1]))
    before = torch.arange(logs.shape[1], device=logs.device) < taken  # equals in the order of their ids
    rank = 1 + ((logs > chosen) | ((logs == chosen) & before)).sum(dim=1)
    rows = zip(entropy.tolist(), rank.tolist(), ids.tolist(), values.tolist(), strict=True)
    found = [
        PredictionStep(t, max(spread, 0.0), place, _candidates(row, value, renderer))
        for t, (spread, place, row, value) in enumerate(rows)
    ]
    return found, chosen[:, 0].tolist()


@torch.inference_mode()
def logit_lens(
    model: Transformer, captured: ForwardCapture, target: Sequence[int], renderer: TokenRenderer
) -> tuple[tuple[LensPrediction, ...], ...]:
    """The output projection, after the final norm where the model has one, applied to every decoder layer."""
    taken = torch.tensor(target, device=model.device)[:, None]
    found = []
    for end in captured.layer_outputs():
        probabilities = model.output(model.decoder.norm(end)).float().softmax(dim=1)
        best, ids = probabilities.max(dim=1)
        rows = zip(ids.tolist(), best.tolist(), probabilities.gather(1, taken)[:, 0].tolist(), strict=True)
        found.append(
            tuple(
                LensPrediction(id, renderer.text(id), renderer.piece(id), prob, final)
                for id, prob, final in rows
            )
        )
    return tuple(found)


def stack_attention_weights(
    captured: ForwardCapture,
) -> dict[str, Float[np.ndarray, "layers heads query key"]]:
    """The weights of all heads, by kind."""
    return {kind: _stacked([each.weights for each in captured.attention(kind)]) for kind in _kinds(captured)}


def value_norms(captured: ForwardCapture) -> dict[str, Float[np.ndarray, "layers heads key"]]:
    return {
        kind: _stacked([each.value_norm for each in captured.attention(kind)]) for kind in _kinds(captured)
    }


def residual_norms(captured: ForwardCapture) -> dict[str, ResidualNorms]:
    """How long the vectors are in each stack, point by point."""
    stacks = {
        "encoder": (captured.source_embedded, captured.encoder),
        "decoder": (captured.target_embedded, captured.decoder),
    }
    return {name: _stack_norms(*each) for name, each in stacks.items() if each[1]}


def summarize_heads(
    weights: dict[str, Float[np.ndarray, "layers heads query key"]], hidden_tokens: int, causal: bool = True
) -> dict[str, tuple[tuple[HeadSummary, ...], ...]]:
    """Of every head, by kind and layer; so many source tokens are hidden."""
    return {
        kind: tuple(
            tuple(summarize_head(kind, head, hidden_tokens, causal) for head in layer) for layer in layers
        )
        for kind in ATTENTION_KINDS
        if (layers := weights.get(kind)) is not None
    }


def qkv_projections(captured: ForwardCapture) -> dict[str, QkvProjections]:
    """Queries, keys and values of every layer."""
    return {
        kind: QkvProjections(
            tuple(range(1, len(every := captured.attention(kind)) + 1)),
            _stacked([each.query for each in every]),
            _stacked([each.key for each in every]),
            _stacked([each.value for each in every]),
        )
        for kind in _kinds(captured)
    }


def _kinds(captured: ForwardCapture) -> list[AttentionKind]:
    return [kind for kind in ATTENTION_KINDS if captured.attention(kind)]


def _candidates(
    ids: Sequence[int], values: Sequence[float], names: TokenRenderer
) -> tuple[TokenCandidate, ...]:
    pairs = zip(ids, values, strict=True)
    return tuple(TokenCandidate(id, names.text(id), names.piece(id), value) for id, value in pairs)


def _stack_norms(
    embedded: Float[Tensor, "length d_model"], passed: Sequence[SublayerCapture]
) -> ResidualNorms:
    stream = [embedded, *(each.stream for each in passed)]
    update = [embedded, *(each.update for each in passed)]
    points = ("embed", *(each.name for each in passed))
    return ResidualNorms(points, _vector_norms(stream), _vector_norms(update))


def _vector_norms(vectors: Sequence[Float[Tensor, "length d_model"]]) -> Float[np.ndarray, "points length"]:
    return torch.stack([each.norm(dim=-1) for each in vectors]).float().cpu().numpy()


def _stacked(tensors: Sequence[Tensor]) -> np.ndarray:
    return torch.stack(list(tensors)).float().cpu().numpy()
