"""What can be wrong with labelled texts, beside what can be wrong with any line."""

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from regard.corpus import findings
from regard.corpus.dedup import HashFile, KnownHashes, find_conflicts, find_duplicates
from regard.corpus.findings import (
    CONTROL_CHARACTERS,
    NOT_UTF8,
    NUL_CHARACTER,
    CorpusReport,
    Finding,
    FindingKind,
)
from regard.corpus.scan import CorpusScan, RowFindingKinds, find_unprintable, int64_view
from regard.errors import require_setting
from regard.text.compression import ChunkCallback
from regard.text.corpus_files import HEADER_ROW, LabelledFiles, normalize_text

ONE_LABEL = FindingKind(
    "one label",
    "fatal",
    "every text has the same label",
    "give texts of at least two labels",
)
TOO_MANY_LABELS = FindingKind(
    "too many labels",
    "fatal",
    "nearly every line has a label of its own",
    "put the label first, label<TAB>text, or say in a first line text<TAB>label that it comes last",
)
HEADER_LINE = FindingKind("header", "note", "the first line names the columns", "nothing", excludes_line=True)
MALFORMED_LABELLED_TEXT = FindingKind(
    "no label",
    "bad",
    "not two columns with a tab between them, or not JSON with label and text",
    "mend it or leave it out",
    excludes_line=True,
)
BLANK_TEXT_OR_LABEL = FindingKind(
    "blank", "bad", "a text without a label, or the reverse", "leave it out", excludes_line=True
)
LONG_TEXT = FindingKind(
    "long text", "bad", "far longer than what one label is for", "split it up", excludes_line=True
)
LONG_LABEL = FindingKind(
    "long label", "bad", "a label should be a word or two", "look whether it is a text", excludes_line=True
)
SHARED_TEXT = FindingKind(
    "shared",
    "bad",
    "its text is in the other corpus too",
    "leave it out, or the test measures memory",
    excludes_line=True,
)
CONFLICTING_LABELS = FindingKind(
    "conflict",
    "bad",
    "the same text has another label elsewhere",
    "decide for one: it is learned from both ways",
)
RARE_LABEL = FindingKind(
    "rare label", "note", "too few texts to learn it from, or to measure it by", "find more, or merge it"
)
LABEL_IMBALANCE = FindingKind(
    "imbalance",
    "note",
    "the most frequent label has many times as many texts as the rarest",
    "look at macro F1 beside accuracy, which the frequent one decides",
)
DUPLICATE_TEXT = FindingKind(
    "duplicate", "note", "the same text and label as an earlier one", "harmless unless there are very many"
)

LABELLED_ROW_KINDS = RowFindingKinds(
    (
        HEADER_LINE,
        MALFORMED_LABELLED_TEXT,
        NOT_UTF8,
        BLANK_TEXT_OR_LABEL,
        NUL_CHARACTER,
        CONTROL_CHARACTERS,
        LONG_TEXT,
        LONG_LABEL,
        SHARED_TEXT,
    ),
    malformed=MALFORMED_LABELLED_TEXT,
    shared=SHARED_TEXT,
    noun="text",
)


NO_HASHES: KnownHashes = np.zeros(0, np.int64)
MAX_LISTED_LABELS = 8  # labels that a finding names


@dataclass(frozen=True)
class LabelCheckConfig:
    """Where labelled texts begin to be odd."""

    max_length: int = 20_000
    """Characters; a longer text is a book."""
    max_label_length: int = 100
    """Characters; a longer label is a text."""
    min_texts_per_label: int = 5
    """A label of fewer texts cannot be learned, nor measured."""
    max_imbalance: float = 10.0
    """How many times as many texts one label may have as another before it is said."""
    max_labels_per_text: float = 0.5
    """Labels for each text, on average, from which on they cannot be labels..."""
    label_limit_from: int = 20
    """...if there are so many."""

    def __post_init__(self) -> None:
        for name in (
            "max_length",
            "max_label_length",
            "min_texts_per_label",
            "max_imbalance",
            "label_limit_from",
        ):
            require_setting(
                getattr(self, name) >= 1, f"check.{name}", getattr(self, name), "it must be at least 1"
            )
        require_setting(
            0 < self.max_labels_per_text <= 1,
            "check.max_labels_per_text",
            self.max_labels_per_text,
            "it must be above 0 and at most 1",
        )


DEFAULT_LABEL_CHECKS = LabelCheckConfig()


def check_labelled_corpus(
    corpus: LabelledFiles,
    settings: LabelCheckConfig = DEFAULT_LABEL_CHECKS,
    against: LabelledFiles | None = None,
    on_chunk: ChunkCallback | None = None,
    hashes: HashFile | None = None,
) -> CorpusReport:
    """What is wrong with labelled texts; raises only if a file cannot be read.

    `against` is another corpus, such as the test set, that must share no text with this one. `hashes` is
    filled with two for every line: of the text, and of the text with its label.
    """
    if hashes is None:
        with HashFile() as own:
            return check_labelled_corpus(corpus, settings, against, on_chunk, own)
    judge = _LabelledRowCheck(settings)
    known = None if against is None else (_known_text_hashes(against, on_chunk), NO_HASHES)
    patient = CorpusScan(LABELLED_ROW_KINDS, judge, hashes, known)
    patient.scan(corpus.read_rows(on_chunk))
    names = tuple(map(str, corpus.files))
    fatal = patient.fatal_findings(names) or _unusable_label_findings(corpus.name, judge.labels, settings)
    noted = [
        *_line_finding(CONFLICTING_LABELS, find_conflicts(hashes.read())),
        *_label_balance_findings(judge.labels, settings),
    ]
    noted += _line_finding(DUPLICATE_TEXT, find_duplicates(hashes.read()))
    return CorpusReport(
        names, *patient.line_counts, (*fatal, *patient.row_findings, *noted), dict(judge.labels.most_common())
    )


def check_labelled_text(
    text: bytes, label: bytes, settings: LabelCheckConfig = DEFAULT_LABEL_CHECKS
) -> tuple[str, str] | FindingKind:
    """Text and label as training sees them, or the first reason why it should not."""
    try:
        raw = text.decode("utf-8"), label.decode("utf-8")
    except UnicodeDecodeError:
        return findings.NOT_UTF8
    a, b = normalize_text(raw[0]), normalize_text(raw[1])
    if not a or not b:
        return BLANK_TEXT_OR_LABEL
    if (unprintable := find_unprintable(*raw)) is not None:
        return unprintable
    if len(a) > settings.max_length:
        return LONG_TEXT
    return LONG_LABEL if len(b) > settings.max_label_length else (a, b)


@dataclass
class _LabelledRowCheck:
    """Judges line after line, and counts the labels of the good."""

    settings: LabelCheckConfig
    labels: Counter[str] = field(default_factory=Counter)
    has_started: bool = False

    def __call__(self, text: bytes, label: bytes) -> tuple[int, int] | FindingKind:
        first, self.has_started = not self.has_started, True
        if first and (text, label) == HEADER_ROW:
            return HEADER_LINE
        verdict = check_labelled_text(text, label, self.settings)
        if isinstance(verdict, FindingKind):
            return verdict
        self.labels[verdict[1]] += 1
        return hash(verdict[0]), hash(verdict)


def _known_text_hashes(corpus: LabelledFiles, seen: ChunkCallback | None) -> KnownHashes:
    """The texts as sorted numbers."""
    found = array("q")
    for text, _ in corpus.read_rows(seen):
        if text is not None and (cleaned := normalize_text(text.decode("utf-8", errors="replace"))):
            found.append(hash(cleaned))
    return np.unique(int64_view(found))


def _unusable_label_findings(
    name: str, labels: Mapping[str, int], settings: LabelCheckConfig
) -> list[Finding]:
    texts = sum(labels.values())
    if len(labels) == 1:
        said = f"{name}: all {texts:,} texts have the label {next(iter(labels))}; there must be at least two"
        return [Finding(ONE_LABEL, texts, [], said)]
    if len(labels) >= max(settings.label_limit_from, settings.max_labels_per_text * texts):
        said = f"{name}: {len(labels):,} labels for {texts:,} texts; {TOO_MANY_LABELS.remedy}"
        return [Finding(TOO_MANY_LABELS, len(labels), [], said)]
    return []


def _label_balance_findings(labels: Mapping[str, int], settings: LabelCheckConfig) -> list[Finding]:
    """Labels that are too rare, and labels that outweigh others."""
    found = []
    if rare := sorted(label for label, count in labels.items() if count < settings.min_texts_per_label):
        said = f"fewer than {settings.min_texts_per_label} texts have {_join_labels(rare)}"
        found.append(Finding(RARE_LABEL, len(rare), [], said))
    most, least = (
        max(labels, key=labels.__getitem__, default=""),
        min(labels, key=labels.__getitem__, default=""),
    )
    if labels and labels[most] > settings.max_imbalance * labels[least]:
        said = f"{labels[most]:,} texts have the label {most}, and {labels[least]:,} the label {least}"
        found.append(Finding(LABEL_IMBALANCE, labels[most], [], said))
    return found


def _join_labels(labels: Sequence[str]) -> str:
    more = len(labels) - MAX_LISTED_LABELS
    return ", ".join(labels[:MAX_LISTED_LABELS]) + (f" and {more} more" if more > 0 else "")


def _line_finding(kind: FindingKind, lines: array) -> list[Finding]:
    return [Finding(kind, len(lines), lines)] if lines else []
