"""Charts together: as one SVG, or as one page of HTML that needs nothing else."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from regard.plots.chart import Chart, Line, draw, key
from regard.plots.curves import Curves, small_curves
from regard.plots.history import EMPTY, History
from regard.plots.svg import clip, length, tag, text, words
from regard.plots.theme import picture, style
from regard.text.unicode import changes, printable

WIDTH, HEIGHT, GAP = 480.0, 270.0, 12.0
SHOWN = 40
"""Changes of a watched sentence that a page shows; a picture shows fewer."""
SHOWN_SMALL = 10


def sheet(curves: Curves) -> str:
    """All charts on one sheet, two side by side, the first over the whole width."""
    wide = 2 * WIDTH + GAP
    title = _title(curves)
    parts, top = [text(clip(title, wide, 16.0), 14.0, 26.0, "title")], 40.0
    if len(curves.runs) > 1:
        rows, top = _runs(curves.runs, wide, 50.0)
        parts += rows
    charts = curves.charts()
    for chart, x, y, width in _places(charts, top):
        parts.append(draw(chart, width, HEIGHT, x, y))
        top = y + HEIGHT + GAP
    if len(curves.runs) == 1:
        rows, top = _watched(curves.runs[0], wide, top)
        parts += rows
    return picture(parts, title, wide, top)


def small(folder: Path) -> str:
    """The loss and the scores of one run, for its model card."""
    charts = small_curves(folder)
    parts = [draw(chart, WIDTH, HEIGHT, left=place * (WIDTH + GAP)) for place, chart in enumerate(charts)]
    return picture(parts, "Loss and scores over the training", len(charts) * (WIDTH + GAP) - GAP, HEIGHT)


def page(curves: Curves) -> str:
    """One page with everything in it: no script, and nothing is asked of any network."""
    parts = []
    if len(curves.runs) > 1:
        rows, height = _runs(curves.runs, WIDTH, 16.0)
        size = {"class_": "rg legend", "viewBox": f"0 0 {WIDTH:g} {height:g}"}
        parts.append(tag("svg", *rows, role="img", aria_label="Which line is which run", **size))
    parts.append(tag("main", *(tag("figure", draw(chart, WIDTH, HEIGHT)) for chart in curves.charts())))
    parts += [table for run in curves.runs for table in _tables(run)]
    return PAGE.format(title=words(_title(curves)), style=style(), body="\n".join(parts))


PAGE = """<!doctype html>
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


def _title(curves: Curves) -> str:
    return f"Training of {', '.join(run.name for run in curves.runs)}"


def _places(charts: Sequence[Chart], top: float) -> Iterator[tuple[Chart, float, float, float]]:
    """The first over the whole width, then two in a row."""
    for number, chart in enumerate(charts):
        row, column = divmod(number + 1, 2) if number else (0, 0)
        width = WIDTH if number else 2 * WIDTH + GAP
        yield chart, column * (WIDTH + GAP), top + row * (HEIGHT + GAP), width


def _runs(runs: Sequence[History], width: float, y: float) -> tuple[list[str], float]:
    """Which line is which run, with its best loss, and where the next thing goes."""
    parts, x = [], 14.0
    for tone, run in enumerate(runs):
        best = "" if run.best is None else f", best {run.valid['loss'][run.best]:.3f}"
        name = clip(run.name, 320.0) + best
        needed = 46 + length(name) + 24
        if x + needed > width and x > 14:
            x, y = 14.0, y + 22
        parts += [*key(Line(EMPTY, EMPTY, tone, "", dash=tone, marks=True), x, y, 38.0)]
        parts.append(text(name, x + 46, y + 4, "ink"))
        x += needed
    return parts, y + 20


def _watched(run: History, width: float, top: float) -> tuple[list[str], float]:
    """The first watched sentence as lines of text, with what is new in each underlined."""
    sentences = _sentences(run)
    if not sentences:
        return [], top
    source, reference, rows = sentences[0]
    shown = [*rows[: SHOWN_SMALL // 2], *rows[-SHOWN_SMALL // 2 :]] if len(rows) > SHOWN_SMALL else rows
    parts = [text("Watch it learn", 14.0, top + 22, "title")]
    lines = [("source", [(source, False)]), ("reference", [(reference, False)])]
    lines += [(f"{step:,}", list(changes(before, now))) for step, before, now in shown]
    y = top + 44.0
    for label, pieces in lines:
        parts.append(text(label, 14.0, y, "small"))
        parts.append(_pieces(pieces, 90.0, y, width - 104))
        y += 18
    return parts, y + 4


def _pieces(pieces: Sequence[tuple[str, bool]], x: float, y: float, room: float) -> str:
    spans, left = [], room
    for word, new in pieces:
        shown = clip(word, left)
        spans.append(tag("tspan", words(shown), class_="new" if new else None) if shown else "")
        left -= length(word + " ")
        if left <= 12:
            break
    return tag("text", " ".join(spans), x=x, y=y, class_="ink")


def _tables(run: History) -> Iterator[str]:
    """The watched sentences of a run, a table each."""
    sentences = _sentences(run)
    if sentences:
        yield tag("h2", words(f"Watch it learn: {run.name}"))
    for source, reference, rows in sentences:
        lines = [("source", words(source)), ("reference", words(reference))]
        for step, before, now in rows[-SHOWN:]:
            lines.append((f"{step:,}", " ".join(map(_inserted, changes(before, now)))))
        yield tag("table", *(_row(label, content) for label, content in lines))


def _row(label: str, content: str) -> str:
    return tag("tr", tag("th", label, scope="row"), tag("td", content, dir="auto"))


def _inserted(piece: tuple[str, bool]) -> str:
    word, new = piece
    return tag("ins", words(word)) if new else words(word)


def _sentences(run: History) -> list[tuple[str, str, list[tuple[int, str | None, str]]]]:
    """Each watched sentence: source, reference, and each step at which its translation was another."""
    found: dict[tuple[str, str], list[tuple[int, str | None, str]]] = {}
    for row in run.valid.rows:
        for sample in row.get("samples") or []:
            names = ("source", "reference", "hypothesis")
            source, reference, now = (printable(str(sample[name])) or "—" for name in names)
            rows = found.setdefault((source, reference), [])
            before = rows[-1][2] if rows else None
            if now != before:
                rows.append((row["step"], before, now))
    return [(source, reference, rows) for (source, reference), rows in found.items()]
