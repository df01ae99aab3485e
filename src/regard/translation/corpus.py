"""Corpora of pairs, from files to ids that lie ready: checked, held out, tokenized, kept for next time."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from regard.corpus import findings as kinds
from regard.corpus import pair_checks
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
    more_pieces,
    open_cache,
    pieces,
    read_valid,
    sample_of,
    with_long,
)
from regard.corpus.progress import Bar
from regard.data.cache import Cache
from regard.data.config import DataConfig
from regard.data.mmap_store import open_pairs, write_pairs
from regard.data.pairs import Pairs, flatten, unweighted
from regard.data.tokenization import NO_DROPOUT, PieceDropout
from regard.errors import ConfigError, DataError
from regard.text.corpus_files import PairFiles, clean
from regard.text.tokenizer import SMALLEST, Tokenizer

MEASURES = ("lengths", "ratio", "pieces")
"""What is known of the training pairs as a whole, for `data.json`."""
DOCTOR = Doctor[PairFiles](
    pair_checks.DEFAULT,
    lambda corpus, against, seen, hashes: pair_checks.examine(
        corpus, against=against, seen=seen, hashes=hashes
    ),
    "pairs",
    "--valid-source",
)


def prepare(
    data: DataConfig,
    vocab_size: int,
    max_length: int,
    seed: int,
    console: Console,
    tokenizer: Tokenizer | None = None,
    extend: int | None = None,
) -> Corpora:
    """The corpora of a run, made ready, or found ready in the cache; refused if they cannot be learned from.

    Without a tokenizer one is learnt, from the training part alone; one that is given may be extended.
    """
    corpora, valid = training_files(data), validation_files(data)
    cache = open_cache(data.cache, console)
    files = count([*corpora, *([] if valid is None else [valid])], cache, console)
    checked = check(corpora, valid, files, Part(data.held_out, seed), DOCTOR, cache, console)
    if data.strict:
        checked.refuse_bad()
    sampled = sample_of(checked) if tokenizer is None else 0
    if tokenizer is None:
        tokenizer = pieces(checked, Pieces(vocab_size, data.lowercase), cache, console)
    elif extend is not None:
        tokenizer = more_pieces(checked, tokenizer, extend, cache, console)
    dropout = PieceDropout(data.bpe_dropout, data.bpe_variants, seed) if data.bpe_dropout else NO_DROPOUT
    train, facts = _ids(checked, tokenizer, data, dropout, max_length, cache, console)
    long = facts["long"]
    texts, unusable = (
        (checked.held_out, {}) if valid is None else read_valid(valid, _as_texts, "pair", data.strict)
    )
    valid_pairs, too_long = _fitting(texts, tokenizer, max_length)
    return Corpora(
        train,
        valid_pairs,
        texts,
        tokenizer,
        valid is None,
        fingerprint_of(corpora, files),
        fingerprint_of(corpora if valid is None else [valid], files),
        {
            "train": {
                "pairs": len(train),
                "left_out": with_long(checked.left_out, long.get("dropped", 0), max_length),
                "long": long,
                "longest": max_length - 1,
                "corpora": list(checked.reports),
            },
            "valid": {"pairs": len(valid_pairs), "left_out": with_long(unusable, too_long, max_length)},
            "sampled": sampled,
            **{name: facts[name] for name in MEASURES},
        },
    )


def fingerprints(data: DataConfig, console: Console) -> dict[str, str]:
    """The SHA-256 of every file of the run, known before anything is made of them."""
    return every_fingerprint(training_files(data), validation_files(data), data.cache, console)


def training_files(data: DataConfig) -> list[PairFiles]:
    """First the pairs of files, then the files of pairs: the order of the weights."""
    two = [PairFiles(Path(a), Path(b)) for a, b in zip(data.source, data.target, strict=True)]
    found = two + [PairFiles(Path(path)) for path in data.pairs]
    if not found:
        raise ConfigError(
            "there is nothing to train on; give --source FILE and --target FILE, or --pairs FILE, "
            "or set them under [data]"
        )
    return found


def validation_files(data: DataConfig) -> PairFiles | None:
    if data.valid_pairs is not None:
        return PairFiles(Path(data.valid_pairs))
    if data.valid_source is not None and data.valid_target is not None:
        return PairFiles(Path(data.valid_source), Path(data.valid_target))
    return None


def _ids(
    checked: Checked,
    tokenizer: Tokenizer,
    data: DataConfig,
    dropout: PieceDropout,
    max_length: int,
    cache: Cache,
    console: Console,
) -> tuple[Pairs, dict[str, Any]]:
    """The training pairs as ids, and what is known of them: their lengths, what became of too long ones."""
    longest = max_length - 1  # one place is the end mark's
    weights = data.weights or (1.0,) * len(checked.corpora)

    def fill(place: Path) -> dict[str, Any]:
        with Bar("tokenizing", [file for each in checked.corpora for file in each.files], console) as seen:
            corpora = [checked.texts(corpus, seen) for corpus in range(len(checked.corpora))]
            facts = write_pairs(place, corpora, tokenizer, longest, data.long, dropout)
        cache.confirm(checked.files)
        if not any(facts["sizes"]):
            raise DataError(
                f"every pair is longer than model.max_length = {max_length} pieces; set a larger one"
            )
        pairs = open_pairs(place, facts, weights)
        return {**facts, **_measured(pairs, tokenizer.vocab_size)}

    made_from = {
        "format": 6,
        "text": checked.key,
        "pieces": tokenizer.fingerprint,
        "longest": longest,
        "long": data.long,
        "dropout": asdict(dropout),
    }
    path, facts = cache.folder("ids", made_from, fill)
    return open_pairs(path, facts, weights), facts


def _as_texts(source: bytes | None, target: bytes | None) -> Text | Kind:
    if source is None or target is None:
        return kinds.NO_PAIR
    try:
        pair = clean(source.decode("utf-8")), clean(target.decode("utf-8"))
    except UnicodeDecodeError:
        return kinds.NOT_UTF8
    return pair if all(pair) else kinds.BLANK


def _fitting(texts: Sequence[Text], tokenizer: Tokenizer, max_length: int) -> tuple[Pairs, int]:
    """The pairs that fit the model as ids, and how many do not."""
    source, target = (flatten(tokenizer.tokenize(side)) for side in zip(*texts, strict=True))
    fits = np.flatnonzero((source.lengths < max_length) & (target.lengths < max_length))
    if not len(fits):
        raise DataError(
            f"every validation pair is longer than model.max_length = {max_length} pieces; set a larger one"
        )
    return unweighted(source.take(fits), target.take(fits)), len(source) - len(fits)


def _measured(pairs: Pairs, vocab_size: int) -> dict[str, Any]:
    """How long the sentences are, how much longer the targets, and how well the pieces cover them.

    Of many sentences as many are looked at as tell.
    """
    some = chosen(pairs.source)
    source, target = pairs.lengths_of(some)
    seen = np.zeros(vocab_size, np.int64)
    for side in (pairs.source, pairs.target):
        seen += np.bincount(side.take(some).flat, minlength=vocab_size)
    return {
        "lengths": {"source": histogram(source), "target": histogram(target)},
        "ratio": round(float(target.sum() / source.sum()), 4),
        "pieces": {
            "all": vocab_size - SMALLEST,
            "occur": int(np.count_nonzero(seen[SMALLEST:])),
            "bytes": round(float(seen[:SMALLEST].sum() / seen.sum()), 6),
        },
    }
