"""One attention matrix as SVG: rows are queries, columns are keys."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from regard.errors import DataError
from regard.plots.svg import clip_text, estimate_text_width, svg_element, svg_text
from regard.plots.theme import svg_document
from regard.trace.interventions import AttentionKind, MaskSource, require_index
from regard.trace.schema import TraceToken
from regard.trace.trace import Trace

LARGE_CELL, SMALL_CELL = 30.0, 9.0
"""Side length of a cell."""
MAX_TOKENS_FOR_LARGE_CELLS = 24
"""Up to this many tokens cells are large and show their weights as numbers."""
MAX_TOKEN_LABEL_WIDTH = 150.0
"""Widest label, in pixels."""
MIN_DRAWN_WEIGHT = 0.002
"""Smaller weights are invisible and not drawn."""
MIN_PRINTED_WEIGHT = 0.1
"""Lowest weight that is printed in its cell."""
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
    """The weights of one head, or their mean over the heads of a layer, with token labels."""

    name: str
    kind: AttentionKind
    weights: Float[np.ndarray, "query key"]
    keep: Bool[np.ndarray, "query key"]
    """The attention mask."""
    rows: tuple[str, ...]
    """`input → prediction` for the decoder, the token for the encoder."""
    columns: tuple[str, ...]


def build_attention_matrix(
    trace: Trace, kind: AttentionKind, layer: int, head: int | None
) -> AttentionMatrix:
    """Select a matrix of a trace; layer and head count from 1, None is the mean of all heads."""
    if kind not in trace.attention:
        raise DataError(f"the model has no {ATTENTION_NAMES[kind]}; it has {', '.join(trace.attention)}")
    layers = trace.attention[kind]
    require_index("layer", layer, len(layers))
    heads = layers[layer - 1]
    if head is not None:
        require_index("head", head, len(heads))
    head_name = "mean of all heads" if head is None else f"head {head}"
    source, target = _texts(trace.source.tokens), _texts(trace.target.tokens)
    causal = trace.model.causal
    inputs = ("<s>", *target[:-1]) if causal else target
    weights = heads.mean(axis=0) if head is None else heads[head - 1]
    return AttentionMatrix(
        f"{ATTENTION_NAMES[kind] if causal else UNMASKED_ATTENTION_NAMES[kind]}, layer {layer}, {head_name}",
        kind,
        weights,
        _attention_keep(trace, kind, *weights.shape),
        source if kind == "encoder" else _row_labels(inputs, target),
        inputs if kind == "decoder" else source,
    )


def draw_attention_matrix(matrix: AttentionMatrix) -> str:
    """Return the SVG, for light and dark mode, with tokens as text."""
    rows, columns = matrix.weights.shape
    cell_size = LARGE_CELL if max(rows, columns) <= MAX_TOKENS_FOR_LARGE_CELLS else SMALL_CELL
    font_size = min(12.0, cell_size - 1)
    left = 30.0 + min(
        MAX_TOKEN_LABEL_WIDTH, max(estimate_text_width(label, font_size) for label in matrix.rows)
    )
    top = (
        78.0
        + min(MAX_TOKEN_LABEL_WIDTH, max(estimate_text_width(label, font_size) for label in matrix.columns))
        * 0.72
    )
    width = max(
        left + columns * cell_size + 0.72 * MAX_TOKEN_LABEL_WIDTH,
        estimate_text_width(matrix.name, 14.0) + 40.0,
    )
    height = top + rows * cell_size + 62.0
    parts = [
        HATCH_PATTERN,
        svg_text(matrix.name, 14.0, 24.0, "title"),
        svg_text("key (attended to)", left, 46.0, "small"),
        svg_text("query (attends)", 14.0, top - 10, "small"),
        *_draw_token_labels(matrix, left, top, cell_size, font_size),
        *_draw_weights(matrix, left, top, cell_size),
        *_draw_weight_scale(matrix.kind, left, top + rows * cell_size + 22),
    ]
    return svg_document(parts, matrix.name, width, height, ATTENTION_CSS)


def _attention_keep(
    trace: Trace, kind: AttentionKind, queries: int, keys: int
) -> Bool[np.ndarray, "query key"]:
    keep = np.ones((queries, keys), dtype=bool)
    if kind == "decoder" and trace.model.causal:
        return np.tril(keep)
    for intervention in trace.request.interventions:
        if isinstance(intervention, MaskSource):
            keep[:, list(intervention.positions)] = False
    return keep


def _draw_token_labels(
    matrix: AttentionMatrix, left: float, top: float, cell_size: float, font_size: float
) -> Iterator[str]:
    style = f"font-size:{font_size:g}px"
    for number, label in enumerate(matrix.rows):
        y = top + (number + 0.5) * cell_size + font_size * 0.35
        yield svg_text(
            clip_text(label, MAX_TOKEN_LABEL_WIDTH, font_size),
            left - 8,
            y,
            "ink",
            text_anchor="end",
            style=style,
        )
    for number, label in enumerate(matrix.columns):
        x, y = left + (number + 0.5) * cell_size + font_size * 0.35, top - 8
        rotation = f"rotate(-45 {x:.1f} {y:.1f})"
        yield svg_text(
            clip_text(label, MAX_TOKEN_LABEL_WIDTH, font_size), x, y, "ink", transform=rotation, style=style
        )


def _draw_weights(matrix: AttentionMatrix, left: float, top: float, cell_size: float) -> Iterator[str]:
    for row, column in np.argwhere(~matrix.keep).tolist():
        position = {"x": left + column * cell_size, "y": top + row * cell_size}
        yield svg_element("rect", **position, width=cell_size, height=cell_size, fill="url(#hatch)")
    for row, column in np.argwhere(matrix.weights >= MIN_DRAWN_WEIGHT).tolist():
        weight = float(matrix.weights[row, column])
        x, y = left + column * cell_size, top + row * cell_size
        opacity = f"{weight:.3f}"
        inner = cell_size - 1
        yield svg_element(
            "rect", x=x, y=y, width=inner, height=inner, class_=matrix.kind, fill_opacity=opacity
        )
        if cell_size == LARGE_CELL and weight >= MIN_PRINTED_WEIGHT:
            center = (x + inner / 2, y + cell_size * 0.62)
            text_class = "on small" if weight > 0.75 else "ink small"
            yield svg_text(f"{weight:.2f}".removeprefix("0"), *center, text_class, text_anchor="middle")


def _draw_weight_scale(kind: AttentionKind, x: float, y: float) -> Iterator[str]:
    """Draw the colour scale."""
    for tenth in range(11):
        box = {"x": x + 14 + tenth * 12, "y": y, "width": 12, "height": 10}
        yield svg_element("rect", **box, class_=kind, fill_opacity=tenth / 10)
    yield svg_text("0", x, y + 9, "small")
    yield svg_text("1", x + 14 + 11 * 12 + 6, y + 9, "small")


def _row_labels(inputs: tuple[str, ...], target: tuple[str, ...]) -> tuple[str, ...]:
    """Return `input → prediction` labels; only the target where the decoder reads no tokens."""
    return target if inputs == target else tuple(map("{} → {}".format, inputs, target))


def _texts(tokens: tuple[TraceToken, ...]) -> tuple[str, ...]:
    return tuple(token.text for token in tokens)
