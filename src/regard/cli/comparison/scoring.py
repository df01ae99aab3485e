"""What `regard score` shares between one and several systems: metrics, line counts, progress, titles."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from regard.errors import DataError

if TYPE_CHECKING:
    from regard.metrics.translation import MetricName, SentenceTer

METRIC_TITLES = {
    "bleu": "BLEU",
    "bleu_lower": "BLEU, lower-case",
    "chrf": "chrF",
    "chrf_lower": "chrF, lower-case",
    "ter": "TER, lower is better",
    "bleu_tokenised_lower": "BLEU, tokenised lower-case",
    "comet": "COMET",
}
SHORT_TITLES = {
    "bleu": "BLEU",
    "bleu_lower": "BLEU lc",
    "chrf": "chrF",
    "chrf_lower": "chrF lc",
    "ter": "TER",
    "bleu_tokenised_lower": "BLEU tok lc",
    "comet": "COMET",
}
SIGNIFICANCE_LEVEL = 0.05
DEFAULT_METRICS: "tuple[MetricName, ...]" = ("bleu", "chrf", "ter")


def parse_metrics(text: str) -> "tuple[MetricName, ...]":
    """Parse the value of --metrics: names with commas between them."""
    names = text.split(",")
    chosen: tuple[MetricName, ...] = tuple(name for name in DEFAULT_METRICS if name in names)
    if len(chosen) < len(names):
        raise argparse.ArgumentTypeError(
            f"{text[:40]!r} must be some of {','.join(DEFAULT_METRICS)}, each once, with commas between them"
        )
    return chosen


class TestSetLines(NamedTuple):
    """A file and its number of lines, which every other file of the test set must have."""

    path: Path
    lines: int

    def read_matching(self, path: Path) -> list[str]:
        """Return the lines of another file; raise an error if their number differs."""
        from regard.text.corpus_files import read_sentences

        lines = read_sentences(path)
        if len(lines) != self.lines:
            raise DataError(
                f"{path} has {len(lines)} lines and {self.path} {self.lines}; they must match line by line"
            )
        return lines


@contextmanager
def ter_progress(sentences: int) -> "Iterator[SentenceTer]":
    """Yield the metric TER for so many sentences; on a terminal it shows its progress."""
    from rich.console import Console
    from rich.progress import Progress

    from regard.metrics.translation import SentenceTer

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("TER", total=sentences)
        yield SentenceTer(lambda done: progress.advance(bar, done))
