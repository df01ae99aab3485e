"""Labelled texts, from files to ids that lie ready: checked, held out, tokenized, kept for next time."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from regard.classification.run import LabelledDataConfig
from regard.corpus import label_checks
from regard.corpus.check import CheckedCorpora, CorpusChecker, HoldOutSpec, check_corpora
from regard.corpus.findings import FindingKind
from regard.corpus.prepare import (
    PreparedCorpora,
    TextPair,
    TokenizerSpec,
    add_too_long,
    count_files,
    hash_corpus_files,
    learn_corpus_tokenizer,
    length_histogram,
    open_cache,
    read_validation_texts,
    sample_evenly,
    sha256_by_path,
    tokenizer_sample_size,
)
from regard.corpus.progress import FileProgressBar
from regard.data.cache import DiskCache
from regard.data.mmap_store import open_pair_dataset, write_token_rows
from regard.data.pairs import PairDataset, concatenate_rows, single_corpus_dataset
from regard.data.tokenization import (
    NO_BPE_DROPOUT,
    BPEDropout,
    LongTextPolicy,
    NumberedPair,
    TokenizedPairs,
    tokenize_labelled_texts,
)
from regard.errors import ConfigError, DataError
from regard.text.corpus_files import HEADER_ROW, LabelledFiles
from regard.text.tokenizer import Tokenizer

MAX_NAMED_LABELS = 20
"""Labels that a message names."""
LABELLED_CHECKER = CorpusChecker[LabelledFiles](
    label_checks.DEFAULT_LABEL_CHECKS,
    lambda corpus, against, seen, hashes: label_checks.check_labelled_corpus(
        corpus, against=against, on_chunk=seen, hashes=hashes
    ),
    "texts",
    "--valid-labelled",
)


@dataclass(frozen=True)
class LabelledCorpora:
    """What a classifier learns from, and the labels that it learns."""

    corpora: PreparedCorpora
    labels: tuple[str, ...]
    """In order; a label's place is its number."""

    @property
    def label_counts(self) -> dict[str, int]:
        """Good texts of each label in the training files."""
        found = _label_counts(self.corpora.report["train"]["corpora"])
        return {label: found[label] for label in self.labels}


def prepare_labelled_corpora(
    data: LabelledDataConfig,
    vocab_size: int,
    max_length: int,
    seed: int,
    console: Console,
    tokenizer: Tokenizer | None = None,
) -> LabelledCorpora:
    """The corpora of a run, made ready, or found ready in the cache; refused if they cannot be learned from.

    Without a tokenizer one is learnt, from the training part alone.
    """
    corpora, valid = list_training_labelled_files(data), find_validation_labelled_files(data)
    cache = open_cache(data.cache, console)
    files = count_files([*corpora, *([] if valid is None else [valid])], cache, console)
    checked = check_corpora(
        corpora, valid, files, HoldOutSpec(data.held_out, seed), LABELLED_CHECKER, cache, console
    )
    if data.strict:
        checked.reject_bad_lines()
    labels = tuple(sorted(_label_counts(checked.reports)))
    sampled = tokenizer_sample_size(checked) if tokenizer is None else 0
    if tokenizer is None:
        how = TokenizerSpec(vocab_size, data.lowercase, sides=1, whole_words=data.pieces == "words")
        tokenizer = learn_corpus_tokenizer(checked, how, cache, console)
    dropout = BPEDropout(data.bpe_dropout, data.bpe_variants, seed) if data.bpe_dropout else NO_BPE_DROPOUT
    cutting = LabelledTokenization(tokenizer, labels, max_length - 1, data.long, dropout)
    train, facts = _tokenize_training_texts(checked, cutting, cache, console)
    texts, unusable = checked.held_out, {}
    if valid is not None:
        texts, unusable = read_validation_texts(valid, _check_validation_text, "text", data.strict)
        reject_unknown_labels(valid.name, texts, labels)
    before = len(texts)
    valid_ids, texts = _tokenize_validation_texts(texts, cutting)
    return LabelledCorpora(
        PreparedCorpora(
            train,
            valid_ids,
            texts,
            tokenizer,
            valid is None,
            sha256_by_path(corpora, files),
            sha256_by_path(corpora if valid is None else [valid], files),
            {
                "train": {
                    "pairs": len(train),
                    "left_out": add_too_long(checked.left_out, facts["long"].get("dropped", 0), max_length),
                    "long": facts["long"],
                    "longest": cutting.max_length,
                    "corpora": list(checked.reports),
                },
                "valid": {
                    "pairs": len(valid_ids),
                    "left_out": add_too_long(unusable, before - len(texts), max_length),
                },
                "sampled": sampled,
                "lengths": facts["lengths"],
            },
            unit="texts",
        ),
        labels,
    )


@dataclass(frozen=True)
class LabelledTokenization:
    """How texts become ids, and labels numbers."""

    tokenizer: Tokenizer
    labels: tuple[str, ...]
    max_length: int
    long_policy: LongTextPolicy
    dropout: BPEDropout = NO_BPE_DROPOUT

    def __call__(self, texts: Sequence[NumberedPair], first_index: int = 0) -> TokenizedPairs:
        numbers = {label: number for number, label in enumerate(self.labels)}
        return tokenize_labelled_texts(
            texts, self.tokenizer, numbers, self.max_length, self.long_policy, self.dropout, first_index
        )


def hash_labelled_files(data: LabelledDataConfig, console: Console) -> dict[str, str]:
    """The SHA-256 of every file of the run, known before anything is made of them."""
    return hash_corpus_files(
        list_training_labelled_files(data), find_validation_labelled_files(data), data.cache, console
    )


def list_training_labelled_files(data: LabelledDataConfig) -> list[LabelledFiles]:
    two = [LabelledFiles(Path(a), Path(b)) for a, b in zip(data.texts, data.labels, strict=True)]
    found = [LabelledFiles(Path(path)) for path in data.labelled] + two
    if not found:
        raise ConfigError(
            "there is nothing to train on; give --labelled FILE, or --texts FILE and --labels FILE, "
            "or set them under [data]"
        )
    return found


def find_validation_labelled_files(data: LabelledDataConfig) -> LabelledFiles | None:
    if data.valid_labelled is not None:
        return LabelledFiles(Path(data.valid_labelled))
    if data.valid_texts is not None and data.valid_labels is not None:
        return LabelledFiles(Path(data.valid_texts), Path(data.valid_labels))
    return None


def read_labelled_texts(
    files: LabelledFiles, labels: Sequence[str]
) -> tuple[tuple[TextPair, ...], dict[str, int]]:
    """What a model that knows these labels is measured on, and how much could not be used, by reason."""
    texts, unusable = read_validation_texts(files, _check_validation_text, "text", strict=False)
    reject_unknown_labels(files.name, texts, labels)
    return texts, unusable


def reject_unknown_labels(name: str, texts: Sequence[TextPair], labels: Sequence[str]) -> None:
    """A label that was not learnt can never be given: whoever asks for it has the wrong file, or columns."""
    if unknown := sorted({label for _, label in texts}.difference(labels)):
        raise DataError(
            f"{name} has labels that are not in the training files: {_join_labels(unknown)}; "
            f"those are {_join_labels(labels)}"
        )


def _join_labels(labels: Sequence[str]) -> str:
    more = f" and {len(labels) - MAX_NAMED_LABELS} more" if len(labels) > MAX_NAMED_LABELS else ""
    return ", ".join(labels[:MAX_NAMED_LABELS]) + more


def _label_counts(reports: Sequence[Mapping[str, Any]]) -> Counter[str]:
    return sum((Counter(report["labels"]) for report in reports), Counter())


def _check_validation_text(text: bytes | None, label: bytes | None) -> TextPair | FindingKind:
    if text is None or label is None:
        return label_checks.MALFORMED_LABELLED_TEXT
    if (text, label) == HEADER_ROW:
        return label_checks.HEADER_LINE
    return label_checks.check_labelled_text(text, label)


def _tokenize_training_texts(
    checked: CheckedCorpora, cutting: LabelledTokenization, cache: DiskCache, console: Console
) -> tuple[PairDataset, dict[str, Any]]:
    """The training texts as ids, and what is known of them: their lengths, what became of too long ones."""
    dropout, weights = cutting.dropout, (1.0,) * len(checked.corpora)

    def fill(place: Path) -> dict[str, Any]:
        with FileProgressBar(
            "tokenizing", [file for each in checked.corpora for file in each.files], console
        ) as seen:
            corpora = [checked.read_texts(corpus, seen) for corpus in range(len(checked.corpora))]
            most = max(cutting.tokenizer.vocab_size, len(cutting.labels))
            facts = write_token_rows(place, corpora, cutting, most, cutting.max_length, dropout.variants)
        cache.reject_changed_files(checked.file_facts)
        if not any(facts["sizes"]):
            raise DataError(
                f"every text is longer than model.max_length = {cutting.max_length + 1} pieces; set a larger one"
            )
        texts = open_pair_dataset(place, facts, weights)
        some = texts.source.lengths_of(sample_evenly(texts.source))
        return {**facts, "lengths": {"source": length_histogram(some)}}

    made_from = {
        "format": 1,
        "kind": "labelled",
        "text": checked.key,
        "pieces": cutting.tokenizer.fingerprint,
        "longest": cutting.max_length,
        "long": cutting.long_policy,
        "dropout": asdict(dropout),
    }
    path, facts = cache.get_or_create("ids", made_from, fill)
    return open_pair_dataset(path, facts, weights), facts


def _tokenize_validation_texts(
    texts: Sequence[TextPair], cutting: LabelledTokenization
) -> tuple[PairDataset, tuple[TextPair, ...]]:
    """What is validated on, as ids and as text; cut off where it is too long, or left out."""
    plain = LabelledTokenization(cutting.tokenizer, cutting.labels, cutting.max_length, cutting.long_policy)
    found = plain(list(enumerate(texts, start=1)))
    if not found.source:
        raise DataError(
            f"every validation text is longer than model.max_length = {cutting.max_length + 1} pieces; "
            "set a larger one"
        )
    kept = tuple(texts[line - 1] for line in found.line_numbers)
    return single_corpus_dataset(concatenate_rows(found.source), concatenate_rows(found.target)), kept
