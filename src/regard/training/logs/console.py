"""Console output of a training: header, live status line with sparkline, validation rows and samples."""

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from rich.console import Console
from rich.live import Live
from rich.text import Text

from regard.text.unicode import diff_words, sanitize_for_display
from regard.training.task import ValidationSample

PLAIN_INTERVAL = 30.0
"""Seconds between status lines where there is no terminal."""
REDRAW_INTERVAL = 0.1
"""Seconds between updates of the live status line."""
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
"""Parts of the status line that a narrow terminal omits, in this order."""
LABEL_WIDTH, COLUMN_WIDTH, SAMPLE_INDENT, SPARKLINE_WIDTH = 8, 9, 8, 24


def format_header(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Align labels and texts; a row that continues the one above has an empty label."""
    return (f"{label:<{LABEL_WIDTH}}{text}" for label, text in rows)


class TrainingConsole:
    """Prints the progress of a training; the status line is live only on an interactive terminal."""

    def __init__(self, console: Console, clock: Callable[[], float]) -> None:
        self._console = console
        self._clock = clock
        self._status_time = clock()
        self._rows = 0
        self._hypotheses: dict[str, str] = {}
        is_live = console.is_terminal and console.is_interactive and not os.environ.get("CI")
        self._live = Live(console=console, auto_refresh=False, transient=True) if is_live else None

    def start(self) -> None:
        if self._live:
            self._try(self._live.start)

    def stop(self) -> None:
        if self._live:
            self._try(self._live.stop)

    def update_status(self, parts: Mapping[str, str], losses: Sequence[float]) -> None:
        """Show the status: in place on a terminal, elsewhere as a line from time to time."""
        since_last = self._clock() - self._status_time
        if since_last < (REDRAW_INTERVAL if self._live else PLAIN_INTERVAL):
            return
        self._status_time = self._clock()
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
        """Print a line."""
        self._print(Text(f"  {text}"))

    def print_validation(self, cells: Mapping[str, str], best: bool) -> None:
        """Print a row of metrics, under its titles from time to time."""
        if self._rows % ROWS_PER_TITLE == 0:
            self._print(Text(_aligned(METRIC_TITLES.get(name, name) for name in cells), style="dim"))
        self._rows += 1
        row = Text(_aligned(cells.values()))
        self._print(row.append("  best", style="bold green") if best else row)

    def print_sample(self, sample: ValidationSample, titles: tuple[str, str, str]) -> None:
        """Print a validation sample; words that changed since it was printed last are highlighted."""
        before = self._hypotheses.get(sample.source)
        self._hypotheses[sample.source] = sample.hypothesis
        hypothesis = highlight_changes(
            before and sanitize_for_display(before), sanitize_for_display(sample.hypothesis)
        )
        fixed = (Text(sanitize_for_display(text), style="dim") for text in (sample.source, sample.reference))
        for title, text in zip(titles, (*fixed, hypothesis), strict=True):
            label = Text(f"{'':{SAMPLE_INDENT}}{title:<12}", style="dim")
            text.truncate(max(8, self._console.width - len(label)), overflow="ellipsis")
            self._print(Text.assemble(label, text))

    def _print(self, text: Text) -> None:
        self._try(self._console.print, text, soft_wrap=True)

    def _try(self, show: Callable[..., None], *args: object, **kwargs: object) -> None:
        """Print nothing more after an error: a broken pipe must not end a training."""
        try:
            show(*args, **kwargs)
        except (OSError, SystemExit):  # rich raises SystemExit for a broken pipe
            self._console, self._live = Console(quiet=True), None


def fit_status_line(parts: Mapping[str, str], losses: Sequence[float], width: int) -> str:
    """Join the parts that fit into the width, and a sparkline of the losses if there is space left."""
    fitting = dict(parts)
    for name in DROP_ORDER:
        if len("  ".join(fitting.values())) <= width:
            break
        fitting.pop(name, None)
    text = "  ".join(fitting.values())
    sparkline_width = min(width - len(text) - 2, SPARKLINE_WIDTH)
    return f"{text}  {sparkline(losses[-sparkline_width:])}" if losses and sparkline_width >= 6 else text


def sparkline(values: Sequence[float]) -> str:
    """Return a bar for each value, scaled from the lowest to the highest; a blank where it is not finite."""
    finite = [value for value in values if math.isfinite(value)]
    low, span = min(finite, default=0.0), max(finite, default=0.0) - min(finite, default=0.0)
    bars = (round((value - low) / span * (len(SPARKLINE_BARS) - 1)) if span else 0 for value in finite)
    return "".join(SPARKLINE_BARS[next(bars)] if math.isfinite(value) else " " for value in values)


def highlight_changes(before: str | None, now: str) -> Text:
    """Return `now` with the words that are not in `before` in colour."""
    return Text(" ").join(Text(word, style="green" if new else "") for word, new in diff_words(before, now))


def format_three_digits(value: float) -> str:
    """Format a number with three significant digits: 2.31, 0.0412, 12,345."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:#.3g}"


def format_thousands(value: float) -> str:
    """Format a number as 48.2k or 1.3M."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.1f}{letter}"
    return f"{value:.0f}"


def format_elapsed(seconds: float) -> str:
    """Format a duration as 3:12 or 1:03:12."""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def _aligned(cells: Iterable[str]) -> str:
    return "  " + "".join(f"{cell:>{COLUMN_WIDTH}}" for cell in cells)
