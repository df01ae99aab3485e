"""Confusion matrix as SVG: rows are true labels, columns predicted labels."""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Int64

from regard.plots.svg import clip_text, estimate_text_width, svg_element, svg_text
from regard.plots.theme import svg_document

CELL_SIZE = 46.0
MAX_LABEL_WIDTH = 150.0
"""Widest label, in pixels."""
WHITE_TEXT_SHARE = 0.6
"""Share of the row from which a cell's count is written in white."""
CONFUSION_CSS = """
.rg .right { fill: #007a58 } .rg .wrong { fill: #c0392b } .rg .on { fill: #ffffff }
@media (prefers-color-scheme: dark) {
.rg .right { fill: #35c79b } .rg .wrong { fill: #ff7b6b } .rg .on { fill: #15181c }
}
"""


def draw_confusion_matrix(labels: Sequence[str], matrix: Int64[np.ndarray, "classes classes"]) -> str:
    """Return an SVG for light and dark mode; the shade of a cell is its share of the row."""
    left = 30.0 + min(MAX_LABEL_WIDTH, max(estimate_text_width(label) for label in labels))
    top = 84.0 + min(MAX_LABEL_WIDTH, max(estimate_text_width(label) for label in labels)) * 0.72
    side = len(labels) * CELL_SIZE
    correct = int(matrix.trace())
    title = f"{correct:,} of {int(matrix.sum()):,} texts are classified correctly"
    parts = [
        svg_text(title, 14.0, 24.0, "title"),
        svg_text("predicted label", left, 46.0, "small"),
        svg_text("true label", 14.0, top - 10, "small"),
        *_draw_confusion_labels(labels, left, top),
        *_draw_confusion_cells(matrix, left, top),
    ]
    width = max(left + side + 0.72 * MAX_LABEL_WIDTH, estimate_text_width(title, 14.0) + 40.0)
    return svg_document(parts, title, width, top + side + 24.0, CONFUSION_CSS)


def _draw_confusion_labels(labels: Sequence[str], left: float, top: float) -> Iterator[str]:
    for number, label in enumerate(labels):
        clipped = clip_text(label, MAX_LABEL_WIDTH)
        yield svg_text(clipped, left - 8, top + (number + 0.5) * CELL_SIZE + 4, "ink", text_anchor="end")
        x, y = left + (number + 0.5) * CELL_SIZE + 4, top - 8
        yield svg_text(clipped, x, y, "ink", transform=f"rotate(-45 {x:.1f} {y:.1f})")


def _draw_confusion_cells(
    matrix: Int64[np.ndarray, "classes classes"], left: float, top: float
) -> Iterator[str]:
    totals = np.maximum(matrix.sum(axis=1), 1)
    for row, column in np.argwhere(matrix > 0).tolist():
        share = float(matrix[row, column] / totals[row])
        x, y = left + column * CELL_SIZE, top + row * CELL_SIZE
        class_name = "right" if row == column else "wrong"
        size = {"width": CELL_SIZE - 1, "height": CELL_SIZE - 1}
        yield svg_element("rect", x=x, y=y, **size, class_=class_name, fill_opacity=f"{max(share, 0.04):.3f}")
        text_class = "on" if share >= WHITE_TEXT_SHARE else "ink"
        center = (x + CELL_SIZE / 2, y + CELL_SIZE / 2 + 4)
        yield svg_text(f"{int(matrix[row, column]):,}", *center, text_class, text_anchor="middle")
