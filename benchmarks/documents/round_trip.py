"""Do documents that others wrote come back whole? Reads every document in the given folders.

    python benchmarks/documents/round_trip.py FOLDER ... [--per-source 20] [--failures FILE]

Needs the extra `test`. Each folder in a FOLDER is a source: an unpacked package or a clone. Two questions
are asked of each document:

- copied: does a translation that equals the source text give the same file, byte for byte?
- changed: with a letter added to words, does somebody else's reader find the same structure (keys, elements,
  times, members of the archive), and does regard read back the texts that it wrote?

Prints a table by format and one by source. A file that is refused is counted with its reason; the exit code
is 1 if any document fails.
"""

import argparse
import hashlib
import re
import sys
import time
import traceback
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from structure import describe_structure

from regard.documents.document import Document
from regard.documents.formats import (
    DOCUMENT_FORMATS,
    SUFFIXES_BY_OPTION,
    DocumentOptions,
    read_document,
)
from regard.documents.template import Slot
from regard.errors import RegardError

WORD = re.compile(r"(?<!\S)[A-Za-z]{3,}(?=[\s.,!?]|$)")
"""A word without a placeholder or other syntax beside it."""


@dataclass(frozen=True)
class Outcome:
    """What became of one document."""

    path: Path
    source: str
    suffix: str
    status: str
    """copied, refused or failed"""
    detail: str = ""
    texts: int = 0
    changed: int = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--per-source", type=int, help="documents of each format read of each source")
    parser.add_argument("--failures", type=Path, help="a file for the refused and failed documents")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    outcomes = []
    for source, suffix, path in choose_documents(options.folders, options.per_source):
        started = time.perf_counter()
        outcomes.append(check_document(source, suffix, path))
        if (seconds := time.perf_counter() - started) > 10:
            print(f"{seconds:.0f} s for {path}", file=sys.stderr)
    print_tables(outcomes)
    if options.failures:
        others = [each for each in outcomes if each.status != "copied"]
        lines = [f"{each.status}\t{each.path}\t{each.detail}\n" for each in others]
        options.failures.write_text("".join(lines), encoding="utf-8")
    raise SystemExit(any(each.status == "failed" for each in outcomes))


def choose_documents(folders: list[Path], per_source: int | None) -> Iterator[tuple[str, str, Path]]:
    """Yield the source, format and path of each document; files with the same content once."""
    seen = set()
    for source in sorted(each for folder in folders for each in folder.iterdir() if each.is_dir()):
        counts: Counter[str] = Counter()
        for path in sorted(source.rglob("*"), key=lambda each: hashlib.sha256(each.name.encode()).digest()):
            suffix = path.suffix.lower()
            if suffix == ".txt" or suffix not in DOCUMENT_FORMATS or not path.is_file():
                continue
            digest = hashlib.sha256(path.read_bytes()).digest()
            if digest in seen or (per_source is not None and counts[suffix] >= per_source):
                continue
            seen.add(digest)
            counts[suffix] += 1
            yield source.name, suffix, path


def check_document(source: str, suffix: str, path: Path) -> Outcome:
    """Copy and change one document."""
    content = path.read_bytes()
    is_table = suffix in SUFFIXES_BY_OPTION["column"]
    options = DocumentOptions(column="1" if is_table else None)
    try:
        document = read_document(content, path.name, options)
        copy = document.render(document.segments)
        adds_translations = suffix in SUFFIXES_BY_OPTION["overwrite"]
        if copy != content and not (adds_translations and document.segments):
            return Outcome(path, source, suffix, "failed", "the copy differs", len(document.segments))
        changed, detail = check_changed(content, path.name, suffix, options)
    except RegardError as error:
        return Outcome(path, source, suffix, "refused", str(error))
    except Exception:  # a defect of regard's or of the other reader, to be printed with the rest
        return Outcome(path, source, suffix, "failed", traceback.format_exc(limit=-2).replace("\n", " | "))
    status = "failed" if detail else "copied"
    return Outcome(path, source, suffix, status, detail, len(document.segments), changed)


def check_changed(content: bytes, name: str, suffix: str, options: DocumentOptions) -> tuple[int, str]:
    """Return how many texts were changed, and what is wrong with the document that has them."""
    options = replace(options, overwrite=suffix in SUFFIXES_BY_OPTION["overwrite"])
    document = read_document(content, name, options)
    texts = change_words(document)
    changed = sum(text != old for text, old in zip(texts, document.segments, strict=True))
    result = document.render(texts)
    if not changed:
        return 0, ""
    try:
        before = describe_structure(content, suffix)
    except Exception:  # the other reader cannot read the original
        before = None
    if before is not None and before != (after := describe_structure(result, suffix)):
        place = next((i for i, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]), -1)
        found = f"{str(before[place])[:100]} became {str(after[place])[:100]}"
        return changed, f"another structure: {len(before)} and {len(after)} parts; {found}"
    return changed, describe_difference(document, texts, read_document(result, name, options), options)


def change_words(document: Document) -> list[str]:
    """Return the texts with a letter added to each word that does not occur in a protected span."""
    texts = [WORD.sub(add_letter, text) for text in document.segments]
    for index, slot in enumerate(document.content.slots):
        if slot.find_missing(texts[index]):
            words = {word for word in WORD.findall(slot.text) if not is_protected(slot, word)}
            texts[index] = WORD.sub(lambda word, words=words: word[0] + "é" * (word[0] in words), slot.text)
    return texts


def add_letter(word: re.Match[str]) -> str:
    return f"{word[0]}é"


def is_protected(slot: Slot, word: str) -> bool:
    """Whether a protected span has the word, or another case of it could be taken for the span."""
    pattern = re.compile(rf"\b{word}\b", re.IGNORECASE)
    others = any(found != word for found in pattern.findall(slot.text))
    return others or bool(slot.find_missing(pattern.sub(add_letter, slot.text)))


def describe_difference(
    document: Document, texts: list[str], again: Document, options: DocumentOptions
) -> str:
    """Return how the texts of the changed document, read again, differ from those written to it."""
    expected = list(document.segments) if options.overwrite else texts
    skipped = set(document.unsafe_segments(texts))
    expected = [document.segments[i] if i in skipped else text for i, text in enumerate(expected)]
    if list(again.segments) == expected:
        return ""
    if len(again.segments) != len(expected):
        return f"{len(expected)} texts became {len(again.segments)}"
    wrong = [pair for pair in zip(expected, again.segments, strict=True) if pair[0] != pair[1]]
    return f"{len(wrong)} texts differ: {wrong[0][0][:200]!r} became {wrong[0][1][:200]!r}"


def print_tables(outcomes: list[Outcome]) -> None:
    print("| format | sources | documents | copied and changed | refused | failed | texts | changed |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    by_suffix = defaultdict(list)
    for each in outcomes:
        by_suffix[each.suffix].append(each)
    for suffix, group in sorted(by_suffix.items()):
        print(f"| `{suffix}` | {summary(group)} |")
    print(f"| all | {summary(outcomes)} |\n")
    print("| source | documents that came back |\n| --- | --- |")
    by_source = defaultdict(Counter)
    for each in outcomes:
        if each.status == "copied":
            by_source[each.source][each.suffix] += 1
    for source, counts in sorted(by_source.items()):
        found = ", ".join(f"{number} {suffix.removeprefix('.')}" for suffix, number in sorted(counts.items()))
        print(f"| {source} | {found} |")


def summary(outcomes: list[Outcome]) -> str:
    statuses = Counter(each.status for each in outcomes)
    sources = len({each.source for each in outcomes})
    texts, changed = sum(each.texts for each in outcomes), sum(each.changed for each in outcomes)
    numbers = (len(outcomes), statuses["copied"], statuses["refused"], statuses["failed"], texts, changed)
    return " | ".join(f"{number:,}" for number in (sources, *numbers))


if __name__ == "__main__":
    main()
