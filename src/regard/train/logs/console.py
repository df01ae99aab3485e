"""What a person sees of a training: a header, one live line, and rows that scroll up."""

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from rich.console import Console
from rich.live import Live
from rich.text import Text

from regard.text.unicode import diff_words, sanitize_for_display
from regard.train.task import ValidationSample

PLAIN_INTERVAL = 30.0
"""Seconds between plain lines where there is no terminal to keep a live one on."""
REDRAW_INTERVAL = 0.1
ROWS_PER_TITLE = 10
CLASSIFICATION_TITLES = {
    "macro_f1": "macro F1",
    "calibration_error": "ECE",
    "calibrated_error": "after T",
    "temperature": "T",
}
METRIC_TITLES = {
    "perplexity": "ppl",
    "bleu": "BLEU",
    "chrf": "chrF",
    "mse": "MSE",
    "mae": "MAE",
    **CLASSIFICATION_TITLES,
}
SPARKLINE_BARS = "▁▂▃▄▅▆▇█"
DROP_ORDER = ("pad", "lr", "ppl", "speed")
"""What a narrow terminal does without, the first to go first."""
LABEL_WIDTH, COLUMN_WIDTH, SAMPLE_INDENT, SPARKLINE_WIDTH = 8, 9, 8, 24


def format_header(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """What is about to happen, as aligned lines; a row that goes on with the one above has no label."""
    return (f"{label:<{LABEL_WIDTH}}{text}" for label, text in rows)


class TrainingConsole:
    """Prints to a console while there is one; a live line only where someone can watch it move."""

    def __init__(self, console: Console, clock: Callable[[], float]) -> None:
        self._console = console
        self._clock = clock
        self._spoken = clock()
        self._rows = 0
        self._before: dict[str, str] = {}
        moving = console.is_terminal and console.is_interactive and not os.environ.get("CI")
        self._live = Live(console=console, auto_refresh=False, transient=True) if moving else None

    def start(self) -> None:
        if self._live:
            self._try(self._live.start)

    def stop(self) -> None:
        if self._live:
            self._try(self._live.stop)

    def update_status(self, parts: Mapping[str, str], losses: Sequence[float]) -> None:
        """Where the training stands: in place on a terminal, elsewhere now and then as a line."""
        waited = self._clock() - self._spoken
        if waited < (REDRAW_INTERVAL if self._live else PLAIN_INTERVAL):
            return
        self._spoken = self._clock()
        if self._live is None:
            self.print_message("  ".join(parts.values()))
        else:
            losses = losses if self._console.encoding.startswith("utf") else ()
            text = Text(
                f"  {fit_status_line(parts, losses, self._console.width - 3)}",
                no_wrap=True,
                overflow="ellipsis",
            )
            self._try(self._live.update, text, refresh=True)

    def print_message(self, text: str) -> None:
        """A line that stays."""
        self._print(Text(f"  {text}"))

    def print_validation(self, cells: Mapping[str, str], best: bool) -> None:
        """A validation, under its titles."""
        if self._rows % ROWS_PER_TITLE == 0:
            self._print(Text(_aligned(METRIC_TITLES.get(name, name) for name in cells), style="dim"))
        self._rows += 1
        row = Text(_aligned(cells.values()))
        self._print(row.append("  best", style="bold green") if best else row)

    def print_sample(self, sample: ValidationSample, titles: tuple[str, str, str]) -> None:
        """A sentence that is watched: what is new since the last time it was shown is marked."""
        before = self._before.get(sample.source)
        self._before[sample.source] = sample.hypothesis
        hypothesis = highlight_changes(
            before and sanitize_for_display(before), sanitize_for_display(sample.hypothesis)
        )
        given = (Text(sanitize_for_display(text), style="dim") for text in (sample.source, sample.reference))
        for label, text in zip(titles, (*given, hypothesis), strict=True):
            line = Text(f"{'':{SAMPLE_INDENT}}{label:<12}", style="dim")
            text.truncate(max(8, self._console.width - len(line)), overflow="ellipsis")
            self._print(Text.assemble(line, text))

    def _print(self, text: Text) -> None:
        self._try(self._console.print, text, soft_wrap=True)

    def _try(self, show: Callable[..., None], *what: object, **how: object) -> None:
        """Goes quiet where nobody can hear any more: a dead pipe must not end a training."""
        try:
            show(*what, **how)
        except (OSError, SystemExit):  # the second is how rich says that the pipe is broken
            self._console, self._live = Console(quiet=True), None


def fit_status_line(parts: Mapping[str, str], losses: Sequence[float], width: int) -> str:
    """The parts side by side, fewer where the width is small, and in what is left a curve of the losses."""
    left = dict(parts)
    for name in DROP_ORDER:
        if len("  ".join(left.values())) <= width:
            break
        left.pop(name, None)
    text = "  ".join(left.values())
    room = min(width - len(text) - 2, SPARKLINE_WIDTH)
    return f"{text}  {sparkline(losses[-room:])}" if losses and room >= 6 else text


def sparkline(values: Sequence[float]) -> str:
    """One bar for each value, from the lowest to the highest of them; a blank for what is no number."""
    known = [value for value in values if math.isfinite(value)]
    low, span = min(known, default=0.0), max(known, default=0.0) - min(known, default=0.0)
    bars = (round((value - low) / span * (len(SPARKLINE_BARS) - 1)) if span else 0 for value in known)
    return "".join(SPARKLINE_BARS[next(bars)] if math.isfinite(value) else " " for value in values)


def highlight_changes(before: str | None, now: str) -> Text:
    """`now`, with the words that `before` had not in colour."""
    return Text(" ").join(Text(word, style="green" if new else "") for word, new in diff_words(before, now))


def format_three_digits(value: float) -> str:
    """A number in three digits that mean something: 2.31, 0.0412, 12,345."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:#.3g}"


def format_thousands(value: float) -> str:
    """48.2k, 1.3M: how fast, at a glance."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.1f}{letter}"
    return f"{value:.0f}"


def format_elapsed(seconds: float) -> str:
    """3:12, or 1:03:12."""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def _aligned(cells: Iterable[str]) -> str:
    return "  " + "".join(f"{cell:>{COLUMN_WIDTH}}" for cell in cells)
