"""One attention matrix as a figure: rows look, columns are looked at."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from regard.errors import DataError
from regard.plots.svg import clip_text, estimate_text_width, svg_element, svg_text
from regard.plots.theme import svg_document
from regard.trace.interventions import AttentionKind, HideSource, require_index
from regard.trace.schema import TraceToken
from regard.trace.trace import Trace

LARGE_CELL, SMALL_CELL = 30.0, 9.0
"""Sides of a cell."""
MAX_TOKENS_FOR_LARGE_CELLS = 24
"""Tokens up to which cells are large, and have their weights written into them."""
MAX_TOKEN_LABEL_WIDTH = 150.0
"""Room for a label."""
MIN_DRAWN_WEIGHT = 0.002
"""A weight that would not be seen is not drawn."""
MIN_PRINTED_WEIGHT = 0.1
"""A weight from which on its digits are written into the cell."""
ATTENTION_NAMES: dict[AttentionKind, str] = {
    "encoder": "encoder self-attention",
    "decoder": "decoder self-attention, masked",
    "cross": "cross-attention",
}
UNMASKED_ATTENTION_NAMES: dict[AttentionKind, str] = {**ATTENTION_NAMES, "decoder": "decoder self-attention"}
ATTENTION_CSS = """
.rg .encoder { fill: #0072b2 } .rg .decoder { fill: #a35f00 } .rg .cross { fill: #007a58 }
.rg .on { fill: #ffffff } .rg .hidden { fill: #f0f0f0 } .rg .hatch { stroke: #c9c9c9; stroke-width: 1 }
@media (prefers-color-scheme: dark) {
.rg .encoder { fill: #56b4e9 } .rg .decoder { fill: #e69f00 } .rg .cross { fill: #35c79b }
.rg .on { fill: #15181c } .rg .hidden { fill: #1d2126 } .rg .hatch { stroke: #3a4046; stroke-width: 1 }
}
"""
HATCH_PATTERN = svg_element(
    "defs",
    svg_element(
        "pattern",
        svg_element("rect", width=6, height=6, class_="hidden"),
        svg_element("path", d="M0 6L6 0", class_="hatch"),
        id="hatch",
        width=6,
        height=6,
        patternUnits="userSpaceOnUse",
    ),
)


@dataclass(frozen=True, eq=False)
class AttentionMatrix:
    """The weights of one head, or of all heads of a layer together, with the words they belong to."""

    name: str
    kind: AttentionKind
    weights: Float[np.ndarray, "query key"]
    keep: Bool[np.ndarray, "query key"]
    """What the mask lets through."""
    rows: tuple[str, ...]
    """read → predicted, for the decoder; the word, for the encoder."""
    columns: tuple[str, ...]


def build_attention_matrix(
    trace: Trace, kind: AttentionKind, layer: int, head: int | None
) -> AttentionMatrix:
    """Layer and head are counted from 1; None is the mean of all heads."""
    if kind not in trace.attention:
        raise DataError(f"the model has no {ATTENTION_NAMES[kind]}; it has {', '.join(trace.attention)}")
    layers = trace.attention[kind]
    require_index("layer", layer, len(layers))
    heads = layers[layer - 1]
    if head is not None:
        require_index("head", head, len(heads))
    which = "mean of all heads" if head is None else f"head {head}"
    source, target = _texts(trace.source.tokens), _texts(trace.target.tokens)
    causal = trace.model.causal
    read = ("<s>", *target[:-1]) if causal else target
    weights = heads.mean(axis=0) if head is None else heads[head - 1]
    return AttentionMatrix(
        f"{ATTENTION_NAMES[kind] if causal else UNMASKED_ATTENTION_NAMES[kind]}, layer {layer}, {which}",
        kind,
        weights,
        _attention_keep(trace, kind, *weights.shape),
        source if kind == "encoder" else _row_labels(read, target),
        read if kind == "decoder" else source,
    )


def draw_attention_matrix(matrix: AttentionMatrix) -> str:
    """The SVG, in light and in dark; every token in it is text."""
    rows, columns = matrix.weights.shape
    side = LARGE_CELL if max(rows, columns) <= MAX_TOKENS_FOR_LARGE_CELLS else SMALL_CELL
    size = min(12.0, side - 1)
    left = 30.0 + min(MAX_TOKEN_LABEL_WIDTH, max(estimate_text_width(label, size) for label in matrix.rows))
    top = (
        78.0
        + min(MAX_TOKEN_LABEL_WIDTH, max(estimate_text_width(label, size) for label in matrix.columns)) * 0.72
    )
    width = max(
        left + columns * side + 0.72 * MAX_TOKEN_LABEL_WIDTH, estimate_text_width(matrix.name, 14.0) + 40.0
    )
    height = top + rows * side + 62.0
    parts = [
        HATCH_PATTERN,
        svg_text(matrix.name, 14.0, 24.0, "title"),
        svg_text("is attended to (key)", left, 46.0, "small"),
        svg_text("attends (query)", 14.0, top - 10, "small"),
        *_draw_token_labels(matrix, left, top, side, size),
        *_draw_weights(matrix, left, top, side),
        *_draw_weight_scale(matrix.kind, left, top + rows * side + 22),
    ]
    return svg_document(parts, matrix.name, width, height, ATTENTION_CSS)


def _attention_keep(
    trace: Trace, kind: AttentionKind, queries: int, keys: int
) -> Bool[np.ndarray, "query key"]:
    seen = np.ones((queries, keys), dtype=bool)
    if kind == "decoder" and trace.model.causal:
        return np.tril(seen)
    for intervention in trace.request.interventions:
        if isinstance(intervention, HideSource):
            seen[:, list(intervention.positions)] = False
    return seen


def _draw_token_labels(
    drawn: AttentionMatrix, left: float, top: float, side: float, size: float
) -> Iterator[str]:
    style = f"font-size:{size:g}px"
    for number, label in enumerate(drawn.rows):
        y = top + (number + 0.5) * side + size * 0.35
        yield svg_text(
            clip_text(label, MAX_TOKEN_LABEL_WIDTH, size), left - 8, y, "ink", text_anchor="end", style=style
        )
    for number, label in enumerate(drawn.columns):
        x, y = left + (number + 0.5) * side + size * 0.35, top - 8
        turned = f"rotate(-45 {x:.1f} {y:.1f})"
        yield svg_text(
            clip_text(label, MAX_TOKEN_LABEL_WIDTH, size), x, y, "ink", transform=turned, style=style
        )


def _draw_weights(drawn: AttentionMatrix, left: float, top: float, side: float) -> Iterator[str]:
    for row, column in np.argwhere(~drawn.keep).tolist():
        place = {"x": left + column * side, "y": top + row * side}
        yield svg_element("rect", **place, width=side, height=side, fill="url(#hatch)")
    for row, column in np.argwhere(drawn.weights >= MIN_DRAWN_WEIGHT).tolist():
        weight = float(drawn.weights[row, column])
        x, y = left + column * side, top + row * side
        shade = f"{weight:.3f}"
        inner = side - 1
        yield svg_element("rect", x=x, y=y, width=inner, height=inner, class_=drawn.kind, fill_opacity=shade)
        if side == LARGE_CELL and weight >= MIN_PRINTED_WEIGHT:
            place = (x + inner / 2, y + side * 0.62)
            ink = "on small" if weight > 0.75 else "ink small"
            yield svg_text(f"{weight:.2f}".removeprefix("0"), *place, ink, text_anchor="middle")


def _draw_weight_scale(kind: AttentionKind, x: float, y: float) -> Iterator[str]:
    """What the shades mean."""
    for tenth in range(11):
        box = {"x": x + 14 + tenth * 12, "y": y, "width": 12, "height": 10}
        yield svg_element("rect", **box, class_=kind, fill_opacity=tenth / 10)
    yield svg_text("0", x, y + 9, "small")
    yield svg_text("1", x + 14 + 11 * 12 + 6, y + 9, "small")


def _row_labels(read: tuple[str, ...], target: tuple[str, ...]) -> tuple[str, ...]:
    """What each row reads and what it predicts; where it reads nothing, what is asked of it."""
    return target if read == target else tuple(map("{} → {}".format, read, target))


def _texts(tokens: tuple[TraceToken, ...]) -> tuple[str, ...]:
    return tuple(token.text for token in tokens)
