"""Checks of labelled texts: encoding, lengths, label counts, conflicts, duplicates and overlap."""

import shlex
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from regard.config import check_ranges, setting
from regard.corpus.dedup import HashFile, KnownHashes, find_conflicts, find_duplicates
from regard.corpus.findings import (
    NOT_UTF8,
    NUL_CHARACTER,
    CorpusReport,
    Finding,
    FindingKind,
)
from regard.corpus.scan import CorpusScan, NotedRow, RowFindingKinds, int64_view
from regard.errors import require_setting
from regard.text.compression import ChunkCallback
from regard.text.labelled_files import (
    CONTROL_CHARACTERS,
    HEADER_ROW,
    LabelledFiles,
    clean_label,
    clean_text,
)

ONE_LABEL = FindingKind(
    "one label",
    "fatal",
    "every text has the same label",
    "give texts of at least two labels",
)
TOO_MANY_LABELS = FindingKind(
    "too many labels",
    "fatal",
    "nearly every line has a different label",
    "if these are the texts, name the other column with --label-column, by its name or number",
)
POSSIBLE_HEADER = FindingKind(
    "header?",
    "fatal",
    "no other line has the label of the first line, which may name the columns",
    "answer with --label-column",
)
HEADER_LINE = FindingKind(
    "header", "note", "the first line names the columns", "nothing to do", excludes_line=True
)
MALFORMED_LABELLED_TEXT = FindingKind(
    "no label",
    "bad",
    "not a text and a label in the columns of the other rows, or not JSON with label and text",
    "correct or remove it",
    excludes_line=True,
)
BLANK_TEXT_OR_LABEL = FindingKind(
    "blank", "bad", "a text without a label, or the reverse", "remove it", excludes_line=True
)
LONG_TEXT = FindingKind(
    "long text", "note", "far longer than one label can describe", "the model reads its beginning"
)
CLEANED_CHARACTERS = FindingKind(
    "control characters",
    "note",
    "characters that print nothing",
    "nothing: each is read as a space, in training and in use",
)
LONG_LABEL = FindingKind(
    "long label", "bad", "a label should be a word or two", "check whether it is a text", excludes_line=True
)
SHARED_TEXT = FindingKind(
    "shared",
    "bad",
    "its text is also in the other corpus",
    "remove it, or the test measures memorization",
    excludes_line=True,
)
CONFLICTING_LABELS = FindingKind(
    "conflict",
    "bad",
    "the same text has another label elsewhere",
    "choose one label: both are used for training",
)
RARE_LABEL = FindingKind(
    "rare label",
    "note",
    "too few texts to learn or to evaluate it",
    "collect more, or merge it with another label",
)
LABEL_IMBALANCE = FindingKind(
    "imbalance",
    "note",
    "the most frequent label has many times as many texts as the rarest",
    "read macro F1 as well as accuracy, which the frequent label dominates",
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
        LONG_LABEL,
        SHARED_TEXT,
        LONG_TEXT,
        CLEANED_CHARACTERS,
    ),
    malformed=MALFORMED_LABELLED_TEXT,
    shared=SHARED_TEXT,
    noun="text",
)


NO_HASHES: KnownHashes = np.zeros(0, np.int64)
MAX_LISTED_LABELS = 8
"""Labels that a finding lists."""


@dataclass(frozen=True)
class LabelCheckConfig:
    """Thresholds of the checks of labelled texts."""

    max_length: int = setting(20_000, at_least=1, at_most=10**9)
    """In characters."""
    max_label_length: int = setting(100, at_least=1, at_most=10**9)
    """In characters; a longer label is a text."""
    min_texts_per_label: int = setting(5, at_least=1, at_most=10**9)
    """A label with fewer texts can neither be learned nor evaluated."""
    max_imbalance: float = setting(10.0, at_least=1, at_most=1000000000.0)
    """Ratio of the most frequent to the rarest label from which on it is reported."""
    max_labels_per_text: float = 0.5
    """Labels per text from which on they cannot be labels..."""
    label_limit_from: int = setting(20, at_least=1, at_most=10**9)
    """...if there are at least this many labels."""

    def __post_init__(self) -> None:
        check_ranges(self, "check")
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
    """Report the defects of labelled texts; raise an error only if a file cannot be read.

    `against` is another corpus, such as the test set, that must share no text with this one. `hashes`
    receives two hashes for every line: of the text, and of the text with its label.
    """
    if hashes is None:
        with HashFile() as own:
            return check_labelled_corpus(corpus, settings, against, on_chunk, own)
    row_check = _LabelledRowCheck(settings)
    known = None if against is None else (_known_text_hashes(against, on_chunk), NO_HASHES)
    scan = CorpusScan(LABELLED_ROW_KINDS, row_check, hashes, known)
    scan.scan(corpus.read_rows(on_chunk))
    names, labels = tuple(map(str, corpus.files)), row_check.labels
    findings = (
        *(
            scan.fatal_findings(names)
            or _possible_header_finding(corpus, row_check)
            or _unusable_label_findings(corpus.name, labels, settings)
        ),
        *scan.row_findings,
        *_line_finding(CONFLICTING_LABELS, find_conflicts(hashes.read())),
        *_label_balance_findings(labels, settings),
        *_line_finding(DUPLICATE_TEXT, find_duplicates(hashes.read())),
    )
    return CorpusReport(names, *scan.line_counts, findings, dict(labels.most_common()))


def check_labelled_text(
    text: bytes, label: bytes, settings: LabelCheckConfig = DEFAULT_LABEL_CHECKS
) -> tuple[str, str] | FindingKind:
    """Return text and label as training sees them, or the kind of the first defect."""
    try:
        raw = text.decode("utf-8"), label.decode("utf-8")
    except UnicodeDecodeError:
        return NOT_UTF8
    a, b = clean_text(raw[0]), clean_label(raw[1])
    if not a or not b:
        return BLANK_TEXT_OR_LABEL
    if "\0" in raw[0] or "\0" in raw[1]:
        return NUL_CHARACTER
    return LONG_LABEL if len(b) > settings.max_label_length else (a, b)


@dataclass
class _LabelledRowCheck:
    """Checks one line after the other, and counts the labels of the good ones."""

    settings: LabelCheckConfig
    labels: Counter[str] = field(default_factory=Counter)
    first_label: str | None = None
    """The label of the first line, if that is a good one."""
    has_started: bool = False

    def __call__(self, text: bytes, label: bytes) -> tuple[int, int] | NotedRow | FindingKind:
        is_first, self.has_started = not self.has_started, True
        if is_first and (text, label) == HEADER_ROW:
            return HEADER_LINE
        result = check_labelled_text(text, label, self.settings)
        if isinstance(result, FindingKind):
            return result
        self.labels[result[1]] += 1
        if is_first:
            self.first_label = result[1]
        hashes = hash(result[0]), hash(result)
        if len(result[0]) > self.settings.max_length:
            return NotedRow(LONG_TEXT, hashes)
        if has_control_characters(text) or has_control_characters(label):
            return NotedRow(CLEANED_CHARACTERS, hashes)
        return hashes


def has_control_characters(text: bytes) -> bool:
    """Return whether a valid text has characters that are read as spaces."""
    decoded = text.decode("utf-8")
    return not decoded.isprintable() and CONTROL_CHARACTERS.search(decoded) is not None


def _known_text_hashes(corpus: LabelledFiles, on_chunk: ChunkCallback | None) -> KnownHashes:
    """Return the sorted hashes of the texts."""
    hashes = array("q")
    for text, _ in corpus.read_rows(on_chunk):
        if text is not None and (cleaned := clean_text(text.decode("utf-8", errors="replace"))):
            hashes.append(hash(cleaned))
    return np.unique(int64_view(hashes))


def _possible_header_finding(corpus: LabelledFiles, row_check: "_LabelledRowCheck") -> list[Finding]:
    """Return a finding if only the first line has its label, and each other label comes again."""
    label, counts = row_check.first_label, row_check.labels
    if label is None or counts[label] > 1 or not corpus.may_have_header:
        return []
    if len(counts) == 1 or min(count for other, count in counts.items() if other != label) == 1:
        return []
    detail = (
        f"{corpus.name} line 1 has the label {label!r}, which no other line has; if it names the columns, "
        f"give --label-column {shlex.quote(label)}, and if it is a text like the others, --label-column 1"
    )
    return [Finding(POSSIBLE_HEADER, 1, [1], detail)]


def _unusable_label_findings(
    name: str, labels: Mapping[str, int], settings: LabelCheckConfig
) -> list[Finding]:
    texts = sum(labels.values())
    if len(labels) == 1:
        label = next(iter(labels))
        detail = f"{name}: all {texts:,} texts have the label {label}; there must be at least two labels"
        return [Finding(ONE_LABEL, texts, [], detail)]
    if len(labels) >= max(settings.label_limit_from, settings.max_labels_per_text * texts):
        detail = f"{name}: {len(labels):,} labels for {texts:,} texts; {TOO_MANY_LABELS.remedy}"
        return [Finding(TOO_MANY_LABELS, len(labels), [], detail)]
    return []


def _label_balance_findings(labels: Mapping[str, int], settings: LabelCheckConfig) -> list[Finding]:
    """Return findings about rare labels and label imbalance."""
    findings = []
    if rare := sorted(label for label, count in labels.items() if count < settings.min_texts_per_label):
        detail = f"fewer than {settings.min_texts_per_label} texts have {_join_labels(rare)}"
        findings.append(Finding(RARE_LABEL, len(rare), [], detail))
    most_frequent = max(labels, key=labels.__getitem__, default="")
    rarest = min(labels, key=labels.__getitem__, default="")
    if labels and labels[most_frequent] > settings.max_imbalance * labels[rarest]:
        counts = f"{labels[most_frequent]:,} texts have the label {most_frequent}, and {labels[rarest]:,}"
        detail = f"{counts} the label {rarest}"
        findings.append(Finding(LABEL_IMBALANCE, labels[most_frequent], [], detail))
    return findings


def _join_labels(labels: Sequence[str]) -> str:
    more = len(labels) - MAX_LISTED_LABELS
    return ", ".join(labels[:MAX_LISTED_LABELS]) + (f" and {more} more" if more > 0 else "")


def _line_finding(kind: FindingKind, lines: array) -> list[Finding]:
    return [Finding(kind, len(lines), lines)] if lines else []
