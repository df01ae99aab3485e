"""A confusion matrix as a picture: rows are what texts are, columns what they were taken for."""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Int64

from regard.plots.svg import clip, length, tag, text
from regard.plots.theme import picture

SIDE = 46.0
LONGEST = 150.0
"""Room for a label."""
DARK = 0.6
"""Of its row, from which on a cell's number is written in white."""
RULES = """
.rg .right { fill: #007a58 } .rg .wrong { fill: #c0392b } .rg .on { fill: #ffffff }
@media (prefers-color-scheme: dark) {
.rg .right { fill: #35c79b } .rg .wrong { fill: #ff7b6b } .rg .on { fill: #15181c }
}
"""


def draw(labels: Sequence[str], matrix: Int64[np.ndarray, "classes classes"]) -> str:
    """The SVG, in light and in dark: each cell as dark as its share of the row, with its count in it."""
    left = 30.0 + min(LONGEST, max(length(label) for label in labels))
    top = 84.0 + min(LONGEST, max(length(label) for label in labels)) * 0.72
    side = len(labels) * SIDE
    right = int(matrix.trace())
    title = f"{right:,} of {int(matrix.sum()):,} texts are given their label"
    parts = [
        text(title, 14.0, 24.0, "title"),
        text("is taken for", left, 46.0, "small"),
        text("is", 14.0, top - 10, "small"),
        *_labels(labels, left, top),
        *_cells(matrix, left, top),
    ]
    width = max(left + side + 0.72 * LONGEST, length(title, 14.0) + 40.0)
    return picture(parts, title, width, top + side + 24.0, RULES)


def _labels(labels: Sequence[str], left: float, top: float) -> Iterator[str]:
    for number, label in enumerate(labels):
        said = clip(label, LONGEST)
        yield text(said, left - 8, top + (number + 0.5) * SIDE + 4, "ink", text_anchor="end")
        x, y = left + (number + 0.5) * SIDE + 4, top - 8
        yield text(said, x, y, "ink", transform=f"rotate(-45 {x:.1f} {y:.1f})")


def _cells(matrix: Int64[np.ndarray, "classes classes"], left: float, top: float) -> Iterator[str]:
    totals = np.maximum(matrix.sum(axis=1), 1)
    for row, column in np.argwhere(matrix > 0).tolist():
        share = float(matrix[row, column] / totals[row])
        x, y = left + column * SIDE, top + row * SIDE
        kind = "right" if row == column else "wrong"
        size = {"width": SIDE - 1, "height": SIDE - 1}
        yield tag("rect", x=x, y=y, **size, class_=kind, fill_opacity=f"{max(share, 0.04):.3f}")
        ink = "on" if share >= DARK else "ink"
        middle = (x + SIDE / 2, y + SIDE / 2 + 4)
        yield text(f"{int(matrix[row, column]):,}", *middle, ink, text_anchor="middle")
