"""Labelled texts of a classification run: files, labels, validation and statistics for corpus preparation."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from regard.classification.run import LabelledDataConfig
from regard.corpus import label_checks
from regard.corpus.check import CheckedCorpora, CorpusChecker, HoldOutSpec, TextPair
from regard.corpus.findings import FindingKind
from regard.corpus.label_checks import HEADER_LINE
from regard.corpus.prepare import (
    PreparedCorpora,
    TokenizerSpec,
    hash_corpus_files,
    length_histogram,
    prepare_corpora,
    read_validation_texts,
    sample_evenly,
)
from regard.data.pairs import PairDataset, concatenate_rows, single_corpus_dataset
from regard.data.tokenization import NO_BPE_DROPOUT, BPEDropout, LabelledTokenization
from regard.errors import ConfigError, DataError
from regard.text.labelled_files import HEADER_ROW, LabelledFiles
from regard.text.tokenizer import Tokenizer

MAX_NAMED_LABELS = 20
"""Labels that an error lists."""
LABELLED_CHECKER = CorpusChecker[LabelledFiles](
    label_checks.DEFAULT_LABEL_CHECKS,
    lambda corpus, against, on_chunk, hashes: label_checks.check_labelled_corpus(
        corpus, against=against, on_chunk=on_chunk, hashes=hashes
    ),
    noun="text",
    validation_flag="--valid-labelled",
)


@dataclass(frozen=True)
class LabelledCorpora:
    """The data of a classification run, and its labels."""

    corpora: PreparedCorpora
    labels: tuple[str, ...]
    """Sorted; the index of a label is its id."""

    @property
    def label_counts(self) -> dict[str, int]:
        """The number of good training texts of each label."""
        counts = _label_counts(self.corpora.report["train"]["corpora"])
        return {label: counts[label] for label in self.labels}


def prepare_labelled_corpora(
    data: LabelledDataConfig,
    vocab_size: int,
    max_length: int,
    seed: int,
    console: Console,
    tokenizer: Tokenizer | None = None,
) -> LabelledCorpora:
    """Prepare the corpora of a run; see `prepare_corpora`."""
    corpora = prepare_corpora(LabelledCorpusReader(data, vocab_size, max_length, seed), console, tokenizer)
    return LabelledCorpora(corpora, _sorted_labels(corpora.report["train"]["corpora"]))


def hash_labelled_files(data: LabelledDataConfig, console: Console) -> dict[str, str]:
    """Return the SHA-256 of every file of the run without preparing it."""
    return hash_corpus_files(
        list_training_labelled_files(data), find_validation_labelled_files(data), data.cache, console
    )


def list_training_labelled_files(data: LabelledDataConfig) -> list[LabelledFiles]:
    """Return files of labelled texts first, then files of texts with their label files."""
    separate = [LabelledFiles(Path(a), Path(b)) for a, b in zip(data.texts, data.labels, strict=True)]
    columns = data.text_column, data.label_column
    corpora = [LabelledFiles(Path(path), None, *columns) for path in data.labelled] + separate
    if not corpora:
        raise ConfigError(
            "there is nothing to train on; give --labelled FILE, or --texts FILE and --labels FILE, "
            "or set them under [data]"
        )
    return corpora


def find_validation_labelled_files(data: LabelledDataConfig) -> LabelledFiles | None:
    """Return the validation files, if there are any."""
    if data.valid_labelled is not None:
        return LabelledFiles(
            Path(data.valid_labelled), text_column=data.text_column, label_column=data.label_column
        )
    if data.valid_texts is not None and data.valid_labels is not None:
        return LabelledFiles(Path(data.valid_texts), Path(data.valid_labels))
    return None


@dataclass(frozen=True)
class LabelledCorpusReader:
    """Labelled texts for `prepare_corpora`."""

    data: LabelledDataConfig
    vocab_size: int
    max_length: int
    seed: int
    """For BPE dropout."""

    @property
    def checker(self) -> CorpusChecker[LabelledFiles]:
        return LABELLED_CHECKER

    @property
    def weights(self) -> Sequence[float]:
        return ()

    @property
    def cache_folder(self) -> str | None:
        return self.data.cache

    @property
    def is_strict(self) -> bool:
        return self.data.strict

    @property
    def hold_out_spec(self) -> HoldOutSpec:
        return HoldOutSpec(self.data.held_out, self.data.split_seed)

    @property
    def tokenizer_spec(self) -> TokenizerSpec:
        whole_words = self.data.tokenizer == "words"
        return TokenizerSpec(self.vocab_size, self.data.lowercase, sides=1, whole_words=whole_words)

    def training_files(self) -> list[LabelledFiles]:
        return list_training_labelled_files(self.data)

    def validation_files(self) -> LabelledFiles | None:
        return find_validation_labelled_files(self.data)

    def check_validation_row(self, first: bytes | None, second: bytes | None) -> TextPair | FindingKind:
        return check_validation_text(first, second)

    def make_tokenization(self, checked: CheckedCorpora, tokenizer: Tokenizer) -> LabelledTokenization:
        data = self.data
        dropout = NO_BPE_DROPOUT
        if data.bpe_dropout:
            dropout = BPEDropout(data.bpe_dropout, data.bpe_variants, self.seed)
        labels = _sorted_labels(checked.reports)
        return LabelledTokenization(tokenizer, labels, self.max_length - 1, data.long, dropout)  # -1 for <s>

    def tokenize_validation(
        self, name: str, texts: Sequence[TextPair], tokenization: LabelledTokenization
    ) -> tuple[PairDataset, tuple[TextPair, ...], int]:
        """Return the ids and the texts that are used, cut off where they are too long or left out."""
        reject_unknown_labels(name, texts, tokenization.labels)
        tokenized = replace(tokenization, dropout=NO_BPE_DROPOUT)(list(enumerate(texts, start=1)))
        if not tokenized.source:
            raise DataError(
                f"every validation text is longer than model.max_length = {self.max_length} tokens; "
                "set a larger one"
            )
        dataset = single_corpus_dataset(
            concatenate_rows(tokenized.source), concatenate_rows(tokenized.target)
        )
        used = tuple(texts[line - 1] for line in tokenized.line_numbers)
        return dataset, used, len(texts) - len(used)

    def measure(self, train: PairDataset, tokenizer: Tokenizer) -> dict[str, Any]:  # noqa: ARG002
        """Return the length histogram of the texts."""
        lengths = train.source.lengths_of(sample_evenly(train.source))
        return {"lengths": {"source": length_histogram(lengths)}}


def read_labelled_texts(
    files: LabelledFiles, labels: Sequence[str]
) -> tuple[tuple[TextPair, ...], dict[str, int]]:
    """Return the texts that a model with these labels is evaluated on, and unusable lines by reason."""
    texts, unusable = read_validation_texts(files, check_validation_text, "text", is_strict=False)
    reject_unknown_labels(files.name, texts, labels)
    return texts, {reason: count for reason, count in unusable.items() if reason != HEADER_LINE.name}


def check_validation_text(text: bytes | None, label: bytes | None) -> TextPair | FindingKind:
    """Return text and label of a line, or the kind of its defect."""
    if text is None or label is None:
        return label_checks.MALFORMED_LABELLED_TEXT
    if (text, label) == HEADER_ROW:
        return HEADER_LINE
    return label_checks.check_labelled_text(text, label)


def reject_unknown_labels(name: str, texts: Sequence[TextPair], labels: Sequence[str]) -> None:
    """Raise an error if a label was not in the training files: the file or its columns are wrong."""
    if unknown := sorted({label for _, label in texts}.difference(labels)):
        raise DataError(
            f"{name} has labels that are not in the training files: {_join_labels(unknown)}; "
            f"those are {_join_labels(labels)}{_header_hint(unknown, texts)}"
        )


def _header_hint(unknown: Sequence[str], texts: Sequence[TextPair]) -> str:
    """Return the remedy if only the first line has an unknown label."""
    if list(unknown) != [texts[0][1]] or sum(label == unknown[0] for _, label in texts) > 1:
        return ""
    return f"; if line 1 names the columns, give --label-column {shlex.quote(unknown[0])}"


def _join_labels(labels: Sequence[str]) -> str:
    more = f" and {len(labels) - MAX_NAMED_LABELS} more" if len(labels) > MAX_NAMED_LABELS else ""
    return ", ".join(labels[:MAX_NAMED_LABELS]) + more


def _sorted_labels(reports: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(sorted(_label_counts(reports)))


def _label_counts(reports: Sequence[Mapping[str, Any]]) -> Counter[str]:
    return sum((Counter(report["labels"]) for report in reports), Counter())
