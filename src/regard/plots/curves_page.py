"""Charts together: as one SVG, or as one page of HTML that needs nothing else."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from regard.plots.chart import ChartLine, LineChart, draw_legend_sample, draw_line_chart
from regard.plots.curves import TrainingCurves, model_card_charts
from regard.plots.history import EMPTY_SERIES, TrainingHistory
from regard.plots.svg import clip_text, escape_text, estimate_text_width, svg_element, svg_text
from regard.plots.theme import svg_document, theme_css
from regard.text.unicode import diff_words, sanitize_for_display

WIDTH, HEIGHT, GAP = 480.0, 270.0, 12.0
MAX_SAMPLE_CHANGES = 40
"""Changes of a watched sentence that a page shows; a picture shows fewer."""
MAX_SAMPLE_CHANGES_SVG = 10


def render_curves_svg(curves: TrainingCurves) -> str:
    """All charts on one sheet, two side by side, the first over the whole width."""
    wide = 2 * WIDTH + GAP
    title = _curves_title(curves)
    parts, top = [svg_text(clip_text(title, wide, 16.0), 14.0, 26.0, "title")], 40.0
    if len(curves.runs) > 1:
        rows, top = _draw_run_legend(curves.runs, wide, 50.0)
        parts += rows
    charts = curves.charts()
    for chart, x, y, width in _layout_charts(charts, top):
        parts.append(draw_line_chart(chart, width, HEIGHT, x, y))
        top = y + HEIGHT + GAP
    if len(curves.runs) == 1:
        rows, top = _draw_sample_history(curves.runs[0], wide, top)
        parts += rows
    return svg_document(parts, title, wide, top)


def render_model_card_svg(folder: Path) -> str:
    """The loss and the scores of one run, for its model card."""
    charts = model_card_charts(folder)
    parts = [
        draw_line_chart(chart, WIDTH, HEIGHT, left=place * (WIDTH + GAP))
        for place, chart in enumerate(charts)
    ]
    return svg_document(parts, "Loss and scores over the training", len(charts) * (WIDTH + GAP) - GAP, HEIGHT)


def render_curves_html(curves: TrainingCurves) -> str:
    """One page with everything in it: no script, and nothing is asked of any network."""
    parts = []
    if len(curves.runs) > 1:
        rows, height = _draw_run_legend(curves.runs, WIDTH, 16.0)
        size = {"class_": "rg legend", "viewBox": f"0 0 {WIDTH:g} {height:g}"}
        parts.append(svg_element("svg", *rows, role="img", aria_label="Which line is which run", **size))
    parts.append(
        svg_element(
            "main",
            *(svg_element("figure", draw_line_chart(chart, WIDTH, HEIGHT)) for chart in curves.charts()),
        )
    )
    parts += [table for run in curves.runs for table in _sample_tables(run)]
    return FIGURE_PAGE_HTML.format(
        title=escape_text(_curves_title(curves)), style=theme_css(), body="\n".join(parts)
    )


FIGURE_PAGE_HTML = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title><style>{style}
:root {{ color-scheme: light dark }}
body {{ font: 15px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; background: #f6f6f6;
  color: #1a1a1a; max-width: 1100px; margin: 1rem auto; padding: 0 1rem; overflow-wrap: anywhere }}
h1 {{ font-size: 1.3rem }} h2 {{ font-size: 1.1rem }}
main {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); gap: 12px }}
figure {{ margin: 0 }} svg {{ width: 100%; height: auto; display: block }}
.legend {{ max-width: 520px; margin-bottom: 12px }}
table {{ border-collapse: collapse; width: 100%; margin-bottom: 1.5rem }}
th, td {{ text-align: start; vertical-align: top; padding: .25rem .6rem .25rem 0;
  border-top: 1px solid #d5d5d5 }}
th {{ font-weight: 400; width: 6rem }} ins {{ font-weight: 700; text-decoration: underline }}
@media (prefers-color-scheme: dark) {{
  body {{ background: #0d0f12; color: #ececec }} th, td {{ border-color: #33383d }}
}}
</style></head>
<body><h1>{title}</h1>
{body}
</body></html>
"""


def _curves_title(curves: TrainingCurves) -> str:
    return f"Training of {', '.join(run.name for run in curves.runs)}"


def _layout_charts(
    charts: Sequence[LineChart], top: float
) -> Iterator[tuple[LineChart, float, float, float]]:
    """The first over the whole width, then two in a row."""
    for number, chart in enumerate(charts):
        row, column = divmod(number + 1, 2) if number else (0, 0)
        width = WIDTH if number else 2 * WIDTH + GAP
        yield chart, column * (WIDTH + GAP), top + row * (HEIGHT + GAP), width


def _draw_run_legend(runs: Sequence[TrainingHistory], width: float, y: float) -> tuple[list[str], float]:
    """Which line is which run, with its best loss, and where the next thing goes."""
    parts, x = [], 14.0
    for tone, run in enumerate(runs):
        best = "" if run.best_validation is None else f", best {run.valid['loss'][run.best_validation]:.3f}"
        name = clip_text(run.name, 320.0) + best
        needed = 46 + estimate_text_width(name) + 24
        if x + needed > width and x > 14:
            x, y = 14.0, y + 22
        parts += [
            *draw_legend_sample(
                ChartLine(EMPTY_SERIES, EMPTY_SERIES, tone, "", dash=tone, show_markers=True), x, y, 38.0
            )
        ]
        parts.append(svg_text(name, x + 46, y + 4, "ink"))
        x += needed
    return parts, y + 20


def _draw_sample_history(run: TrainingHistory, width: float, top: float) -> tuple[list[str], float]:
    """The first watched sentence as lines of text, with what is new in each underlined."""
    sentences = _sample_history(run)
    if not sentences:
        return [], top
    source, reference, rows = sentences[0]
    shown = (
        [*rows[: MAX_SAMPLE_CHANGES_SVG // 2], *rows[-MAX_SAMPLE_CHANGES_SVG // 2 :]]
        if len(rows) > MAX_SAMPLE_CHANGES_SVG
        else rows
    )
    parts = [svg_text("Watch it learn", 14.0, top + 22, "title")]
    lines = [("source", [(source, False)]), ("reference", [(reference, False)])]
    lines += [(f"{step:,}", list(diff_words(before, now))) for step, before, now in shown]
    y = top + 44.0
    for label, pieces in lines:
        parts.append(svg_text(label, 14.0, y, "small"))
        parts.append(_draw_changed_words(pieces, 90.0, y, width - 104))
        y += 18
    return parts, y + 4


def _draw_changed_words(pieces: Sequence[tuple[str, bool]], x: float, y: float, room: float) -> str:
    spans, left = [], room
    for word, new in pieces:
        shown = clip_text(word, left)
        spans.append(svg_element("tspan", escape_text(shown), class_="new" if new else None) if shown else "")
        left -= estimate_text_width(word + " ")
        if left <= 12:
            break
    return svg_element("text", " ".join(spans), x=x, y=y, class_="ink")


def _sample_tables(run: TrainingHistory) -> Iterator[str]:
    """The watched sentences of a run, a table each."""
    sentences = _sample_history(run)
    if sentences:
        yield svg_element("h2", escape_text(f"Watch it learn: {run.name}"))
    for source, reference, rows in sentences:
        lines = [("source", escape_text(source)), ("reference", escape_text(reference))]
        for step, before, now in rows[-MAX_SAMPLE_CHANGES:]:
            lines.append((f"{step:,}", " ".join(map(_mark_inserted, diff_words(before, now)))))
        yield svg_element("table", *(_table_row(label, content) for label, content in lines))


def _table_row(label: str, content: str) -> str:
    return svg_element("tr", svg_element("th", label, scope="row"), svg_element("td", content, dir="auto"))


def _mark_inserted(piece: tuple[str, bool]) -> str:
    word, new = piece
    return svg_element("ins", escape_text(word)) if new else escape_text(word)


def _sample_history(run: TrainingHistory) -> list[tuple[str, str, list[tuple[int, str | None, str]]]]:
    """Each watched sentence: source, reference, and each step at which its translation was another."""
    found: dict[tuple[str, str], list[tuple[int, str | None, str]]] = {}
    for row in run.valid.rows:
        for sample in row.get("samples") or []:
            names = ("source", "reference", "hypothesis")
            source, reference, now = (sanitize_for_display(str(sample[name])) or "—" for name in names)
            rows = found.setdefault((source, reference), [])
            before = rows[-1][2] if rows else None
            if now != before:
                rows.append((row["step"], before, now))
    return [(source, reference, rows) for (source, reference), rows in found.items()]
