"""The doctor for labelled texts: one pass, and everything that is wrong with them, by line number."""

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from regard.errors import require
from regard.text import findings, label_findings
from regard.text.corpus import clean
from regard.text.examination import Examination, numbers
from regard.text.findings import Finding, Kind, Report
from regard.text.hashes import HashFile, Known, conflicts, repeats
from regard.text.labelled import HEADER, LabelledFiles
from regard.text.unpack import Seen
from regard.text.unprintable import no_print

NOBODY: Known = np.zeros(0, np.int64)
LISTED = 8  # labels that a finding names


@dataclass(frozen=True)
class LabelDoctorConfig:
    """Where labelled texts begin to be odd."""

    longest: int = 20_000
    """Characters; a longer text is a book."""
    longest_label: int = 100
    """Characters; a longer label is a text."""
    rare: int = 5
    """A label of fewer texts cannot be learned, nor measured."""
    imbalance: float = 10.0
    """How many times as many texts one label may have as another before it is said."""
    most: float = 0.5
    """Labels for each text, on average, from which on they cannot be labels..."""
    most_from: int = 20
    """...if there are so many."""

    def __post_init__(self) -> None:
        for name in ("longest", "longest_label", "rare", "imbalance", "most_from"):
            require(getattr(self, name) >= 1, f"doctor.{name}", getattr(self, name), "it must be at least 1")
        require(0 < self.most <= 1, "doctor.most", self.most, "it must be above 0 and at most 1")


DEFAULT = LabelDoctorConfig()


def examine_labelled(
    corpus: LabelledFiles,
    settings: LabelDoctorConfig = DEFAULT,
    against: LabelledFiles | None = None,
    seen: Seen | None = None,
    hashes: HashFile | None = None,
) -> Report:
    """What is wrong with labelled texts; raises only if a file cannot be read.

    `against` is another corpus, such as the test set, that must share no text with this one. `hashes` is
    filled with two for every line: of the text, and of the text with its label.
    """
    if hashes is None:
        with HashFile() as own:
            return examine_labelled(corpus, settings, against, seen, own)
    judge = _Judge(settings)
    known = None if against is None else (_known(against, seen), NOBODY)
    patient = Examination(label_findings.LABEL_KINDS, judge, hashes, known)
    patient.read(corpus.rows(seen))
    names = tuple(map(str, corpus.files))
    fatal = patient.fatal(names) or _unlearnable(corpus.name, judge.labels, settings)
    noted = [*_lines(label_findings.CONFLICT, conflicts(hashes.pairs())), *_uneven(judge.labels, settings)]
    noted += _lines(label_findings.DUPLICATE, repeats(hashes.pairs()))
    return Report(names, *patient.lines, (*fatal, *patient.bad, *noted), dict(judge.labels.most_common()))


def judge_labelled(
    text: bytes, label: bytes, settings: LabelDoctorConfig = DEFAULT
) -> tuple[str, str] | Kind:
    """Text and label as training sees them, or the first reason why it should not."""
    try:
        raw = text.decode("utf-8"), label.decode("utf-8")
    except UnicodeDecodeError:
        return findings.NOT_UTF8
    a, b = clean(raw[0]), clean(raw[1])
    if not a or not b:
        return label_findings.BLANK
    if (unprintable := no_print(*raw)) is not None:
        return unprintable
    if len(a) > settings.longest:
        return label_findings.LONG
    return label_findings.LONG_LABEL if len(b) > settings.longest_label else (a, b)


@dataclass
class _Judge:
    """Judges line after line, and counts the labels of the good."""

    settings: LabelDoctorConfig
    labels: Counter[str] = field(default_factory=Counter)
    begun: bool = False

    def __call__(self, text: bytes, label: bytes) -> tuple[int, int] | Kind:
        first, self.begun = not self.begun, True
        if first and (text, label) == HEADER:
            return label_findings.HEADER
        verdict = judge_labelled(text, label, self.settings)
        if isinstance(verdict, Kind):
            return verdict
        self.labels[verdict[1]] += 1
        return hash(verdict[0]), hash(verdict)


def _known(corpus: LabelledFiles, seen: Seen | None) -> Known:
    """The texts as sorted numbers."""
    found = array("q")
    for text, _ in corpus.rows(seen):
        if text is not None and (cleaned := clean(text.decode("utf-8", errors="replace"))):
            found.append(hash(cleaned))
    return np.unique(numbers(found))


def _unlearnable(name: str, labels: Mapping[str, int], settings: LabelDoctorConfig) -> list[Finding]:
    texts = sum(labels.values())
    if len(labels) == 1:
        said = f"{name}: all {texts:,} texts have the label {next(iter(labels))}; there must be at least two"
        return [Finding(label_findings.ONE_LABEL, texts, [], said)]
    if len(labels) >= max(settings.most_from, settings.most * texts):
        said = f"{name}: {len(labels):,} labels for {texts:,} texts; {label_findings.TOO_MANY.remedy}"
        return [Finding(label_findings.TOO_MANY, len(labels), [], said)]
    return []


def _uneven(labels: Mapping[str, int], settings: LabelDoctorConfig) -> list[Finding]:
    """Labels that are too rare, and labels that outweigh others."""
    found = []
    if rare := sorted(label for label, count in labels.items() if count < settings.rare):
        said = f"fewer than {settings.rare} texts have {_listed(rare)}"
        found.append(Finding(label_findings.RARE, len(rare), [], said))
    most, least = (
        max(labels, key=labels.__getitem__, default=""),
        min(labels, key=labels.__getitem__, default=""),
    )
    if labels and labels[most] > settings.imbalance * labels[least]:
        said = f"{labels[most]:,} texts have the label {most}, and {labels[least]:,} the label {least}"
        found.append(Finding(label_findings.IMBALANCE, labels[most], [], said))
    return found


def _listed(labels: Sequence[str]) -> str:
    more = len(labels) - LISTED
    return ", ".join(labels[:LISTED]) + (f" and {more} more" if more > 0 else "")


def _lines(kind: Kind, lines: array) -> list[Finding]:
    return [Finding(kind, len(lines), lines)] if lines else []
