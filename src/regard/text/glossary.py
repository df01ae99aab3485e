"""A glossary: how words and phrases are to be translated, whenever they occur."""

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path

from regard.errors import DataError
from regard.text.corpus_files import read_texts
from regard.text.unicode import is_unspaced_script

WordTuple = tuple[str, ...]


@dataclass(frozen=True)
class Glossary:
    """Source phrases and their translations; one that is there several times may become any of them."""

    entries: tuple[tuple[str, str], ...] = ()

    @staticmethod
    def read(path: Path) -> "Glossary":
        """A file with a source phrase, a tab and its translation on each line; blank lines do not count."""
        lines = enumerate(read_texts(path), start=1)
        return Glossary(tuple(_parse_entry(path, number, line) for number, line in lines if line.strip()))

    def find_required_targets(self, text: str) -> list[tuple[str, ...]]:
        """For each phrase of the glossary that the text has, in whole words, what it may become.

        Of phrases that overlap the longest counts. Capitals are heeded where the glossary has the phrase with
        the same ones, and otherwise not.
        """
        words = split_phrase(text)
        wanted: dict[tuple[str, ...], None] = {}
        here = 0
        while here < len(words):
            length, targets = self._match_at(words, here)
            if targets:
                wanted[targets] = None
            here += length
        return list(wanted)

    def _match_at(self, words: WordTuple, here: int) -> tuple[int, tuple[str, ...]]:
        """The longest phrase that begins at a word: how many words it has, and what it may become."""
        for length in range(min(self._longest, len(words) - here), 0, -1):
            phrase = words[here : here + length]
            if spellings := self._phrases.get(_casefold(phrase)):
                exact = tuple(target for spelling, target in spellings if spelling == phrase)
                return length, exact or tuple(target for _, target in spellings)
        return 1, ()

    @cached_property
    def _phrases(self) -> Mapping[WordTuple, list[tuple[WordTuple, str]]]:
        found: dict[WordTuple, list[tuple[WordTuple, str]]] = {}
        for source, target in self.entries:
            words = split_phrase(source)
            found.setdefault(_casefold(words), []).append((words, target))
        return found

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self._phrases), default=0)


EMPTY_GLOSSARY = Glossary()


def split_phrase(text: str) -> WordTuple:
    """Words of letters, marks and digits; signs, and letters of scripts without spaces, each by itself."""
    normal = unicodedata.normalize("NFC", text)
    found: list[str] = []
    for is_word, run in groupby(normal, _is_word_character):
        letters = "".join(run)
        found.extend([letters] if is_word else "".join(letters.split()))
    return tuple(found)


def _is_word_character(letter: str) -> bool:
    if letter.isascii():
        return letter.isalnum() or letter == "_"
    return not is_unspaced_script(letter) and unicodedata.category(letter)[0] in "LMN"


def _casefold(words: Iterable[str]) -> WordTuple:
    return tuple(word.casefold() for word in words)


def _parse_entry(path: Path, number: int, line: str) -> tuple[str, str]:
    source, _, target = (part.strip() for part in line.partition("\t"))
    if not source or not target or "\t" in target:
        raise DataError(
            f"{path} line {number} is no entry; it must have a source phrase, a tab and its translation"
        )
    return source, target
