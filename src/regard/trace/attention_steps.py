"""Steps: how one head of one layer makes a word's new vector, from x to what enters the next sublayer."""

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
    """The feed-forward layer after the attention, at the same word."""

    read: Float[np.ndarray, " d_model"]
    said: Float[np.ndarray, " d_model"]
    after: Float[np.ndarray, " d_model"]
    """What leaves the layer."""


@dataclass(frozen=True, eq=False)
class AttentionSteps:
    """All numbers of the seven steps, under the names of docs/trace.md."""

    kind: AttentionKind
    layer: int
    head: int
    """Both counted from 1."""
    position: int
    """The row, counted from 0."""
    norm: NormPlacement
    """Where the norm stands, which decides what comes first, `after_residual` or `after_norm`."""
    scale: float
    """What dot products are multiplied by: 1 / sqrt(d_k)."""
    stream: Float[np.ndarray, " d_model"]
    """What enters the sublayer."""
    x: Float[np.ndarray, " d_model"]
    """What the attention reads of it: the same, or its norm where the norm stands before."""
    q: Float[np.ndarray, " d_k"]
    k: Float[np.ndarray, "key d_k"]
    v: Float[np.ndarray, "key d_k"]
    dot: Float[np.ndarray, " key"]
    scaled: Float[np.ndarray, " key"]
    seen: Bool[np.ndarray, " key"]
    """Which keys the mask lets through."""
    weights: Float[np.ndarray, " key"]
    cosine: Float[np.ndarray, " key"]
    """Of q and each k."""
    z: Float[np.ndarray, " d_k"]
    joined: Float[np.ndarray, " width"]
    """The z of all heads side by side."""
    out: Float[np.ndarray, " d_model"]
    after_residual: Float[np.ndarray, " d_model"]
    after_norm: Float[np.ndarray, " d_model"]
    feed_forward: FeedForwardStep
    scores: Float[np.ndarray, "query key"]
    """What the softmax is taken of, for every word at once, before the mask."""

    def to_json(self, query: str, keys: Sequence[str], predicts: str | None = None) -> dict[str, Any]:
        """Six significant digits, null for a masked score; the words are given by who knows them."""
        masked = [
            value if seen else None
            for value, seen in zip(_rounded_values(self.scaled), self.seen, strict=True)
        ]
        arrays = {
            each.name: _rounded_values(value)
            for each in fields(self)
            if isinstance(value := getattr(self, each.name), np.ndarray)
            and each.name not in ("seen", "scores")
        }
        forward = {
            name: _rounded_values(getattr(self.feed_forward, name)) for name in ("read", "said", "after")
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
            "tokens": {"query": query, "keys": list(keys), "predicts": predicts},
            **arrays,
            "masked": masked,
            "scores": pack_array(self.scores, "f32"),
            "feed_forward": forward,
            "norms": norms,
        }


VECTORS_WITH_NORM = ("stream", "x", "q", "z", "joined", "out", "after_residual", "after_norm")
"""Vectors of the word that are shown with their length."""


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
    """One word and one head of a pass; layer and head are counted from 1, the position from 0."""
    before, passed, after, forward = _select_sublayers(captured, kind, layer)
    attended = captured.attention(kind)[layer - 1]
    rows = len(passed.input)
    require_setting(0 <= position < rows, "position", position, f"there are rows 0 to {rows - 1}")
    require_setting(
        1 <= head <= len(attended.weights), "head", head, f"this model has {len(attended.weights)}"
    )
    q, k, v = attended.query[head - 1, position], attended.key[head - 1], attended.value[head - 1]
    dot = k @ q
    cosine = torch.nn.functional.cosine_similarity(k, q[None], dim=1)
    every = torch.einsum("hk,hkv->hv", attended.weights[:, position], attended.value)
    seen = torch.arange(len(k), device=k.device) <= position if kind == "decoder" else keep[0]
    out, leaves = passed.output[position], passed.stream[position]
    match norm:
        case "post":
            after_residual, after_norm = before[position] + out, leaves
        case "literal":
            after_residual, after_norm = leaves, passed.update[position]
        case "pre":  # what the next sublayer reads
            after_residual, after_norm = leaves, after.input[position]
    return AttentionSteps(
        kind=kind,
        layer=layer,
        head=head,
        position=position,
        norm=norm,
        scale=scale,
        stream=_array(before[position]),
        x=_array(passed.input[position]),
        q=_array(q),
        k=_array(k),
        v=_array(v),
        dot=_array(dot),
        scaled=_array(dot * scale),
        seen=seen.cpu().numpy(),
        weights=_array(attended.weights[head - 1, position]),
        cosine=_array(cosine),
        z=_array(every[head - 1]),
        joined=_array(every.flatten()),
        out=_array(out),
        after_residual=_array(after_residual),
        after_norm=_array(after_norm),
        feed_forward=FeedForwardStep(
            _array(forward.input[position]),
            _array(forward.output[position]),
            _array(forward.stream[position]),
        ),
        scores=_array(attended.query[head - 1] @ k.T * scale),
    )


def _select_sublayers(
    captured: ForwardCapture, kind: AttentionKind, layer: int
) -> tuple[Tensor, SublayerCapture, SublayerCapture, SublayerCapture]:
    """What entered the attention, the attention, the next sublayer, and the layer's feed-forward."""
    stack = "encoder" if kind == "encoder" else "decoder"
    passed = captured.encoder if kind == "encoder" else captured.decoder
    names = [each.name for each in passed]
    wanted = f"{layer}.{'cross' if kind == 'cross' else 'self'}"
    layers = len(captured.attention(kind))
    require_setting(wanted in names, "layer", layer, f"this model has layers 1 to {layers}")
    at = names.index(wanted)
    return captured.sublayer_input(stack, at), passed[at], passed[at + 1], passed[names.index(f"{layer}.ffn")]


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
