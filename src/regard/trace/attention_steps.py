"""One head of one layer step by step for one position: x, q, k, v, scores, weights, z, output."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.errors import require_setting
from regard.model.config import NormPlacement
from regard.trace.capture import ForwardCapture, SublayerCapture
from regard.trace.interventions import AttentionKind
from regard.trace.packing import pack_array

SIGNIFICANT_DIGITS = 6


@dataclass(frozen=True, eq=False)
class FeedForwardStep:
    """The feed-forward sublayer of the same layer, at the same position."""

    input: Float[np.ndarray, " d_model"]
    """Its input."""
    output: Float[np.ndarray, " d_model"]
    """Its output."""
    layer_output: Float[np.ndarray, " d_model"]
    """The residual stream after the layer."""


@dataclass(frozen=True, eq=False)
class AttentionSteps:
    """All numbers of one head at one position; the field names are the keys of the JSON."""

    kind: AttentionKind
    layer: int
    head: int
    """Layer and head are counted from 1."""
    position: int
    """The query row, counted from 0."""
    norm: NormPlacement
    """Norm placement, which decides the order of `after_residual` and `after_norm`."""
    scale: float
    """Factor of the dot products: 1 / sqrt(d_k)."""
    stream: Float[np.ndarray, " d_model"]
    """The residual stream before the attention."""
    x: Float[np.ndarray, " d_model"]
    """The attention's input: the stream, normalised in a pre-norm model."""
    q: Float[np.ndarray, " d_k"]
    k: Float[np.ndarray, "key d_k"]
    v: Float[np.ndarray, "key d_k"]
    dot: Float[np.ndarray, " key"]
    scaled: Float[np.ndarray, " key"]
    visible: Bool[np.ndarray, " key"]
    """Keys that the mask leaves visible."""
    weights: Float[np.ndarray, " key"]
    cosine: Float[np.ndarray, " key"]
    """Cosine similarity of q and each k."""
    z: Float[np.ndarray, " d_k"]
    concat: Float[np.ndarray, " width"]
    """The concatenated z of all heads."""
    out: Float[np.ndarray, " d_model"]
    after_residual: Float[np.ndarray, " d_model"]
    after_norm: Float[np.ndarray, " d_model"]
    feed_forward: FeedForwardStep
    scores: Float[np.ndarray, "query key"]
    """Scaled scores of all queries and keys, before the mask."""

    def to_json(self, query: str, keys: Sequence[str], predicted: str | None = None) -> dict[str, Any]:
        """Return JSON with six significant digits, null for masked scores, and the given token texts."""
        masked = [
            value if is_visible else None
            for value, is_visible in zip(_rounded_values(self.scaled), self.visible, strict=True)
        ]
        arrays = {
            each.name: _rounded_values(value)
            for each in fields(self)
            if isinstance(value := getattr(self, each.name), np.ndarray)
            and each.name not in ("visible", "scores")
        }
        forward = {
            name: _rounded_values(getattr(self.feed_forward, name))
            for name in ("input", "output", "layer_output")
        }
        norms = {name: _round_significant(np.linalg.norm(getattr(self, name))) for name in VECTORS_WITH_NORM}
        norms |= {
            f"feed_forward.{name}": _round_significant(np.linalg.norm(getattr(self.feed_forward, name)))
            for name in forward
        }
        return {
            "kind": self.kind,
            "layer": self.layer,
            "head": self.head,
            "position": self.position,
            "norm": self.norm,
            "scale": _round_significant(self.scale),
            "tokens": {"query": query, "keys": list(keys), "predicted": predicted},
            **arrays,
            "masked": masked,
            "scores": pack_array(self.scores, "f32"),
            "feed_forward": forward,
            "norms": norms,
        }


VECTORS_WITH_NORM = ("stream", "x", "q", "z", "concat", "out", "after_residual", "after_norm")
"""Vectors of the position whose norm is shown."""


@torch.inference_mode()
def compute_attention_steps(
    captured: ForwardCapture,
    norm: NormPlacement,
    scale: float,
    keep: Bool[Tensor, "1 source"],
    kind: AttentionKind,
    layer: int,
    head: int,
    position: int,
) -> AttentionSteps:
    """Compute the steps of one head at one position; layer and head count from 1, the position from 0."""
    residual, sublayer, following, feed_forward = _select_sublayers(captured, kind, layer)
    attention = captured.attention(kind)[layer - 1]
    rows = len(sublayer.input)
    require_setting(0 <= position < rows, "position", position, f"there are rows 0 to {rows - 1}")
    require_setting(
        1 <= head <= len(attention.weights), "head", head, f"this model has {len(attention.weights)}"
    )
    q, k, v = attention.query[head - 1, position], attention.key[head - 1], attention.value[head - 1]
    dot = k @ q
    cosine = torch.nn.functional.cosine_similarity(k, q[None], dim=1)
    z_of_heads = torch.einsum("hk,hkv->hv", attention.weights[:, position], attention.value)
    visible = torch.arange(len(k), device=k.device) <= position if kind == "decoder" else keep[0]
    out, stream = sublayer.output[position], sublayer.stream[position]
    match norm:
        case "post":
            after_residual, after_norm = residual[position] + out, stream
        case "literal":
            after_residual, after_norm = stream, sublayer.update[position]
        case "pre":  # the input of the next sublayer
            after_residual, after_norm = stream, following.input[position]
    return AttentionSteps(
        kind=kind,
        layer=layer,
        head=head,
        position=position,
        norm=norm,
        scale=scale,
        stream=_array(residual[position]),
        x=_array(sublayer.input[position]),
        q=_array(q),
        k=_array(k),
        v=_array(v),
        dot=_array(dot),
        scaled=_array(dot * scale),
        visible=visible.cpu().numpy(),
        weights=_array(attention.weights[head - 1, position]),
        cosine=_array(cosine),
        z=_array(z_of_heads[head - 1]),
        concat=_array(z_of_heads.flatten()),
        out=_array(out),
        after_residual=_array(after_residual),
        after_norm=_array(after_norm),
        feed_forward=FeedForwardStep(
            _array(feed_forward.input[position]),
            _array(feed_forward.output[position]),
            _array(feed_forward.stream[position]),
        ),
        scores=_array(attention.query[head - 1] @ k.T * scale),
    )


def _select_sublayers(
    captured: ForwardCapture, kind: AttentionKind, layer: int
) -> tuple[Tensor, SublayerCapture, SublayerCapture, SublayerCapture]:
    """Return the attention's residual input, the attention, the next sublayer and the feed-forward."""
    stack = "encoder" if kind == "encoder" else "decoder"
    sublayers = captured.encoder if kind == "encoder" else captured.decoder
    names = [each.name for each in sublayers]
    attention_name = f"{layer}.{'cross' if kind == 'cross' else 'self'}"
    layers = len(captured.attention(kind))
    require_setting(attention_name in names, "layer", layer, f"this model has layers 1 to {layers}")
    index = names.index(attention_name)
    return (
        captured.sublayer_input(stack, index),
        sublayers[index],
        sublayers[index + 1],
        sublayers[names.index(f"{layer}.ffn")],
    )


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.float().cpu().numpy()


def _rounded_values(array: np.ndarray) -> list[Any]:
    return (
        [_rounded_values(row) for row in array]
        if array.ndim > 1
        else [_round_significant(value) for value in array]
    )


def _round_significant(value: Any) -> float:
    return float(f"{float(value):.{SIGNIFICANT_DIGITS}g}")
