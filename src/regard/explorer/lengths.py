"""What a run learnt from, as its data.json has it: outlines of histograms, and the rest in words.

It is read leniently: a file of another version may say less.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float64

from regard.explorer.series import Series

EMPTY = np.zeros(0)


def outline(bars: object, heights: str = "counts") -> tuple[Series, Series]:
    """The top of a histogram, from edge to edge; `bins` has the edges, or where each bar begins."""
    if not isinstance(bars, Mapping):
        return EMPTY, EMPTY
    edges, tops = numbers(bars.get("bins")), numbers(bars.get(heights))
    if edges.ndim != 1 or tops.ndim != 1 or not len(tops) or len(edges) - len(tops) not in (0, 1):
        return EMPTY, EMPTY
    if len(edges) == len(tops):
        width = edges[-1] - edges[-2] if len(edges) > 1 else 1.0
        edges = np.append(edges, edges[-1] + width)
    return np.repeat(edges, 2), np.concatenate([[0.0], np.repeat(tops, 2), [0.0]])


def numbers(values: object) -> Float64[np.ndarray, "..."]:
    try:
        return np.array([] if values is None else values, np.float64)
    except (TypeError, ValueError):
        return EMPTY


def learnt_from(data: Mapping[str, Any]) -> str:
    """How many pairs, which were left out and why, the ratio of lengths, the pieces that occur."""
    said, train = [], data.get("train")
    if isinstance(train, Mapping) and isinstance(train.get("pairs"), int):
        left = train.get("left_out") or {}
        reasons = ", ".join(f"{count:,} {why}" for why, count in left.items())
        said.append(f"{train['pairs']:,} pairs; left out: {reasons or 'none'}")
    if isinstance(ratio := data.get("ratio"), int | float):
        said.append(f"ratio {ratio:.2f}")
    if isinstance(pieces := data.get("pieces"), Mapping) and {"all", "occur", "bytes"} <= pieces.keys():
        said.append(
            f"{pieces['occur'] / max(1, pieces['all']):.0%} of pieces used, {pieces['bytes']:.2%} bytes"
        )
    return "; ".join(said)
