"""What can be wrong with labelled texts, beside what can be wrong with any line."""

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from regard.corpus import findings
from regard.corpus.dedup import HashFile, Known, conflicts, repeats
from regard.corpus.findings import CONTROL, NOT_UTF8, NUL, Finding, Kind, Report
from regard.corpus.scan import Examination, Kinds, no_print, numbers
from regard.errors import require
from regard.text.compression import Seen
from regard.text.corpus_files import HEADER, LabelledFiles, clean

ONE_LABEL = Kind(
    "one label",
    "fatal",
    "every text has the same label",
    "give texts of at least two labels",
)
TOO_MANY = Kind(
    "too many labels",
    "fatal",
    "nearly every line has a label of its own",
    "put the label first, label<TAB>text, or say in a first line text<TAB>label that it comes last",
)
HEADER_ROW = Kind("header", "note", "the first line names the columns", "nothing", leaves_out=True)
NO_LABEL = Kind(
    "no label",
    "bad",
    "not two columns with a tab between them, or not JSON with label and text",
    "mend it or leave it out",
    leaves_out=True,
)
BLANK = Kind("blank", "bad", "a text without a label, or the reverse", "leave it out", leaves_out=True)
LONG = Kind("long text", "bad", "far longer than what one label is for", "split it up", leaves_out=True)
LONG_LABEL = Kind(
    "long label", "bad", "a label should be a word or two", "look whether it is a text", leaves_out=True
)
SHARED = Kind(
    "shared",
    "bad",
    "its text is in the other corpus too",
    "leave it out, or the test measures memory",
    leaves_out=True,
)
CONFLICT = Kind(
    "conflict",
    "bad",
    "the same text has another label elsewhere",
    "decide for one: it is learned from both ways",
)
RARE = Kind(
    "rare label", "note", "too few texts to learn it from, or to measure it by", "find more, or merge it"
)
IMBALANCE = Kind(
    "imbalance",
    "note",
    "the most frequent label has many times as many texts as the rarest",
    "look at macro F1 beside accuracy, which the frequent one decides",
)
DUPLICATE = Kind(
    "duplicate", "note", "the same text and label as an earlier one", "harmless unless there are very many"
)

LABEL_KINDS = Kinds(
    (HEADER_ROW, NO_LABEL, NOT_UTF8, BLANK, NUL, CONTROL, LONG, LONG_LABEL, SHARED),
    missing=NO_LABEL,
    shared=SHARED,
    noun="text",
)


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
    patient = Examination(LABEL_KINDS, judge, hashes, known)
    patient.read(corpus.rows(seen))
    names = tuple(map(str, corpus.files))
    fatal = patient.fatal(names) or _unlearnable(corpus.name, judge.labels, settings)
    noted = [*_lines(CONFLICT, conflicts(hashes.pairs())), *_uneven(judge.labels, settings)]
    noted += _lines(DUPLICATE, repeats(hashes.pairs()))
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
        return BLANK
    if (unprintable := no_print(*raw)) is not None:
        return unprintable
    if len(a) > settings.longest:
        return LONG
    return LONG_LABEL if len(b) > settings.longest_label else (a, b)


@dataclass
class _Judge:
    """Judges line after line, and counts the labels of the good."""

    settings: LabelDoctorConfig
    labels: Counter[str] = field(default_factory=Counter)
    begun: bool = False

    def __call__(self, text: bytes, label: bytes) -> tuple[int, int] | Kind:
        first, self.begun = not self.begun, True
        if first and (text, label) == HEADER:
            return HEADER_ROW
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
        return [Finding(ONE_LABEL, texts, [], said)]
    if len(labels) >= max(settings.most_from, settings.most * texts):
        said = f"{name}: {len(labels):,} labels for {texts:,} texts; {TOO_MANY.remedy}"
        return [Finding(TOO_MANY, len(labels), [], said)]
    return []


def _uneven(labels: Mapping[str, int], settings: LabelDoctorConfig) -> list[Finding]:
    """Labels that are too rare, and labels that outweigh others."""
    found = []
    if rare := sorted(label for label, count in labels.items() if count < settings.rare):
        said = f"fewer than {settings.rare} texts have {_listed(rare)}"
        found.append(Finding(RARE, len(rare), [], said))
    most, least = (
        max(labels, key=labels.__getitem__, default=""),
        min(labels, key=labels.__getitem__, default=""),
    )
    if labels and labels[most] > settings.imbalance * labels[least]:
        said = f"{labels[most]:,} texts have the label {most}, and {labels[least]:,} the label {least}"
        found.append(Finding(IMBALANCE, labels[most], [], said))
    return found


def _listed(labels: Sequence[str]) -> str:
    more = len(labels) - LISTED
    return ", ".join(labels[:LISTED]) + (f" and {more} more" if more > 0 else "")


def _lines(kind: Kind, lines: array) -> list[Finding]:
    return [Finding(kind, len(lines), lines)] if lines else []
