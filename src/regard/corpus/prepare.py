"""Corpus preparation for pairs and labelled texts: count, check, tokenize and cache."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from rich.console import Console

from regard.corpus.check import (
    AnyFiles,
    CheckedCorpora,
    CorpusChecker,
    CorpusFiles,
    HoldOutSpec,
    TextPair,
    check_corpora,
)
from regard.corpus.findings import MISALIGNED, FindingKind
from regard.corpus.progress import FileProgressBar
from regard.corpus.scan import empty_file_message, line_count_mismatch
from regard.data.cache import DiskCache, FileFacts
from regard.data.mmap_store import open_pair_dataset, write_token_ids
from regard.data.pairs import Indexes, PairDataset, RaggedIds
from regard.data.tokenization import CorpusTokenization
from regard.errors import DataError
from regard.text.corpus_files import FileLines
from regard.text.tokenizer import (
    WORD_PATTERN,
    Tokenizer,
    learn_tokenizer,
    learn_word_tokenizer,
)
from regard.text.tokenizer_file import load_tokenizer
from regard.text.vocab_extension import extend_tokenizer
from regard.training.run_folder import DATA_REPORT_FILE

MEASURED_SENTENCES = 100_000
"""Sentences of a large corpus whose lengths are measured, evenly spaced."""
HISTOGRAM_BINS = 50
TOKENIZER_SAMPLE_SIZE = 2_000_000
"""Pairs of a larger corpus that a tokenizer is learned from, evenly spaced."""


ValidationRowCheck = Callable[[bytes | None, bytes | None], TextPair | FindingKind]
"""Returns a line of a validation file as text, or the kind of its defect."""


@dataclass(frozen=True)
class PreparedCorpora:
    """Training and validation data of a run."""

    train: PairDataset
    """Memory-mapped."""
    valid: PairDataset
    """The validation lines that fit the model."""
    valid_texts: tuple[TextPair, ...]
    """The validation texts: source and target, or text and label."""
    tokenizer: Tokenizer
    held_out: bool
    """Whether the validation lines were held out of the training files."""
    fingerprint: Mapping[str, str]
    """The SHA-256 of each training file."""
    valid_fingerprint: Mapping[str, str]
    """The SHA-256 of each validation file."""
    report: Mapping[str, Any]
    """Findings and statistics for `data.json`."""
    noun: str = "pair"
    """Name of a line in messages."""

    def training_lines(self, pairs: Indexes) -> list[FileLines]:
        """Return the files and line numbers of these training pairs."""
        files = [report["files"] for report in self.report["train"]["corpora"]]
        lines = self.train.line_numbers_of(pairs)
        return [FileLines(tuple(files[corpus]), tuple(numbers)) for corpus, numbers in lines.items()]

    def describe(self) -> Iterator[str]:
        """Yield the lines about the data that are printed before training."""
        train, valid, nouns = self.report["train"], self.report["valid"], f"{self.noun}s"
        origin = "held out of the training files" if self.held_out else "from validation files"
        yield f"data    {train['pairs']:,} {nouns} for training, {valid['pairs']:,} for validation ({origin})"
        for part, name in ((train, "training"), (valid, "validation")):
            if reasons := [f"{reason} ({count:,})" for reason, count in part["left_out"].items()]:
                yield f"        left out of {name}: {', '.join(reasons)}"
        if self.train.epoch_size != len(self.train):
            weights = ", ".join(f"{weight:g}" for weight in self.train.weights)
            size = f"{self.train.epoch_size:,} {nouns}"
            yield f"        an epoch has {size}: the corpora have the weights {weights}"
        long = train["long"]
        if long.get("cut"):
            yield f"        cut to {train['longest']} tokens: {long['cut']:,} {nouns}"
        if long.get("split"):
            yield f"        split into sentences: {long['split']:,} long pairs, into {long['parts']:,}"
        if self.report["sampled"]:
            yield f"        the tokenizer is learned from {self.report['sampled']:,} of them, evenly spaced"
        for report in train["corpora"]:
            for finding in report["findings"]:
                if finding["kind"] == MISALIGNED.name:
                    yield (
                        f"WARNING {' and '.join(report['files'])} are misaligned: {finding['detail']}; "
                        f"{finding['remedy']}"
                    )


@dataclass(frozen=True)
class TokenizerSpec:
    """The tokenizer to be learned."""

    vocab_size: int
    lowercase: bool
    sides: int = 2
    """Number of sides of a line that it is learned from."""
    whole_words: bool = False
    """Whether tokens are whole words in place of byte pairs."""


AnyTokenization = TypeVar("AnyTokenization", bound=CorpusTokenization)


@runtime_checkable
class CorpusReader(Protocol[AnyFiles, AnyTokenization]):
    """One kind of corpus, pairs or labelled texts, with the settings of a run."""

    @property
    def checker(self) -> CorpusChecker[AnyFiles]: ...

    @property
    def cache_folder(self) -> str | None: ...

    @property
    def is_strict(self) -> bool: ...

    @property
    def hold_out_spec(self) -> HoldOutSpec: ...

    @property
    def tokenizer_spec(self) -> TokenizerSpec: ...

    @property
    def weights(self) -> Sequence[float]:
        """Repetitions of each corpus per epoch; empty is once."""
        ...

    def training_files(self) -> Sequence[AnyFiles]: ...

    def validation_files(self) -> AnyFiles | None: ...

    def check_validation_row(self, first: bytes | None, second: bytes | None) -> TextPair | FindingKind:
        """Return a line of a validation file as text, or the kind of its defect."""
        ...

    def make_tokenization(self, checked: CheckedCorpora, tokenizer: Tokenizer) -> AnyTokenization: ...

    def tokenize_validation(
        self, name: str, texts: Sequence[TextPair], tokenization: AnyTokenization
    ) -> tuple[PairDataset, tuple[TextPair, ...], int]:
        """Return the validation ids, the validation texts, and the number of those that are too long."""
        ...

    def measure(self, train: PairDataset, tokenizer: Tokenizer) -> dict[str, Any]:
        """Return statistics of the training data for `data.json`."""
        ...


def prepare_corpora(
    reader: CorpusReader[AnyFiles, AnyTokenization],
    console: Console,
    tokenizer: Tokenizer | None = None,
    extend_vocabulary: int | None = None,
) -> PreparedCorpora:
    """Check and tokenize the corpora of a run, or find the result in the cache.

    Without a tokenizer one is learned, from the training lines alone; a given one may be extended.
    """
    corpora, valid = reader.training_files(), reader.validation_files()
    cache = open_cache(reader.cache_folder, console)
    file_facts = count_files([*corpora, *([] if valid is None else [valid])], cache, console)
    checked = check_corpora(corpora, valid, file_facts, reader.hold_out_spec, reader.checker, cache, console)
    if reader.is_strict:
        checked.reject_bad_lines()
    sampled = tokenizer_sample_size(checked) if tokenizer is None else 0
    if tokenizer is None:
        tokenizer = learn_corpus_tokenizer(checked, reader.tokenizer_spec, cache, console)
    elif extend_vocabulary is not None:
        tokenizer = extend_corpus_tokenizer(checked, tokenizer, extend_vocabulary, cache, console)
    tokenization = reader.make_tokenization(checked, tokenizer)
    train, facts = _tokenize_training_lines(reader, checked, tokenization, cache, console)
    texts, unusable = checked.held_out, {}
    if valid is not None:
        texts, unusable = read_validation_texts(
            valid, reader.check_validation_row, reader.checker.noun, reader.is_strict
        )
    name = corpora[0].name if valid is None else valid.name
    valid_ids, valid_texts, too_long = reader.tokenize_validation(name, texts, tokenization)
    max_length = tokenization.max_length
    return PreparedCorpora(
        train=train,
        valid=valid_ids,
        valid_texts=valid_texts,
        tokenizer=tokenizer,
        held_out=valid is None,
        fingerprint=sha256_by_path(corpora, file_facts),
        valid_fingerprint=sha256_by_path(corpora if valid is None else [valid], file_facts),
        report={
            "train": {
                "pairs": len(train),
                "left_out": add_too_long(checked.left_out, facts["long"].get("dropped", 0), max_length),
                "long": facts["long"],
                "longest": max_length,
                "corpora": list(checked.reports),
            },
            "valid": {"pairs": len(valid_ids), "left_out": add_too_long(unusable, too_long, max_length)},
            "sampled": sampled,
            **facts["measured"],
        },
        noun=reader.checker.noun,
    )


def _tokenize_training_lines(
    reader: CorpusReader[AnyFiles, AnyTokenization],
    checked: CheckedCorpora,
    tokenization: AnyTokenization,
    cache: DiskCache,
    console: Console,
) -> tuple[PairDataset, dict[str, Any]]:
    """Return the training data, and its statistics."""
    weights = reader.weights or (1.0,) * len(checked.corpora)

    def fill(folder: Path) -> dict[str, Any]:
        with FileProgressBar("tokenizing", checked.all_files, console) as on_chunk:
            corpora = [checked.read_texts(corpus, on_chunk) for corpus in range(len(checked.corpora))]
            facts = write_token_ids(folder, corpora, tokenization)
        cache.reject_changed_files(checked.file_facts)
        if not any(facts["sizes"]):
            raise DataError(
                f"every {reader.checker.noun} is longer than model.max_length = "
                f"{tokenization.max_length + 1} tokens; set a larger one"
            )
        dataset = open_pair_dataset(folder, facts, weights)
        return {**facts, "measured": reader.measure(dataset, tokenization.tokenizer)}

    key = {"format": 7, "text": checked.key, **tokenization.cache_key}
    path, facts = cache.get_or_create("ids", key, fill)
    return open_pair_dataset(path, facts, weights), facts


def open_cache(folder: str | None, console: Console) -> DiskCache:
    """Open the cache of prepared corpora: a folder, or the user's cache folder."""
    return DiskCache(folder, lambda message: console.print(f"  {message}"))


def write_data_report(run: Path, corpora: PreparedCorpora) -> None:
    """Write `data.json` to the run folder: the files, and every finding with its lines."""
    document = {
        "files": dict(corpora.fingerprint),
        "valid_files": dict(corpora.valid_fingerprint),
        "held_out": corpora.held_out,
        **corpora.report,
    }
    (run / DATA_REPORT_FILE).write_text(
        json.dumps(document, ensure_ascii=False, indent=2) + "\n", "utf-8", "replace"
    )


def count_files(corpora: Sequence[CorpusFiles], cache: DiskCache, console: Console) -> dict[Path, FileFacts]:
    """Return lines and SHA-256 of each file; raise an error about files that cannot match."""
    for corpus in corpora:
        corpus.reject_other_content()
    paths = [file for corpus in corpora for file in corpus.files]
    with FileProgressBar("counting lines", paths, console) as on_chunk:
        file_facts = {path: cache.file_facts(path, on_chunk) for path in dict.fromkeys(paths)}
    for corpus in corpora:
        names = [str(path) for path in corpus.files]
        lines = [file_facts[path].lines for path in corpus.files]
        if 0 in lines:
            raise DataError(empty_file_message(names[lines.index(0)]))
        if lines[0] != lines[-1]:
            raise DataError(line_count_mismatch(names, lines))
    return file_facts


def hash_corpus_files(
    corpora: Sequence[CorpusFiles], valid: CorpusFiles | None, cache: str | None, console: Console
) -> dict[str, str]:
    """Return the SHA-256 of every file of a run without preparing it."""
    all_corpora = [*corpora, *([] if valid is None else [valid])]
    return sha256_by_path(all_corpora, count_files(all_corpora, open_cache(cache, console), console))


def sha256_by_path(corpora: Sequence[CorpusFiles], file_facts: Mapping[Path, FileFacts]) -> dict[str, str]:
    return {str(path): file_facts[path].sha256 for corpus in corpora for path in corpus.files}


def learn_corpus_tokenizer(
    checked: CheckedCorpora, spec: TokenizerSpec, cache: DiskCache, console: Console
) -> Tokenizer:
    """Learn a tokenizer from the training lines."""

    def fill(folder: Path) -> dict[str, Any]:
        learn = learn_word_tokenizer if spec.whole_words else learn_tokenizer
        with console.status("learning the tokenizer"):
            tokenizer = learn(_TokenizerSample(checked, spec.sides), spec.vocab_size, spec.lowercase)
        tokenizer.save(folder / "tokenizer.json")
        cache.reject_changed_files(checked.file_facts)
        return {}

    key = {
        "format": 2,
        "text": checked.key,
        "vocab_size": spec.vocab_size,
        "lowercase": spec.lowercase,
        **({"words": WORD_PATTERN} if spec.whole_words else {}),
    }
    path, _ = cache.get_or_create("tokenizers", key, fill)
    return load_tokenizer(path / "tokenizer.json")


def extend_corpus_tokenizer(
    checked: CheckedCorpora, tokenizer: Tokenizer, new_tokens: int, cache: DiskCache, console: Console
) -> Tokenizer:
    """Extend a tokenizer by what is frequent in the training lines."""

    def fill(folder: Path) -> dict[str, Any]:
        with console.status("extending the tokenizer"):
            extended = extend_tokenizer(tokenizer, _TokenizerSample(checked), new_tokens)
        extended.save(folder / "tokenizer.json")
        return {}

    key = {"format": 2, "text": checked.key, "new_tokens": new_tokens, "extends": tokenizer.fingerprint}
    path, _ = cache.get_or_create("tokenizers", key, fill)
    return load_tokenizer(path / "tokenizer.json")


def tokenizer_sample_size(checked: CheckedCorpora) -> int:
    """Return the number of lines that a tokenizer is learned from, or 0 if that is all of them."""
    return TOKENIZER_SAMPLE_SIZE if checked.kept_count > TOKENIZER_SAMPLE_SIZE else 0


class _TokenizerSample:
    """The sentences that a tokenizer is learned from; can be iterated over repeatedly."""

    def __init__(self, checked: CheckedCorpora, sides: int = 2) -> None:
        self._checked, self._sides = checked, sides

    def __iter__(self) -> Iterator[str]:
        kept = self._checked.kept_count
        size = min(TOKENIZER_SAMPLE_SIZE, kept)
        corpora = range(len(self._checked.corpora))
        texts = (pair for corpus in corpora for _, pair in self._checked.read_texts(corpus))
        for index, pair in enumerate(texts):
            if index * size // kept != (index + 1) * size // kept:
                yield from pair[: self._sides]


def read_validation_texts(
    valid: CorpusFiles, check_row: ValidationRowCheck, noun: str, is_strict: bool
) -> tuple[tuple[TextPair, ...], dict[str, int]]:
    """Return the validation texts, and the number of unusable lines by reason.

    Only lines without usable text are left out: a published test set must stay comparable.
    """
    texts, left_out = [], Counter()
    for unit in valid.read_units():
        if unit.skipped is not None:
            left_out.update([unit.skipped] if unit.skipped != "header" else [])
            continue
        result = check_row(*unit.row)
        if isinstance(result, tuple):
            texts.append(result)
            continue
        left_out[result.name] += 1
        if is_strict and result.severity == "bad":
            place = f"{valid.name} {valid.unit_noun} {unit.number}"
            raise DataError(f"{place}: {result.name}; --strict refuses it")
    if not texts and not left_out:
        raise DataError(empty_file_message(valid.name))
    if not texts:
        raise DataError(f"{valid.name} has no usable {noun}: {', '.join(left_out)}")
    return tuple(texts), dict(left_out)


def sample_evenly(ids: RaggedIds) -> Indexes:
    """Return the indexes of at most MEASURED_SENTENCES sentences, evenly spaced."""
    return np.linspace(0, len(ids) - 1, min(len(ids), MEASURED_SENTENCES)).round().astype(np.int64)


def length_histogram(lengths: Indexes) -> dict[str, list[int]]:
    """Count the sentences by length; `bins` are the borders of the bins."""
    width = -(-(int(lengths.max()) + 1) // HISTOGRAM_BINS)
    counts = np.bincount(lengths // width)
    return {"bins": [width * bin for bin in range(len(counts) + 1)], "counts": counts.tolist()}


def add_too_long(left_out: Mapping[str, int], too_long: int, max_length: int) -> dict[str, int]:
    """Add the lines that were too long to the reasons."""
    return {**left_out, **({f"over {max_length} tokens": too_long} if too_long else {})}
