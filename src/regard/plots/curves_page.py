"""Training curves of one or several runs as one SVG or one self-contained HTML page."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from regard.plots.chart import ChartLine, LineChart, draw_legend_sample, draw_line_chart
from regard.plots.curves import TrainingCurves, model_card_charts
from regard.plots.history import EMPTY_SERIES, TrainingHistory
from regard.plots.svg import clip_text, escape_text, estimate_text_width, svg_element, svg_text
from regard.plots.theme import html_document, svg_document
from regard.text.unicode import diff_words, sanitize_for_display

WIDTH, HEIGHT, GAP = 480.0, 270.0, 12.0
MAX_SAMPLE_CHANGES = 40
"""Changed translations of a validation sample on an HTML page."""
MAX_SAMPLE_CHANGES_SVG = 10
"""In an SVG: the first half and the last half of the changes."""


class SampleChange(NamedTuple):
    """A validation at which the translation of a sample differed from the previous one."""

    step: int
    previous: str | None
    text: str


class SampleHistory(NamedTuple):
    """The translations of one validation sample over the training."""

    source: str
    reference: str
    changes: list[SampleChange]


def render_curves_svg(curves: TrainingCurves) -> str:
    """Return all charts as one SVG: the first over the whole width, then two per row."""
    full_width = 2 * WIDTH + GAP
    title = _curves_title(curves)
    parts, top = [svg_text(clip_text(title, full_width, 16.0), 14.0, 26.0, "title")], 40.0
    if len(curves.runs) > 1:
        rows, top = _draw_run_legend(curves.runs, full_width, 50.0)
        parts += rows
    charts = curves.charts()
    for chart, x, y, width in _layout_charts(charts, top):
        parts.append(draw_line_chart(chart, width, HEIGHT, x, y))
        top = y + HEIGHT + GAP
    if len(curves.runs) == 1:
        rows, top = _draw_sample_history(curves.runs[0], full_width, top)
        parts += rows
    return svg_document(parts, title, full_width, top)


def render_model_card_svg(folder: Path) -> str:
    """Return loss and scores of one run as an SVG for its model card."""
    charts = model_card_charts(folder)
    parts = [
        draw_line_chart(chart, WIDTH, HEIGHT, left=number * (WIDTH + GAP))
        for number, chart in enumerate(charts)
    ]
    return svg_document(parts, "Loss and scores over the training", len(charts) * (WIDTH + GAP) - GAP, HEIGHT)


def render_curves_html(curves: TrainingCurves) -> str:
    """Return all charts and validation samples as an HTML page without scripts or external resources."""
    parts = []
    if len(curves.runs) > 1:
        rows, height = _draw_run_legend(curves.runs, WIDTH, 16.0)
        size = {"class_": "rg legend", "viewBox": f"0 0 {WIDTH:g} {height:g}"}
        parts.append(svg_element("svg", *rows, role="img", aria_label="Legend of runs", **size))
    parts.append(
        svg_element(
            "main",
            *(svg_element("figure", draw_line_chart(chart, WIDTH, HEIGHT)) for chart in curves.charts()),
        )
    )
    parts += [table for run in curves.runs for table in _sample_tables(run)]
    return html_document(_curves_title(curves), "\n".join(parts))


def _curves_title(curves: TrainingCurves) -> str:
    return f"Training of {', '.join(run.name for run in curves.runs)}"


def _layout_charts(
    charts: Sequence[LineChart], top: float
) -> Iterator[tuple[LineChart, float, float, float]]:
    """Yield each chart with x, y and width: the first over the whole width, then two per row."""
    for number, chart in enumerate(charts):
        row, column = divmod(number + 1, 2) if number else (0, 0)
        width = WIDTH if number else 2 * WIDTH + GAP
        yield chart, column * (WIDTH + GAP), top + row * (HEIGHT + GAP), width


def _draw_run_legend(runs: Sequence[TrainingHistory], width: float, y: float) -> tuple[list[str], float]:
    """Return the legend of runs with their best losses, and the y below it."""
    parts, x = [], 14.0
    for number, run in enumerate(runs):
        best = "" if run.best_validation is None else f", best {run.valid['loss'][run.best_validation]:.3f}"
        label = clip_text(run.name, 320.0) + best
        item_width = 46 + estimate_text_width(label) + 24
        if x + item_width > width and x > 14:
            x, y = 14.0, y + 22
        sample = ChartLine(EMPTY_SERIES, EMPTY_SERIES, number, "", dash=number, show_markers=True)
        parts += [*draw_legend_sample(sample, x, y, 38.0), svg_text(label, x + 46, y + 4, "ink")]
        x += item_width
    return parts, y + 20


def _draw_sample_history(run: TrainingHistory, width: float, top: float) -> tuple[list[str], float]:
    """Return the translations of the first sample as lines of text, changed words marked, and the y below."""
    histories = _sample_histories(run)
    if not histories:
        return [], top
    source, reference, changes = histories[0]
    if len(changes) > MAX_SAMPLE_CHANGES_SVG:
        half = MAX_SAMPLE_CHANGES_SVG // 2
        changes = [*changes[:half], *changes[-half:]]
    parts = [svg_text("Validation samples", 14.0, top + 22, "title")]
    lines = [("source", [(source, False)]), ("reference", [(reference, False)])]
    lines += [(f"{step:,}", list(diff_words(previous, text))) for step, previous, text in changes]
    y = top + 44.0
    for label, words in lines:
        parts.append(svg_text(label, 14.0, y, "small"))
        parts.append(_draw_changed_words(words, 90.0, y, width - 104))
        y += 18
    return parts, y + 4


def _draw_changed_words(words: Sequence[tuple[str, bool]], x: float, y: float, width: float) -> str:
    spans, width_left = [], width
    for word, is_new in words:
        clipped = clip_text(word, width_left)
        class_name = "new" if is_new else None
        spans.append(svg_element("tspan", escape_text(clipped), class_=class_name) if clipped else "")
        width_left -= estimate_text_width(word + " ")
        if width_left <= 12:
            break
    return svg_element("text", " ".join(spans), x=x, y=y, class_="ink")


def _sample_tables(run: TrainingHistory) -> Iterator[str]:
    """Yield one table per validation sample."""
    histories = _sample_histories(run)
    if histories:
        yield svg_element("h2", escape_text(f"Validation samples: {run.name}"))
    for source, reference, changes in histories:
        lines = [("source", escape_text(source)), ("reference", escape_text(reference))]
        for step, previous, text in changes[-MAX_SAMPLE_CHANGES:]:
            lines.append((f"{step:,}", " ".join(map(_mark_inserted, diff_words(previous, text)))))
        yield svg_element("table", *(_table_row(label, content) for label, content in lines))


def _table_row(label: str, content: str) -> str:
    return svg_element("tr", svg_element("th", label, scope="row"), svg_element("td", content, dir="auto"))


def _mark_inserted(word_and_status: tuple[str, bool]) -> str:
    word, is_new = word_and_status
    return svg_element("ins", escape_text(word)) if is_new else escape_text(word)


def _sample_histories(run: TrainingHistory) -> list[SampleHistory]:
    """Return each validation sample with every step at which its translation changed."""
    histories: dict[tuple[str, str], list[SampleChange]] = {}
    for row in run.valid.rows:
        for sample in row.get("samples") or []:
            names = ("source", "reference", "hypothesis")
            source, reference, text = (sanitize_for_display(str(sample[name])) or "—" for name in names)
            changes = histories.setdefault((source, reference), [])
            previous = changes[-1].text if changes else None
            if text != previous:
                changes.append(SampleChange(row["step"], previous, text))
    return [SampleHistory(source, reference, changes) for (source, reference), changes in histories.items()]
