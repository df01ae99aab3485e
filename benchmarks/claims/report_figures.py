"""Figures as Markdown tables, and as pictures by the charts of the explorer."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from regard.plots.chart import ChartLine, LineChart, draw_line_chart
from regard.plots.theme import svg_document

WIDTH, HEIGHT, GAP = 580.0, 320.0, 12.0


def markdown_table(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """The first column is words, the others figures."""
    lines = [
        list(titles),
        ["---", *["---:"] * (len(titles) - 1)],
        *([str(cell) for cell in row] for row in rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def line_chart(
    name: str,
    title: str,
    x_label: str,
    x: Sequence[float],
    lines: Mapping[str, Sequence[float]],
    from_zero: bool = True,
) -> LineChart:
    """A line for each name, over the same places."""
    across = np.array(x, np.float64)
    drawn = [
        ChartLine(
            across[: len(y)], np.array(y, np.float64), tone, label, dash=tone, show_markers=len(across) <= 12
        )
        for tone, (label, y) in enumerate(lines.items())
    ]
    return LineChart(name, title, x_label, drawn, include_zero=from_zero)


def charts_to_svg(charts: Sequence[LineChart], title: str) -> str:
    """The charts side by side."""
    parts = [
        draw_line_chart(each, WIDTH, HEIGHT, left=place * (WIDTH + GAP)) for place, each in enumerate(charts)
    ]
    return svg_document(parts, title, len(charts) * (WIDTH + GAP) - GAP, HEIGHT)
