"""Corpora, from files to ids that lie ready: counted, checked, held out, tokenized, kept for next time."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from regard.data.cache import Cache, FileFacts
from regard.data.config import DataConfig
from regard.data.ids import flatten
from regard.data.pairs import Indexes, Pairs, unweighted
from regard.data.store import open_pairs, write_pairs
from regard.data.variants import NO_DROPOUT, PieceDropout
from regard.errors import ConfigError, DataError
from regard.tasks.bar import Bar
from regard.tasks.checking import Checked, Part, check
from regard.text import findings as kinds
from regard.text.corpus import clean
from regard.text.examination import differing, empty
from regard.text.extending import extend_tokenizer
from regard.text.findings import Kind
from regard.text.pairs import PairFiles
from regard.text.tokenizer import SMALLEST, Tokenizer, learn_tokenizer, load_tokenizer
from regard.train.lines import Lines
from regard.train.run import REPORT

Text = tuple[str, str]
MEASURED, BARS = 100_000, 50
"""Sentences that are measured, and bars of the picture that shows their lengths."""
MEASURES = ("lengths", "ratio", "pieces")
"""What is known of the training pairs as a whole, for `data.json`."""
SAMPLE = 2_000_000
"""Pairs that the pieces are learnt from; of a larger corpus as many, evenly spaced."""


@dataclass(frozen=True)
class Corpora:
    """What a run learns from, and what it is judged on."""

    train: Pairs
    """Mapped into memory, not read into it."""
    valid: Pairs
    """Those that fit the model."""
    valid_texts: tuple[Text, ...]
    """All of them, source and target."""
    tokenizer: Tokenizer
    held_out: bool
    """Whether the validation part was taken out of the training files."""
    fingerprint: Mapping[str, str]
    """The SHA-256 of each training file."""
    valid_fingerprint: Mapping[str, str]
    report: Mapping[str, Any]
    """What was found in the files and what became of it, for `data.json`."""

    def lines_of(self, pairs: Indexes) -> list[Lines]:
        """Where those training pairs stand in the files."""
        files = [report["files"] for report in self.report["train"]["corpora"]]
        lines = self.train.lines_of(pairs)
        return [Lines(tuple(files[corpus]), tuple(numbers)) for corpus, numbers in lines.items()]

    def plan(self) -> Iterator[str]:
        """What a person should know of it before the training."""
        how = "held out of the training files" if self.held_out else "from their own files"
        train, valid = self.report["train"], self.report["valid"]
        yield f"data    {train['pairs']:,} pairs to learn from, {valid['pairs']:,} to validate on ({how})"
        for part, name in ((train, "training"), (valid, "validation")):
            if said := [f"{why} ({count:,})" for why, count in part["left_out"].items()]:
                yield f"        left out of {name}: {', '.join(said)}"
        if self.train.turns != len(self.train):
            weights = ", ".join(f"{weight:g}" for weight in self.train.weights)
            yield f"        an epoch shows {self.train.turns:,} pairs: the corpora have the weights {weights}"
        long = train["long"]
        if long.get("cut"):
            yield f"        cut to {train['longest']} pieces: {long['cut']:,} pairs"
        if long.get("split"):
            yield f"        split into sentences: {long['split']:,} long pairs, into {long['parts']:,}"
        if self.report["sampled"]:
            yield f"        the pieces are learnt from {self.report['sampled']:,} of them, evenly spaced"
        for report in train["corpora"]:
            for finding in report["findings"]:
                if finding["kind"] == "shift":
                    yield (
                        f"WARNING {' and '.join(report['files'])} no longer match: {finding['detail']}; "
                        f"{finding['remedy']}"
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
    cache = open_cache(data, console)
    files = count([*corpora, *([] if valid is None else [valid])], cache, console)
    checked = check(corpora, valid, files, Part(data.held_out, seed), cache, console)
    if data.strict:
        checked.refuse_bad()
    sampled = SAMPLE if tokenizer is None and checked.kept > SAMPLE else 0
    if tokenizer is None:
        tokenizer = _pieces(checked, vocab_size, data.lowercase, cache, console)
    elif extend is not None:
        tokenizer = _more_pieces(checked, tokenizer, extend, cache, console)
    dropout = PieceDropout(data.bpe_dropout, data.bpe_variants, seed) if data.bpe_dropout else NO_DROPOUT
    train, facts = _ids(checked, tokenizer, data, dropout, max_length, cache, console)
    long = facts["long"]
    texts, unusable = (checked.held_out, {}) if valid is None else _read_valid(valid, data.strict)
    valid_pairs, too_long = _fitting(texts, tokenizer, max_length)
    return Corpora(
        train,
        valid_pairs,
        texts,
        tokenizer,
        valid is None,
        _fingerprint(corpora, files),
        _fingerprint(corpora if valid is None else [valid], files),
        {
            "train": {
                "pairs": len(train),
                "left_out": _with_long(checked.left_out, long.get("dropped", 0), max_length),
                "long": long,
                "longest": max_length - 1,
                "corpora": list(checked.reports),
            },
            "valid": {"pairs": len(valid_pairs), "left_out": _with_long(unusable, too_long, max_length)},
            "sampled": sampled,
            **{name: facts[name] for name in MEASURES},
        },
    )


def fingerprints(data: DataConfig, console: Console) -> dict[str, str]:
    """The SHA-256 of every file of the run, known before anything is made of them."""
    corpora, valid = training_files(data), validation_files(data)
    every = [*corpora, *([] if valid is None else [valid])]
    return _fingerprint(every, count(every, open_cache(data, console), console))


def open_cache(data: DataConfig, console: Console) -> Cache:
    """Where prepared corpora are kept."""
    return Cache(data.cache, lambda said: console.print(f"  {said}"))


def write_report(run: Path, corpora: Corpora) -> None:
    """`data.json` in the run's folder: every finding with its lines, and which files were read."""
    document = {
        "files": dict(corpora.fingerprint),
        "valid_files": dict(corpora.valid_fingerprint),
        "held_out": corpora.held_out,
        **corpora.report,
    }
    (run / REPORT).write_text(json.dumps(document, ensure_ascii=False, indent=2) + "\n", "utf-8", "replace")


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


def count(corpora: Sequence[PairFiles], cache: Cache, console: Console) -> dict[Path, FileFacts]:
    """Lines and SHA-256 of each file; files that cannot match are refused here, before any work."""
    paths = [file for corpus in corpora for file in corpus.files]
    with Bar("counting lines", paths, console) as seen:
        found = {path: cache.file(path, seen) for path in dict.fromkeys(paths)}
    for corpus in corpora:
        names, lines = [str(path) for path in corpus.files], [found[path].lines for path in corpus.files]
        if 0 in lines:
            raise DataError(empty(names[lines.index(0)]))
        if lines[0] != lines[-1]:
            raise DataError(differing(names, lines))
    return found


def _pieces(checked: Checked, vocab_size: int, lowercase: bool, cache: Cache, console: Console) -> Tokenizer:
    """Joint pieces of both sides, from what the run learns from and nothing else."""

    def fill(place: Path) -> dict[str, Any]:
        with console.status("learning the pieces"):
            learn_tokenizer(_Sample(checked), vocab_size, lowercase).save(place / "tokenizer.json")
        cache.confirm(checked.files)
        return {}

    made_from = {"format": 1, "text": checked.key, "pieces": vocab_size, "lowercase": lowercase}
    path, _ = cache.folder("pieces", made_from, fill)
    return load_tokenizer(path / "tokenizer.json")


def _more_pieces(
    checked: Checked, tokenizer: Tokenizer, pieces: int, cache: Cache, console: Console
) -> Tokenizer:
    """The tokenizer with what this corpus repeats and it has no piece for."""

    def fill(place: Path) -> dict[str, Any]:
        with console.status("learning more pieces"):
            extend_tokenizer(tokenizer, _Sample(checked), pieces).save(place / "tokenizer.json")
        return {}

    made_from = {"format": 1, "text": checked.key, "pieces": pieces, "beside": tokenizer.fingerprint}
    path, _ = cache.folder("pieces", made_from, fill)
    return load_tokenizer(path / "tokenizer.json")


class _Sample:
    """The sentences that pieces are learnt from, to be gone through more than once."""

    def __init__(self, checked: Checked) -> None:
        self._checked = checked

    def __iter__(self) -> Iterator[str]:
        kept, wanted = self._checked.kept, min(SAMPLE, self._checked.kept)
        corpora = range(len(self._checked.corpora))
        texts = (pair for corpus in corpora for _, pair in self._checked.texts(corpus))
        for index, pair in enumerate(texts):
            if index * wanted // kept != (index + 1) * wanted // kept:
                yield from pair


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


def _read_valid(valid: PairFiles, strict: bool) -> tuple[tuple[Text, ...], dict[str, int]]:
    """The pairs to validate on as they are, less those without text; how many those are, by reason."""
    texts, left_out = [], Counter()
    for line, (source, target) in enumerate(valid.rows(), start=1):
        verdict = _as_texts(source, target)
        if isinstance(verdict, tuple):
            texts.append(verdict)
            continue
        left_out[verdict.name] += 1
        if strict:
            raise DataError(f"{valid.name} line {line}: {verdict.name}; --strict refuses it")
    if not texts:
        raise DataError(f"{valid.name} has no pair that could be validated on: {', '.join(left_out)}")
    return tuple(texts), dict(left_out)


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
    sentences = len(pairs.source)
    chosen = np.linspace(0, sentences - 1, min(sentences, MEASURED)).round().astype(np.int64)
    source, target = pairs.lengths_of(chosen)
    seen = np.zeros(vocab_size, np.int64)
    for side in (pairs.source, pairs.target):
        seen += np.bincount(side.take(chosen).flat, minlength=vocab_size)
    return {
        "lengths": {"source": _histogram(source), "target": _histogram(target)},
        "ratio": round(float(target.sum() / source.sum()), 4),
        "pieces": {
            "all": vocab_size - SMALLEST,
            "occur": int(np.count_nonzero(seen[SMALLEST:])),
            "bytes": round(float(seen[:SMALLEST].sum() / seen.sum()), 6),
        },
    }


def _histogram(lengths: Indexes) -> dict[str, list[int]]:
    """How many sentences are how long, from each of `bins` to the next."""
    width = -(-(int(lengths.max()) + 1) // BARS)
    counts = np.bincount(lengths // width)
    return {"bins": [width * bar for bar in range(len(counts) + 1)], "counts": counts.tolist()}


def _with_long(left_out: Mapping[str, int], too_long: int, max_length: int) -> dict[str, int]:
    return {**left_out, **({f"over {max_length - 1} pieces": too_long} if too_long else {})}


def _fingerprint(corpora: Sequence[PairFiles], files: Mapping[Path, FileFacts]) -> dict[str, str]:
    return {str(path): files[path].sha256 for corpus in corpora for path in corpus.files}
