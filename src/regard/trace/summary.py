"""Summaries of a captured pass: head statistics and labels, prediction steps, logit lens, norms."""

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
"""Mean weight on one place from which a head is labelled after that place."""
MAX_ALIGNMENT_COLUMN = 0.3
"""Highest mean weight of one key in an alignment head: it does not always attend to the same key."""


def summarize_head(
    kind: AttentionKind, weights: Float[np.ndarray, "query key"], hidden_tokens: int = 0, causal: bool = True
) -> HeadSummary:
    """Return the statistics of one head over one sentence with `hidden_tokens` masked source tokens.

    `causal` says whether decoder self-attention is masked. Rows with a single visible key always have
    weight 1 and are left out.
    """
    queries, keys = weights.shape
    visible = np.full(queries, keys if kind == "decoder" else keys - hidden_tokens)
    if kind == "decoder" and causal:
        visible = np.minimum(np.arange(queries) + 1, keys)
    rows = weights[visible > 1].astype(np.float64)
    if not len(rows):
        return HeadSummary(0.0, 1.0, None)
    logs = np.log(np.where(rows > 0, rows, 1.0))
    entropy = -(rows * logs).sum(axis=1) / np.log(visible[visible > 1])
    peak = float(rows.max(axis=1).mean())
    return HeadSummary(
        float(np.clip(entropy.mean(), 0.0, 1.0)),
        min(peak, 1.0),
        _label_head(kind if causal or kind == "cross" else "encoder", weights, peak),
    )


def _label_head(
    kind: AttentionKind, weights: Float[np.ndarray, "query key"], peak: float
) -> HeadLabel | None:
    """Return the label with the highest mean weight; cross-attention has no diagonal labels."""
    mean_weights: dict[HeadLabel, float] = {
        "first": _column_weight(weights[1:] if kind == "decoder" else weights, 0)
    }
    if kind != "decoder":
        mean_weights["last"] = _column_weight(weights, weights.shape[1] - 1)
    if kind != "cross":
        mean_weights["previous"] = _diagonal_weight(weights, -1)
        mean_weights["self"] = (
            _diagonal_weight(weights[1:], 1) if kind == "decoder" else _diagonal_weight(weights, 0)
        )
    if kind == "encoder":
        mean_weights["next"] = _diagonal_weight(weights, 1)
    best = max(mean_weights, key=lambda label: mean_weights[label])
    if mean_weights[best] >= LABEL_THRESHOLD:
        return best
    if kind == "cross" and peak >= LABEL_THRESHOLD and weights.mean(axis=0).max() <= MAX_ALIGNMENT_COLUMN:
        return "alignment"
    return None


def _column_weight(weights: Float[np.ndarray, "query key"], column: int) -> float:
    return float(weights[:, column].mean()) if len(weights) else 0.0


def _diagonal_weight(weights: Float[np.ndarray, "query key"], offset: int) -> float:
    """Return the mean weight on the key `offset` positions to the right, over the rows that have one."""
    diagonal = np.diagonal(weights, offset)
    return float(diagonal.mean()) if len(diagonal) else 0.0


@torch.inference_mode()
def prediction_steps(
    logits: Float[Tensor, "target vocab"], target: Sequence[int], top_k: int, renderer: TokenRenderer
) -> tuple[list[PredictionStep], list[float]]:
    """Return the distribution at each step, and the log-probability of each target token."""
    logprobs = logits.float().log_softmax(dim=1)
    chosen = torch.tensor(target, device=logprobs.device)[:, None]
    chosen_logprobs = logprobs.gather(1, chosen)
    entropy = -(logprobs.exp() * logprobs).sum(dim=1)
    values, ids = stable_topk(logprobs, min(top_k, logprobs.shape[1]))
    before = torch.arange(logprobs.shape[1], device=logprobs.device) < chosen  # ties: by id
    rank = 1 + ((logprobs > chosen_logprobs) | ((logprobs == chosen_logprobs) & before)).sum(dim=1)
    rows = zip(entropy.tolist(), rank.tolist(), ids.tolist(), values.tolist(), strict=True)
    steps = [
        PredictionStep(
            t, max(token_entropy, 0.0), token_rank, _candidates(token_ids, token_logprobs, renderer)
        )
        for t, (token_entropy, token_rank, token_ids, token_logprobs) in enumerate(rows)
    ]
    return steps, chosen_logprobs[:, 0].tolist()


@torch.inference_mode()
def logit_lens(
    model: Transformer, captured: ForwardCapture, target: Sequence[int], renderer: TokenRenderer
) -> tuple[tuple[LensPrediction, ...], ...]:
    """Apply final norm and output projection to every decoder layer."""
    chosen = torch.tensor(target, device=model.device)[:, None]
    layers = []
    for stream in captured.layer_outputs():
        probabilities = model.output(model.decoder.norm(stream)).float().softmax(dim=1)
        top, ids = probabilities.max(dim=1)
        rows = zip(ids.tolist(), top.tolist(), probabilities.gather(1, chosen)[:, 0].tolist(), strict=True)
        layers.append(
            tuple(
                LensPrediction(id, renderer.text(id), renderer.piece(id), prob, final)
                for id, prob, final in rows
            )
        )
    return tuple(layers)


def stack_attention_weights(
    captured: ForwardCapture,
) -> dict[str, Float[np.ndarray, "layers heads query key"]]:
    """Return the weights of all layers and heads, by kind."""
    return {kind: _stacked([each.weights for each in captured.attention(kind)]) for kind in _kinds(captured)}


def value_norms(captured: ForwardCapture) -> dict[str, Float[np.ndarray, "layers heads key"]]:
    return {
        kind: _stacked([each.value_norm for each in captured.attention(kind)]) for kind in _kinds(captured)
    }


def residual_norms(captured: ForwardCapture) -> dict[str, ResidualNorms]:
    """Return the norms of stream and updates at every point, by stack."""
    stacks = {
        "encoder": (captured.source_embedded, captured.encoder),
        "decoder": (captured.target_embedded, captured.decoder),
    }
    return {name: _stack_norms(*each) for name, each in stacks.items() if each[1]}


def summarize_heads(
    weights: dict[str, Float[np.ndarray, "layers heads query key"]], hidden_tokens: int, causal: bool = True
) -> dict[str, tuple[tuple[HeadSummary, ...], ...]]:
    """Return the statistics of every head, by kind and layer."""
    return {
        kind: tuple(
            tuple(summarize_head(kind, head, hidden_tokens, causal) for head in layer) for layer in layers
        )
        for kind in ATTENTION_KINDS
        if (layers := weights.get(kind)) is not None
    }


def qkv_projections(captured: ForwardCapture) -> dict[str, QkvProjections]:
    """Return queries, keys and values of every layer, by kind."""
    return {
        kind: QkvProjections(
            tuple(range(1, len(layers := captured.attention(kind)) + 1)),
            _stacked([each.query for each in layers]),
            _stacked([each.key for each in layers]),
            _stacked([each.value for each in layers]),
        )
        for kind in _kinds(captured)
    }


def _kinds(captured: ForwardCapture) -> list[AttentionKind]:
    return [kind for kind in ATTENTION_KINDS if captured.attention(kind)]


def _candidates(
    ids: Sequence[int], values: Sequence[float], renderer: TokenRenderer
) -> tuple[TokenCandidate, ...]:
    pairs = zip(ids, values, strict=True)
    return tuple(TokenCandidate(id, renderer.text(id), renderer.piece(id), value) for id, value in pairs)


def _stack_norms(
    embedded: Float[Tensor, "length d_model"], sublayers: Sequence[SublayerCapture]
) -> ResidualNorms:
    stream = [embedded, *(each.stream for each in sublayers)]
    update = [embedded, *(each.update for each in sublayers)]
    points = ("embed", *(each.name for each in sublayers))
    return ResidualNorms(points, _vector_norms(stream), _vector_norms(update))


def _vector_norms(vectors: Sequence[Float[Tensor, "length d_model"]]) -> Float[np.ndarray, "points length"]:
    return torch.stack([each.norm(dim=-1) for each in vectors]).float().cpu().numpy()


def _stacked(tensors: Sequence[Tensor]) -> np.ndarray:
    return torch.stack(list(tensors)).float().cpu().numpy()
