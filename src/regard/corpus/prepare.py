"""Corpora of whatever kind, on the way from files to ids: counted, cut into pieces learnt from them, kept."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from regard.corpus.check import CheckedCorpora, CorpusFiles
from regard.corpus.findings import FindingKind
from regard.corpus.progress import FileProgressBar
from regard.corpus.scan import empty_file_message, line_count_mismatch
from regard.data.cache import DiskCache, FileFacts
from regard.data.pairs import Indexes, PairDataset, RaggedIds
from regard.errors import DataError
from regard.text.tokenizer import (
    WORD_PATTERN,
    Tokenizer,
    learn_tokenizer,
    learn_word_tokenizer,
    load_tokenizer,
)
from regard.text.vocab_extension import extend_tokenizer
from regard.train.run_folder import DATA_REPORT_FILE
from regard.train.task import FileLines

TextPair = tuple[str, str]
MEASURED_SENTENCES, HISTOGRAM_BINS = 100_000, 50
"""Sentences that are measured, and bars of the picture that shows their lengths."""
TOKENIZER_SAMPLE_SIZE = 2_000_000
"""Pairs that the pieces are learnt from; of a larger corpus as many, evenly spaced."""


@dataclass(frozen=True)
class PreparedCorpora:
    """What a run learns from, and what it is judged on."""

    train: PairDataset
    """Mapped into memory, not read into it."""
    valid: PairDataset
    """Those that fit the model."""
    valid_texts: tuple[TextPair, ...]
    """All of them, source and target, or text and label."""
    tokenizer: Tokenizer
    held_out: bool
    """Whether the validation part was taken out of the training files."""
    fingerprint: Mapping[str, str]
    """The SHA-256 of each training file."""
    valid_fingerprint: Mapping[str, str]
    report: Mapping[str, Any]
    """What was found in the files and what became of it, for `data.json`."""
    unit: str = "pairs"
    """What a line of them holds."""

    def training_lines(self, pairs: Indexes) -> list[FileLines]:
        """Where those training pairs stand in the files."""
        files = [report["files"] for report in self.report["train"]["corpora"]]
        lines = self.train.line_numbers_of(pairs)
        return [FileLines(tuple(files[corpus]), tuple(numbers)) for corpus, numbers in lines.items()]

    def describe(self) -> Iterator[str]:
        """What a person should know of it before the training."""
        how = "held out of the training files" if self.held_out else "from their own files"
        train, valid = self.report["train"], self.report["valid"]
        sizes = f"{train['pairs']:,} {self.unit} to learn from, {valid['pairs']:,} to validate on"
        yield f"data    {sizes} ({how})"
        for part, name in ((train, "training"), (valid, "validation")):
            if said := [f"{why} ({count:,})" for why, count in part["left_out"].items()]:
                yield f"        left out of {name}: {', '.join(said)}"
        if self.train.epoch_size != len(self.train):
            weights = ", ".join(f"{weight:g}" for weight in self.train.weights)
            shown = f"{self.train.epoch_size:,} {self.unit}"
            yield f"        an epoch shows {shown}: the corpora have the weights {weights}"
        long = train["long"]
        if long.get("cut"):
            yield f"        cut to {train['longest']} pieces: {long['cut']:,} {self.unit}"
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


def open_cache(place: str | None, console: Console) -> DiskCache:
    """Where prepared corpora are kept; none is the user's own folder for such things."""
    return DiskCache(place, lambda said: console.print(f"  {said}"))


def write_data_report(run: Path, corpora: PreparedCorpora) -> None:
    """`data.json` in the run's folder: every finding with its lines, and which files were read."""
    document = {
        "files": dict(corpora.fingerprint),
        "valid_files": dict(corpora.valid_fingerprint),
        "held_out": corpora.held_out,
        **corpora.report,
    }
    (run / DATA_REPORT_FILE).write_text(
        json.dumps(document, ensure_ascii=False, indent=2) + "\n", "utf-8", "replace"
    )


@dataclass(frozen=True)
class TokenizerSpec:
    """What is to be learnt as pieces."""

    vocab_size: int
    lowercase: bool
    sides: int = 2
    """How many texts of a line they are learnt from."""
    whole_words: bool = False
    """Whether whole words, and not what byte-pair encoding finds."""


def count_files(corpora: Sequence[CorpusFiles], cache: DiskCache, console: Console) -> dict[Path, FileFacts]:
    """Lines and SHA-256 of each file; files that cannot match are refused here, before any work."""
    paths = [file for corpus in corpora for file in corpus.files]
    with FileProgressBar("counting lines", paths, console) as seen:
        found = {path: cache.file_facts(path, seen) for path in dict.fromkeys(paths)}
    for corpus in corpora:
        names, lines = [str(path) for path in corpus.files], [found[path].lines for path in corpus.files]
        if 0 in lines:
            raise DataError(empty_file_message(names[lines.index(0)]))
        if lines[0] != lines[-1]:
            raise DataError(line_count_mismatch(names, lines))
    return found


def learn_corpus_tokenizer(
    checked: CheckedCorpora, spec: TokenizerSpec, cache: DiskCache, console: Console
) -> Tokenizer:
    """From what the run learns from and nothing else."""

    def fill(place: Path) -> dict[str, Any]:
        with console.status("learning the pieces"):
            learn = learn_word_tokenizer if spec.whole_words else learn_tokenizer
            learn(_TokenizerSample(checked, spec.sides), spec.vocab_size, spec.lowercase).save(
                place / "tokenizer.json"
            )
        cache.reject_changed_files(checked.file_facts)
        return {}

    made_from = {"format": 1, "text": checked.key, "pieces": spec.vocab_size, "lowercase": spec.lowercase}
    path, _ = cache.get_or_create(
        "pieces", {**made_from, **({"words": WORD_PATTERN} if spec.whole_words else {})}, fill
    )
    return load_tokenizer(path / "tokenizer.json")


def extend_corpus_tokenizer(
    checked: CheckedCorpora, tokenizer: Tokenizer, new_tokens: int, cache: DiskCache, console: Console
) -> Tokenizer:
    """The tokenizer with what this corpus repeats and it has no piece for."""

    def fill(place: Path) -> dict[str, Any]:
        with console.status("learning more pieces"):
            extend_tokenizer(tokenizer, _TokenizerSample(checked), new_tokens).save(place / "tokenizer.json")
        return {}

    made_from = {"format": 1, "text": checked.key, "pieces": new_tokens, "beside": tokenizer.fingerprint}
    path, _ = cache.get_or_create("pieces", made_from, fill)
    return load_tokenizer(path / "tokenizer.json")


def tokenizer_sample_size(checked: CheckedCorpora) -> int:
    """How many lines pieces are learnt from, where that is not all of them; else 0."""
    return TOKENIZER_SAMPLE_SIZE if checked.kept_count > TOKENIZER_SAMPLE_SIZE else 0


class _TokenizerSample:
    """The sentences that pieces are learnt from, to be gone through more than once."""

    def __init__(self, checked: CheckedCorpora, sides: int = 2) -> None:
        self._checked, self._sides = checked, sides

    def __iter__(self) -> Iterator[str]:
        kept, wanted = self._checked.kept_count, min(TOKENIZER_SAMPLE_SIZE, self._checked.kept_count)
        corpora = range(len(self._checked.corpora))
        texts = (pair for corpus in corpora for _, pair in self._checked.read_texts(corpus))
        for index, pair in enumerate(texts):
            if index * wanted // kept != (index + 1) * wanted // kept:
                yield from pair[: self._sides]


def read_validation_texts(
    valid: CorpusFiles,
    check_row: Callable[[bytes | None, bytes | None], TextPair | FindingKind],
    unit: str,
    strict: bool,
) -> tuple[tuple[TextPair, ...], dict[str, int]]:
    """What to validate on as it is, less what is without text; how much that is, by reason."""
    texts, left_out = [], Counter()
    for line, row in enumerate(valid.read_rows(), start=1):
        verdict = check_row(*row)
        if isinstance(verdict, tuple):
            texts.append(verdict)
            continue
        left_out[verdict.name] += 1
        if strict and verdict.severity == "bad":
            raise DataError(f"{valid.name} line {line}: {verdict.name}; --strict refuses it")
    if not texts and not left_out:
        raise DataError(empty_file_message(valid.name))
    if not texts:
        raise DataError(f"{valid.name} has no {unit} that could be used: {', '.join(left_out)}")
    return tuple(texts), dict(left_out)


def sample_evenly(ids: RaggedIds) -> Indexes:
    """Of many sentences as many as tell, evenly spaced."""
    return np.linspace(0, len(ids) - 1, min(len(ids), MEASURED_SENTENCES)).round().astype(np.int64)


def length_histogram(lengths: Indexes) -> dict[str, list[int]]:
    """How many sentences are how long, from each of `bins` to the next."""
    width = -(-(int(lengths.max()) + 1) // HISTOGRAM_BINS)
    counts = np.bincount(lengths // width)
    return {"bins": [width * bar for bar in range(len(counts) + 1)], "counts": counts.tolist()}


def add_too_long(left_out: Mapping[str, int], too_long: int, max_length: int) -> dict[str, int]:
    return {**left_out, **({f"over {max_length - 1} pieces": too_long} if too_long else {})}


def hash_corpus_files(
    corpora: Sequence[CorpusFiles], valid: CorpusFiles | None, cache: str | None, console: Console
) -> dict[str, str]:
    """The SHA-256 of every file of a run, known before anything is made of them."""
    every = [*corpora, *([] if valid is None else [valid])]
    return sha256_by_path(every, count_files(every, open_cache(cache, console), console))


def sha256_by_path(corpora: Sequence[CorpusFiles], files: Mapping[Path, FileFacts]) -> dict[str, str]:
    return {str(path): files[path].sha256 for corpus in corpora for path in corpus.files}
