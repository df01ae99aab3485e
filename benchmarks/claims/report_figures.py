"""Results as Markdown tables and as line charts."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from regard.plots.chart import ChartLine, LineChart, draw_line_chart
from regard.plots.theme import svg_document

WIDTH, HEIGHT, GAP = 580.0, 320.0, 12.0
MAX_MARKED_POINTS = 12


def markdown_table(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table with text in the first column and numbers in the others."""
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
    """Return a chart with one labelled line for each item of `lines`, over the same x values."""
    x_values, markers = np.array(x, np.float64), len(x) <= MAX_MARKED_POINTS
    chart_lines = [
        ChartLine(x_values[: len(y)], np.array(y, np.float64), color, label, dash=color, show_markers=markers)
        for color, (label, y) in enumerate(lines.items())
    ]
    return LineChart(name, title, x_label, chart_lines, include_zero=from_zero)


def charts_to_svg(charts: Sequence[LineChart], title: str) -> str:
    """Draw the charts side by side."""
    parts = [
        draw_line_chart(chart, WIDTH, HEIGHT, left=number * (WIDTH + GAP))
        for number, chart in enumerate(charts)
    ]
    return svg_document(parts, title, len(charts) * (WIDTH + GAP) - GAP, HEIGHT)
