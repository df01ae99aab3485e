"""Corpora of pairs, from files to ids that lie ready: checked, held out, tokenized, kept for next time."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from regard.corpus import findings as kinds
from regard.corpus import pair_checks
from regard.corpus.check import CheckedCorpora, CorpusChecker, HoldOutSpec, check_corpora
from regard.corpus.findings import FindingKind
from regard.corpus.prepare import (
    PreparedCorpora,
    TextPair,
    TokenizerSpec,
    add_too_long,
    count_files,
    extend_corpus_tokenizer,
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
from regard.data.config import DataConfig
from regard.data.mmap_store import open_pair_dataset, write_tokenized_pairs
from regard.data.pairs import PairDataset, concatenate_rows, single_corpus_dataset
from regard.data.tokenization import NO_BPE_DROPOUT, BPEDropout
from regard.errors import ConfigError, DataError
from regard.text.corpus_files import PairFiles, normalize_text
from regard.text.tokenizer import BASE_VOCAB_SIZE, Tokenizer

PAIR_STATISTICS = ("lengths", "ratio", "pieces")
"""What is known of the training pairs as a whole, for `data.json`."""
PAIR_CHECKER = CorpusChecker[PairFiles](
    pair_checks.DEFAULT_PAIR_CHECKS,
    lambda corpus, against, seen, hashes: pair_checks.check_pair_corpus(
        corpus, against=against, on_chunk=seen, hashes=hashes
    ),
    "pairs",
    "--valid-source",
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
    """The corpora of a run, made ready, or found ready in the cache; refused if they cannot be learned from.

    Without a tokenizer one is learnt, from the training part alone; one that is given may be extended.
    """
    corpora, valid = list_training_pair_files(data), find_validation_pair_files(data)
    cache = open_cache(data.cache, console)
    files = count_files([*corpora, *([] if valid is None else [valid])], cache, console)
    checked = check_corpora(
        corpora, valid, files, HoldOutSpec(data.held_out, seed), PAIR_CHECKER, cache, console
    )
    if data.strict:
        checked.reject_bad_lines()
    sampled = tokenizer_sample_size(checked) if tokenizer is None else 0
    if tokenizer is None:
        tokenizer = learn_corpus_tokenizer(checked, TokenizerSpec(vocab_size, data.lowercase), cache, console)
    elif extend_vocabulary is not None:
        tokenizer = extend_corpus_tokenizer(checked, tokenizer, extend_vocabulary, cache, console)
    dropout = BPEDropout(data.bpe_dropout, data.bpe_variants, seed) if data.bpe_dropout else NO_BPE_DROPOUT
    train, facts = _tokenize_training_pairs(checked, tokenizer, data, dropout, max_length, cache, console)
    long = facts["long"]
    texts, unusable = (
        (checked.held_out, {})
        if valid is None
        else read_validation_texts(valid, _decode_pair, "pair", data.strict)
    )
    valid_pairs, too_long = _tokenize_fitting_pairs(texts, tokenizer, max_length)
    return PreparedCorpora(
        train,
        valid_pairs,
        texts,
        tokenizer,
        valid is None,
        sha256_by_path(corpora, files),
        sha256_by_path(corpora if valid is None else [valid], files),
        {
            "train": {
                "pairs": len(train),
                "left_out": add_too_long(checked.left_out, long.get("dropped", 0), max_length),
                "long": long,
                "longest": max_length - 1,
                "corpora": list(checked.reports),
            },
            "valid": {"pairs": len(valid_pairs), "left_out": add_too_long(unusable, too_long, max_length)},
            "sampled": sampled,
            **{name: facts[name] for name in PAIR_STATISTICS},
        },
    )


def hash_pair_files(data: DataConfig, console: Console) -> dict[str, str]:
    """The SHA-256 of every file of the run, known before anything is made of them."""
    return hash_corpus_files(
        list_training_pair_files(data), find_validation_pair_files(data), data.cache, console
    )


def list_training_pair_files(data: DataConfig) -> list[PairFiles]:
    """First the pairs of files, then the files of pairs: the order of the weights."""
    two = [PairFiles(Path(a), Path(b)) for a, b in zip(data.source, data.target, strict=True)]
    found = two + [PairFiles(Path(path)) for path in data.pairs]
    if not found:
        raise ConfigError(
            "there is nothing to train on; give --source FILE and --target FILE, or --pairs FILE, "
            "or set them under [data]"
        )
    return found


def find_validation_pair_files(data: DataConfig) -> PairFiles | None:
    if data.valid_pairs is not None:
        return PairFiles(Path(data.valid_pairs))
    if data.valid_source is not None and data.valid_target is not None:
        return PairFiles(Path(data.valid_source), Path(data.valid_target))
    return None


def _tokenize_training_pairs(
    checked: CheckedCorpora,
    tokenizer: Tokenizer,
    data: DataConfig,
    dropout: BPEDropout,
    max_length: int,
    cache: DiskCache,
    console: Console,
) -> tuple[PairDataset, dict[str, Any]]:
    """The training pairs as ids, and what is known of them: their lengths, what became of too long ones."""
    longest = max_length - 1  # one place is the end mark's
    weights = data.weights or (1.0,) * len(checked.corpora)

    def fill(place: Path) -> dict[str, Any]:
        with FileProgressBar(
            "tokenizing", [file for each in checked.corpora for file in each.files], console
        ) as seen:
            corpora = [checked.read_texts(corpus, seen) for corpus in range(len(checked.corpora))]
            facts = write_tokenized_pairs(place, corpora, tokenizer, longest, data.long, dropout)
        cache.reject_changed_files(checked.file_facts)
        if not any(facts["sizes"]):
            raise DataError(
                f"every pair is longer than model.max_length = {max_length} pieces; set a larger one"
            )
        pairs = open_pair_dataset(place, facts, weights)
        return {**facts, **_measure_pairs(pairs, tokenizer.vocab_size)}

    made_from = {
        "format": 6,
        "text": checked.key,
        "pieces": tokenizer.fingerprint,
        "longest": longest,
        "long": data.long,
        "dropout": asdict(dropout),
    }
    path, facts = cache.get_or_create("ids", made_from, fill)
    return open_pair_dataset(path, facts, weights), facts


def _decode_pair(source: bytes | None, target: bytes | None) -> TextPair | FindingKind:
    if source is None or target is None:
        return kinds.MALFORMED_PAIR
    try:
        pair = normalize_text(source.decode("utf-8")), normalize_text(target.decode("utf-8"))
    except UnicodeDecodeError:
        return kinds.NOT_UTF8
    return pair if all(pair) else kinds.BLANK_SIDE


def _tokenize_fitting_pairs(
    texts: Sequence[TextPair], tokenizer: Tokenizer, max_length: int
) -> tuple[PairDataset, int]:
    """The pairs that fit the model as ids, and how many do not."""
    source, target = (concatenate_rows(tokenizer.tokenize(side)) for side in zip(*texts, strict=True))
    fits = np.flatnonzero((source.lengths < max_length) & (target.lengths < max_length))
    if not len(fits):
        raise DataError(
            f"every validation pair is longer than model.max_length = {max_length} pieces; set a larger one"
        )
    return single_corpus_dataset(source.take(fits), target.take(fits)), len(source) - len(fits)


def _measure_pairs(pairs: PairDataset, vocab_size: int) -> dict[str, Any]:
    """How long the sentences are, how much longer the targets, and how well the pieces cover them.

    Of many sentences as many are looked at as tell.
    """
    some = sample_evenly(pairs.source)
    source, target = pairs.lengths_of(some)
    seen = np.zeros(vocab_size, np.int64)
    for side in (pairs.source, pairs.target):
        seen += np.bincount(side.take(some).flat, minlength=vocab_size)
    return {
        "lengths": {"source": length_histogram(source), "target": length_histogram(target)},
        "ratio": round(float(target.sum() / source.sum()), 4),
        "pieces": {
            "all": vocab_size - BASE_VOCAB_SIZE,
            "occur": int(np.count_nonzero(seen[BASE_VOCAB_SIZE:])),
            "bytes": round(float(seen[:BASE_VOCAB_SIZE].sum() / seen.sum()), 6),
        },
    }
