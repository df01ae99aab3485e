"""Sentence pairs of a translation run: files, validation, and statistics for corpus preparation."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from regard.corpus import findings as kinds
from regard.corpus.check import CheckedCorpora, CorpusChecker, HoldOutSpec, TextPair, content_key
from regard.corpus.findings import FindingKind
from regard.corpus.pair_checks import DEFAULT_PAIR_CHECKS, check_pair_corpus
from regard.corpus.prepare import (
    PreparedCorpora,
    TokenizerSpec,
    count_files,
    hash_corpus_files,
    length_histogram,
    open_cache,
    prepare_corpora,
    sample_evenly,
)
from regard.corpus.progress import FileProgressBar
from regard.data.config import DataConfig
from regard.data.pairs import PairDataset, concatenate_rows, single_corpus_dataset
from regard.data.tokenization import NO_BPE_DROPOUT, BPEDropout, PairTokenization
from regard.errors import ConfigError, DataError
from regard.text.corpus_files import normalize_text
from regard.text.languages import Direction, base_language
from regard.text.pair_formats.pair_files import PairFiles
from regard.text.pair_formats.units import PairOptions, find_language
from regard.text.tokenizer import BASE_VOCAB_SIZE, Tokenizer

PAIR_CHECKER = CorpusChecker[PairFiles](
    DEFAULT_PAIR_CHECKS,
    lambda corpus, against, on_chunk, hashes: check_pair_corpus(
        corpus, against=against, on_chunk=on_chunk, hashes=hashes
    ),
    noun="pair",
    validation_flag="--valid-source",
)


def prepare_pair_corpora(
    data: DataConfig,
    vocab_size: int,
    max_length: int,
    seed: int,
    console: Console,
    tokenizer: Tokenizer | None = None,
    extend_vocabulary: int | None = None,
) -> PreparedCorpora:
    """Prepare the corpora of a run; see `prepare_corpora`."""
    reject_mixed_languages(data)
    return prepare_corpora(
        PairCorpusReader(data, vocab_size, max_length, seed), console, tokenizer, extend_vocabulary
    )


def hash_pair_files(data: DataConfig, console: Console) -> dict[str, str]:
    """Return the SHA-256 of every file of the run without preparing it."""
    return hash_corpus_files(
        list_training_pair_files(data), find_validation_pair_files(data), data.cache, console
    )


def list_training_pair_files(data: DataConfig) -> list[PairFiles]:
    """Return source and target files first, then files of pairs: the order of the weights."""
    options = pair_options(data)
    separate = [PairFiles(Path(a), Path(b), options) for a, b in zip(data.source, data.target, strict=True)]
    corpora = separate + [PairFiles(Path(path), None, options) for path in data.pairs]
    if not corpora:
        raise ConfigError(
            "there is nothing to train on; give --source FILE and --target FILE, or --pairs FILE, "
            "or set them under [data]"
        )
    return corpora


def pair_options(data: DataConfig) -> PairOptions:
    """Return which columns and languages of the files are source and target."""
    return PairOptions(
        data.source_language or None,
        data.target_language or None,
        data.source_column or None,
        data.target_column or None,
    )


def find_languages(data: DataConfig) -> Direction:
    """Return the languages that are set, that all files declare, or that the names of all text files have."""
    found = [corpus.find_languages() for corpus in list_training_pair_files(data)]
    return _common_language([pair[0] for pair in found]), _common_language([pair[1] for pair in found])


def _common_language(codes: Sequence[str | None]) -> str | None:
    """Return the first code if all that are known are of the same language."""
    known = [code for code in codes if code is not None]
    return known[0] if known and all(find_language([code], known[0]) for code in known) else None


def reject_mixed_languages(data: DataConfig) -> None:
    """Raise an error about files of pairs that declare different target languages."""
    valid = find_validation_pair_files(data)
    corpora = [*list_training_pair_files(data), *([] if valid is None else [valid])]
    first: tuple[str, str] | None = None
    for corpus in corpora:
        target = None if corpus.target is not None else corpus.find_languages()[1]
        if target is None:
            continue
        first = first or (corpus.name, target)
        if base_language(target) != base_language(first[1]):
            raise DataError(
                f"{first[0]} is translated into {first[1]} and {corpus.name} into {target}; a model "
                "translates into one language: choose it with --target-language"
            )


@dataclass(frozen=True)
class CorpusSize:
    """Size of the training files of a run before they are checked."""

    pairs: int
    target_bytes: int
    """Of text in UTF-8, with a newline for each pair."""


def measure_training_files(data: DataConfig, console: Console) -> CorpusSize:
    """Count the pairs of the training files; those that hold both sides are read, and errors found."""
    corpora, cache = list_training_pair_files(data), open_cache(data.cache, console)
    facts = count_files(corpora, cache, console)
    reject_mixed_languages(data)
    sizes = []
    for corpus in corpora:
        if corpus.target is not None:
            sizes.append((facts[corpus.source].lines, facts[corpus.target].bytes))
            continue

        def fill(_: Path, corpus: PairFiles = corpus) -> dict[str, Any]:
            pairs = size = 0
            with FileProgressBar("counting pairs", corpus.files, console) as on_chunk:
                for row in corpus.read_rows(on_chunk):
                    pairs, size = pairs + 1, size + len(row[1] or b"") + 1
            cache.reject_changed_files({corpus.source: facts[corpus.source]})
            return {"pairs": pairs, "target_bytes": size}

        key = {"format": 1, "file": content_key(corpus, facts)}
        _, size = cache.get_or_create("sizes", key, fill)
        sizes.append((size["pairs"], size["target_bytes"]))
    return CorpusSize(sum(pairs for pairs, _ in sizes), sum(size for _, size in sizes))


def find_validation_pair_files(data: DataConfig) -> PairFiles | None:
    """Return the validation files, if there are any."""
    if data.valid_pairs is not None:
        return PairFiles(Path(data.valid_pairs), None, pair_options(data))
    if data.valid_source is not None and data.valid_target is not None:
        return PairFiles(Path(data.valid_source), Path(data.valid_target))
    return None


@dataclass(frozen=True)
class PairCorpusReader:
    """Sentence pairs for `prepare_corpora`."""

    data: DataConfig
    vocab_size: int
    max_length: int
    seed: int
    """For BPE dropout."""

    @property
    def checker(self) -> CorpusChecker[PairFiles]:
        return PAIR_CHECKER

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
        return TokenizerSpec(self.vocab_size, self.data.lowercase)

    @property
    def weights(self) -> Sequence[float]:
        return self.data.weights

    def training_files(self) -> list[PairFiles]:
        return list_training_pair_files(self.data)

    def validation_files(self) -> PairFiles | None:
        return find_validation_pair_files(self.data)

    def check_validation_row(self, first: bytes | None, second: bytes | None) -> TextPair | FindingKind:
        if first is None or second is None:
            return kinds.MALFORMED_PAIR
        try:
            pair = normalize_text(first.decode("utf-8")), normalize_text(second.decode("utf-8"))
        except UnicodeDecodeError:
            return kinds.NOT_UTF8
        return pair if all(pair) else kinds.BLANK_SIDE

    def make_tokenization(self, checked: CheckedCorpora, tokenizer: Tokenizer) -> PairTokenization:  # noqa: ARG002
        data = self.data
        dropout = NO_BPE_DROPOUT
        if data.bpe_dropout:
            dropout = BPEDropout(data.bpe_dropout, data.bpe_variants, self.seed)
        return PairTokenization(tokenizer, self.max_length - 1, data.long, dropout)  # -1 for </s>

    def tokenize_validation(
        self,
        name: str,  # noqa: ARG002
        texts: Sequence[TextPair],
        tokenization: PairTokenization,
    ) -> tuple[PairDataset, tuple[TextPair, ...], int]:
        """Return the ids of the pairs that fit the model; the texts of all pairs are kept, for BLEU."""
        source, target = (
            concatenate_rows(tokenization.tokenizer.tokenize(side)) for side in zip(*texts, strict=True)
        )
        longest = np.maximum(source.lengths, target.lengths)
        fits = np.flatnonzero(longest <= tokenization.max_length)
        if not len(fits):
            raise DataError(
                f"every validation pair is longer than model.max_length = {self.max_length} tokens; "
                "set a larger one"
            )
        dataset = single_corpus_dataset(source.take(fits), target.take(fits))
        return dataset, tuple(texts), len(texts) - len(fits)

    def measure(self, train: PairDataset, tokenizer: Tokenizer) -> dict[str, Any]:
        """Return length histograms, the ratio of the lengths, and how well the vocabulary covers the text."""
        sample = sample_evenly(train.source)
        source, target = train.lengths_of(sample)
        counts = np.zeros(tokenizer.vocab_size, np.int64)
        for side in (train.source, train.target):
            counts += np.bincount(side.take(sample).flat, minlength=tokenizer.vocab_size)
        return {
            "lengths": {"source": length_histogram(source), "target": length_histogram(target)},
            "ratio": round(float(target.sum() / source.sum()), 4),
            "vocabulary": {
                "size": tokenizer.vocab_size - BASE_VOCAB_SIZE,
                "used": int(np.count_nonzero(counts[BASE_VOCAB_SIZE:])),
                "byte_share": round(float(counts[:BASE_VOCAB_SIZE].sum() / counts.sum()), 6),
            },
        }
