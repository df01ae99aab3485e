"""Glossary: required translations of source words and phrases."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path

from regard.errors import DataError
from regard.text.corpus_files import read_texts
from regard.text.unicode import UNSPACED_LETTERS, UNSPACED_MARKS, is_unspaced_script, normalize_nfc

WordTuple = tuple[str, ...]
SINGLE_CHARACTER = re.compile(rf"[{UNSPACED_LETTERS}][{UNSPACED_MARKS}]*|\S")
"""A letter of a script without spaces and its combining marks, or a punctuation mark."""


@dataclass(frozen=True)
class Glossary:
    """Source phrases and their translations; a phrase with several entries may become any of them."""

    entries: tuple[tuple[str, str], ...] = ()

    @staticmethod
    def read(path: Path) -> "Glossary":
        """Read a file with a source phrase, a tab and its translation on each line; skip blank lines."""
        lines = enumerate(read_texts(path), start=1)
        return Glossary(tuple(_parse_entry(path, number, line) for number, line in lines if line.strip()))

    def find_required_targets(self, text: str) -> list[tuple[str, ...]]:
        """Return the allowed translations of each glossary phrase that occurs in the text as whole words.

        The longest of overlapping phrases wins. Case matters only where the glossary also has the phrase in
        the case of the text.
        """
        if not self.entries:
            return []
        words = split_phrase(text)
        required: dict[tuple[str, ...], None] = {}
        position = 0
        while position < len(words):
            length, targets = self._match_at(words, position)
            if targets:
                required[targets] = None
            position += length
        return list(required)

    def _match_at(self, words: WordTuple, position: int) -> tuple[int, tuple[str, ...]]:
        """Return the length of the longest phrase at a position, or 1, and its translations, or none."""
        for length in range(min(self._max_phrase_length, len(words) - position), 0, -1):
            phrase = words[position : position + length]
            if spellings := self._phrases.get(_casefold(phrase)):
                same_case = tuple(target for spelling, target in spellings if spelling == phrase)
                return length, same_case or tuple(target for _, target in spellings)
        return 1, ()

    @cached_property
    def _phrases(self) -> Mapping[WordTuple, list[tuple[WordTuple, str]]]:
        phrases: dict[WordTuple, list[tuple[WordTuple, str]]] = {}
        for source, target in self.entries:
            words = split_phrase(source)
            phrases.setdefault(_casefold(words), []).append((words, target))
        return phrases

    @cached_property
    def _max_phrase_length(self) -> int:
        return max(map(len, self._phrases), default=0)


EMPTY_GLOSSARY = Glossary()


def split_phrase(text: str) -> WordTuple:
    """Split into words; punctuation marks and letters of unspaced scripts stand alone."""
    words: list[str] = []
    for is_word, run in groupby(normalize_nfc(text), _is_word_character):
        characters = "".join(run)
        words.extend([characters] if is_word else SINGLE_CHARACTER.findall(characters))
    return tuple(words)


def _is_word_character(character: str) -> bool:
    if character.isascii():
        return character.isalnum() or character == "_"
    return not is_unspaced_script(character) and unicodedata.category(character)[0] in "LMN"


def _casefold(words: Iterable[str]) -> WordTuple:
    return tuple(word.casefold() for word in words)


def _parse_entry(path: Path, number: int, line: str) -> tuple[str, str]:
    source, _, target = (part.strip() for part in line.partition("\t"))
    if not source or not target or "\t" in target:
        raise DataError(
            f"{path} line {number} is no glossary entry; write the source phrase, a tab and its translation"
        )
    return source, target
