"""What `regard score` shares between one and several systems: metrics, line counts, progress, titles."""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from regard.errors import DataError

if TYPE_CHECKING:
    from regard.metrics.comet import CometModel, CometScore
    from regard.metrics.compare import MetricComparison
    from regard.metrics.translation import MetricName, SentenceTer, TranslationScore

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


class TestSet(NamedTuple):
    """References, and what is computed with them."""

    references: list[list[str]]
    language: str | None
    """Of tokenised BLEU."""
    metrics: "Sequence[MetricName]"
    comet: "CometModel | None" = None
    sources: Sequence[str] = ()
    """For COMET."""
    device: str = "auto"

    def score(
        self, systems: Sequence[Sequence[str]], score_first: bool = True
    ) -> "tuple[list[dict[str, TranslationScore | CometScore]], list[dict[str, MetricComparison]]]":
        """Return the scores of each system's translations, and its differences from the first system.

        The first has no differences, and without `score_first` no scores either.
        """
        from regard.metrics.compare import compare_systems
        from regard.metrics.translation import score_translations

        scores: list[dict[str, TranslationScore | CometScore]] = [{} for _ in systems]
        differences: list[dict[str, MetricComparison]] = [{} for _ in systems]
        first = 0 if score_first else 1
        with ter_progress(sum(map(len, systems))) as ter:
            for number, texts in enumerate(systems[first:], start=first):
                scores[number] |= score_translations(texts, self.references, self.language, self.metrics, ter)
            if len(systems) > 1:
                differences[1:] = compare_systems(systems, self.references, self.metrics, ter)
        if self.comet is not None:
            self._add_comet(self.comet, systems, scores[first:], differences[1:])
        return scores, differences

    def _add_comet(
        self,
        comet: "CometModel",
        systems: Sequence[Sequence[str]],
        scores: "Sequence[dict[str, TranslationScore | CometScore]]",
        differences: "Sequence[dict[str, MetricComparison]]",
    ) -> None:
        from regard.metrics.comet import compare_comet

        sentences = comet.score_sentences(self.sources, systems, self.references[0], self.device)
        results = [comet.summarize(each, len(self.references)) for each in sentences]
        for each, result in zip(scores, results[-len(scores) :], strict=True):
            each["comet"] = result
        for each, values in zip(differences, sentences[1:], strict=True):
            each["comet"] = compare_comet(values, sentences[0], results[0].signature)


def format_score(name: str, score: float, sign: str = "") -> str:
    """Return a score with the usual number of digits: COMET is about 0.8, the others per cent."""
    return f"{score:{sign}.4f}" if name == "comet" else f"{score:{sign}.2f}"
