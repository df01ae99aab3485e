"""Labelled texts, from files to ids that lie ready: checked, held out, tokenized, kept for next time."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from regard.classification.config import LabelledConfig
from regard.corpus import label_checks
from regard.corpus.check import Checked, Doctor, Part, check
from regard.corpus.findings import Kind
from regard.corpus.prepare import (
    Corpora,
    Pieces,
    Text,
    chosen,
    count,
    every_fingerprint,
    fingerprint_of,
    histogram,
    open_cache,
    pieces,
    read_valid,
    sample_of,
    with_long,
)
from regard.corpus.progress import Bar
from regard.data.cache import Cache
from regard.data.mmap_store import open_pairs, write_rows
from regard.data.pairs import Pairs, flatten, unweighted
from regard.data.tokenization import (
    NO_DROPOUT,
    LongText,
    Numbered,
    PieceDropout,
    Tokenized,
    tokenize_labelled,
)
from regard.errors import ConfigError, DataError
from regard.text.corpus_files import HEADER, LabelledFiles
from regard.text.tokenizer import Tokenizer

LISTED = 20
"""Labels that a message names."""
DOCTOR = Doctor[LabelledFiles](
    label_checks.DEFAULT,
    lambda corpus, against, seen, hashes: label_checks.examine_labelled(
        corpus, against=against, seen=seen, hashes=hashes
    ),
    "texts",
    "--valid-labelled",
)


@dataclass(frozen=True)
class LabelledCorpora:
    """What a classifier learns from, and the labels that it learns."""

    corpora: Corpora
    labels: tuple[str, ...]
    """In order; a label's place is its number."""

    @property
    def counts(self) -> dict[str, int]:
        """Good texts of each label in the training files."""
        found = _label_counts(self.corpora.report["train"]["corpora"])
        return {label: found[label] for label in self.labels}


def prepare_labelled(
    data: LabelledConfig,
    vocab_size: int,
    max_length: int,
    seed: int,
    console: Console,
    tokenizer: Tokenizer | None = None,
) -> LabelledCorpora:
    """The corpora of a run, made ready, or found ready in the cache; refused if they cannot be learned from.

    Without a tokenizer one is learnt, from the training part alone.
    """
    corpora, valid = training_files(data), validation_files(data)
    cache = open_cache(data.cache, console)
    files = count([*corpora, *([] if valid is None else [valid])], cache, console)
    checked = check(corpora, valid, files, Part(data.held_out, seed), DOCTOR, cache, console)
    if data.strict:
        checked.refuse_bad()
    labels = tuple(sorted(_label_counts(checked.reports)))
    sampled = sample_of(checked) if tokenizer is None else 0
    if tokenizer is None:
        how = Pieces(vocab_size, data.lowercase, sides=1, words=data.pieces == "words")
        tokenizer = pieces(checked, how, cache, console)
    dropout = PieceDropout(data.bpe_dropout, data.bpe_variants, seed) if data.bpe_dropout else NO_DROPOUT
    cutting = Cutting(tokenizer, labels, max_length - 1, data.long, dropout)
    train, facts = _ids(checked, cutting, cache, console)
    texts, unusable = checked.held_out, {}
    if valid is not None:
        texts, unusable = read_valid(valid, _as_labelled, "text", data.strict)
        refuse_unknown(valid.name, texts, labels)
    before = len(texts)
    valid_ids, texts = _fitting(texts, cutting)
    return LabelledCorpora(
        Corpora(
            train,
            valid_ids,
            texts,
            tokenizer,
            valid is None,
            fingerprint_of(corpora, files),
            fingerprint_of(corpora if valid is None else [valid], files),
            {
                "train": {
                    "pairs": len(train),
                    "left_out": with_long(checked.left_out, facts["long"].get("dropped", 0), max_length),
                    "long": facts["long"],
                    "longest": cutting.longest,
                    "corpora": list(checked.reports),
                },
                "valid": {
                    "pairs": len(valid_ids),
                    "left_out": with_long(unusable, before - len(texts), max_length),
                },
                "sampled": sampled,
                "lengths": facts["lengths"],
            },
            unit="texts",
        ),
        labels,
    )


@dataclass(frozen=True)
class Cutting:
    """How texts become ids, and labels numbers."""

    tokenizer: Tokenizer
    labels: tuple[str, ...]
    longest: int
    long: LongText
    dropout: PieceDropout = NO_DROPOUT

    def __call__(self, texts: Sequence[Numbered], first: int = 0) -> Tokenized:
        numbers = {label: number for number, label in enumerate(self.labels)}
        return tokenize_labelled(texts, self.tokenizer, numbers, self.longest, self.long, self.dropout, first)


def labelled_fingerprints(data: LabelledConfig, console: Console) -> dict[str, str]:
    """The SHA-256 of every file of the run, known before anything is made of them."""
    return every_fingerprint(training_files(data), validation_files(data), data.cache, console)


def training_files(data: LabelledConfig) -> list[LabelledFiles]:
    two = [LabelledFiles(Path(a), Path(b)) for a, b in zip(data.texts, data.labels, strict=True)]
    found = [LabelledFiles(Path(path)) for path in data.labelled] + two
    if not found:
        raise ConfigError(
            "there is nothing to train on; give --labelled FILE, or --texts FILE and --labels FILE, "
            "or set them under [data]"
        )
    return found


def validation_files(data: LabelledConfig) -> LabelledFiles | None:
    if data.valid_labelled is not None:
        return LabelledFiles(Path(data.valid_labelled))
    if data.valid_texts is not None and data.valid_labels is not None:
        return LabelledFiles(Path(data.valid_texts), Path(data.valid_labels))
    return None


def read_labelled(files: LabelledFiles, labels: Sequence[str]) -> tuple[tuple[Text, ...], dict[str, int]]:
    """What a model that knows these labels is measured on, and how much could not be used, by reason."""
    texts, unusable = read_valid(files, _as_labelled, "text", strict=False)
    refuse_unknown(files.name, texts, labels)
    return texts, unusable


def refuse_unknown(name: str, texts: Sequence[Text], labels: Sequence[str]) -> None:
    """A label that was not learnt can never be given: whoever asks for it has the wrong file, or columns."""
    if unknown := sorted({label for _, label in texts}.difference(labels)):
        raise DataError(
            f"{name} has labels that are not in the training files: {_listed(unknown)}; "
            f"those are {_listed(labels)}"
        )


def _listed(labels: Sequence[str]) -> str:
    more = f" and {len(labels) - LISTED} more" if len(labels) > LISTED else ""
    return ", ".join(labels[:LISTED]) + more


def _label_counts(reports: Sequence[Mapping[str, Any]]) -> Counter[str]:
    return sum((Counter(report["labels"]) for report in reports), Counter())


def _as_labelled(text: bytes | None, label: bytes | None) -> Text | Kind:
    if text is None or label is None:
        return label_checks.NO_LABEL
    if (text, label) == HEADER:
        return label_checks.HEADER_ROW
    return label_checks.judge_labelled(text, label)


def _ids(checked: Checked, cutting: Cutting, cache: Cache, console: Console) -> tuple[Pairs, dict[str, Any]]:
    """The training texts as ids, and what is known of them: their lengths, what became of too long ones."""
    dropout, weights = cutting.dropout, (1.0,) * len(checked.corpora)

    def fill(place: Path) -> dict[str, Any]:
        with Bar("tokenizing", [file for each in checked.corpora for file in each.files], console) as seen:
            corpora = [checked.texts(corpus, seen) for corpus in range(len(checked.corpora))]
            most = max(cutting.tokenizer.vocab_size, len(cutting.labels))
            facts = write_rows(place, corpora, cutting, most, cutting.longest, dropout.ways)
        cache.confirm(checked.files)
        if not any(facts["sizes"]):
            raise DataError(
                f"every text is longer than model.max_length = {cutting.longest + 1} pieces; set a larger one"
            )
        texts = open_pairs(place, facts, weights)
        some = texts.source.lengths_of(chosen(texts.source))
        return {**facts, "lengths": {"source": histogram(some)}}

    made_from = {
        "format": 1,
        "kind": "labelled",
        "text": checked.key,
        "pieces": cutting.tokenizer.fingerprint,
        "longest": cutting.longest,
        "long": cutting.long,
        "dropout": asdict(dropout),
    }
    path, facts = cache.folder("ids", made_from, fill)
    return open_pairs(path, facts, weights), facts


def _fitting(texts: Sequence[Text], cutting: Cutting) -> tuple[Pairs, tuple[Text, ...]]:
    """What is validated on, as ids and as text; cut off where it is too long, or left out."""
    plain = Cutting(cutting.tokenizer, cutting.labels, cutting.longest, cutting.long)
    found = plain(list(enumerate(texts, start=1)))
    if not found.source:
        raise DataError(
            f"every validation text is longer than model.max_length = {cutting.longest + 1} pieces; "
            "set a larger one"
        )
    kept = tuple(texts[line - 1] for line in found.lines)
    return unweighted(flatten(found.source), flatten(found.target)), kept
