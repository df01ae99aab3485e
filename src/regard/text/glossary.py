"""Glossary: the translations that a user wants for some source words and phrases."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from regard.text.glossary_file import LanguagePair, read_glossary_entries
from regard.text.unicode import UNSPACED_LETTERS, UNSPACED_MARKS, is_unspaced_script, normalize_nfc

WordTuple = tuple[str, ...]
SINGLE_CHARACTER = re.compile(rf"[{UNSPACED_LETTERS}][{UNSPACED_MARKS}]*|\S")
"""A letter of a script without spaces and its combining marks, or a punctuation mark."""
STEM_LETTERS, MAX_ENDING = 3, 3
"""Letters that an inflected word shares with its entry at least, and letters that may follow these."""


class TextWord(NamedTuple):
    """A word of a text and its characters."""

    text: str
    start: int
    end: int


class GlossaryMatch(NamedTuple):
    """A glossary phrase found in a text."""

    phrase: str
    """As it stands in the text."""
    start: int
    """Its first character in the text in NFC."""
    end: int
    targets: tuple[str, ...]
    """The translations, of which any will do."""


@dataclass(frozen=True)
class Glossary:
    """Source phrases and their translations; a phrase with several entries may become any of them."""

    entries: tuple[tuple[str, str], ...] = ()
    inflected: bool = False
    """Find other forms of a phrase in the text, too: houses for house."""

    @staticmethod
    def read(path: Path, languages: LanguagePair = (None, None), inflected: bool = False) -> "Glossary":
        """Read a .tsv, .csv or .tbx file; `languages` are the codes to choose in a file with several."""
        return Glossary(read_glossary_entries(path, languages), inflected)

    def find_matches(self, text: str) -> list[GlossaryMatch]:
        """Return where glossary phrases occur in the text as whole words.

        The longest of overlapping phrases wins. Case matters only where the glossary also has the phrase in
        the case of the text.
        """
        if not self.entries:
            return []
        text = normalize_nfc(text)
        words = list(split_words(text))
        matches: list[GlossaryMatch] = []
        position = 0
        while position < len(words):
            length, targets = self._match_at(words, position)
            if targets:
                start, end = words[position].start, words[position + length - 1].end
                matches.append(GlossaryMatch(text[start:end], start, end, targets))
            position += length
        return matches

    def _match_at(self, words: list[TextWord], position: int) -> tuple[int, tuple[str, ...]]:
        """Return the length of the longest phrase at a position, or 1, and its translations, or none."""
        for length in range(min(self._max_phrase_length, len(words) - position), 0, -1):
            phrase = tuple(word.text for word in words[position : position + length])
            if spellings := self._phrases.get(_casefold(phrase)) or self._find_inflected(phrase):
                same_case = tuple(target for spelling, target in spellings if spelling == phrase)
                return length, same_case or tuple(target for _, target in spellings)
        return 1, ()

    def _find_inflected(self, phrase: WordTuple) -> list[tuple[WordTuple, str]]:
        """Return the entries of which the phrase is an inflected form: those with the shortest endings."""
        if not self.inflected:
            return []
        folded = _fold(phrase)
        begins_alike = self._folded_phrases.get((len(phrase), folded[0][:STEM_LETTERS]), {})
        endings: dict[WordTuple, int] = {}
        for entry in begins_alike:
            counts = [_count_ending(*pair) for pair in zip(entry, folded, strict=True)]
            if None not in counts:
                endings[entry] = sum(count or 0 for count in counts)
        shortest = min(endings.values(), default=0)
        return [
            each for entry, ending in endings.items() if ending == shortest for each in begins_alike[entry]
        ]

    @cached_property
    def _phrases(self) -> Mapping[WordTuple, list[tuple[WordTuple, str]]]:
        phrases: dict[WordTuple, list[tuple[WordTuple, str]]] = {}
        for source, target in self.entries:
            words = split_phrase(source)
            phrases.setdefault(_casefold(words), []).append((words, target))
        return phrases

    @cached_property
    def _folded_phrases(self) -> Mapping[tuple[int, str], dict[WordTuple, list[tuple[WordTuple, str]]]]:
        """The entries without case and accents, by number of words and by how they begin."""
        phrases: dict[tuple[int, str], dict[WordTuple, list[tuple[WordTuple, str]]]] = {}
        for source, target in self.entries:
            words = split_phrase(source)
            folded = _fold(words)
            group = phrases.setdefault((len(words), folded[0][:STEM_LETTERS]), {})
            group.setdefault(folded, []).append((words, target))
        return phrases

    @cached_property
    def _max_phrase_length(self) -> int:
        return max(map(len, self._phrases), default=0)


EMPTY_GLOSSARY = Glossary()


def split_words(text: str) -> Iterator[TextWord]:
    """Yield words; punctuation marks and letters of unspaced scripts stand alone."""
    position = 0
    for is_word, run in groupby(text, _is_word_character):
        characters = "".join(run)
        if is_word:
            yield TextWord(characters, position, position + len(characters))
        else:
            for match in SINGLE_CHARACTER.finditer(characters):
                yield TextWord(match[0], position + match.start(), position + match.end())
        position += len(characters)


def split_phrase(text: str) -> WordTuple:
    """Return the words of a phrase, in NFC."""
    return tuple(word.text for word in split_words(normalize_nfc(text)))


def _is_word_character(character: str) -> bool:
    if character.isascii():
        return character.isalnum() or character == "_"
    return not is_unspaced_script(character) and unicodedata.category(character)[0] in "LMN"


def _casefold(words: Iterable[str]) -> WordTuple:
    return tuple(word.casefold() for word in words)


def _fold(words: Iterable[str]) -> WordTuple:
    """Return the words without case and accents."""
    decomposed = (unicodedata.normalize("NFD", word.casefold()) for word in words)
    return tuple("".join(c for c in word if unicodedata.category(c) != "Mn") or word for word in decomposed)


def _count_ending(entry: str, word: str) -> int | None:
    """Return how many letters at the end tell a word from an entry; None: it is another word.

    They begin alike, with at least three letters. The entry may have one more letter after that, and the word
    at most three, but fewer than the entry has letters: city and cities, car and cars, not car and carpet.
    """
    if entry == word:
        return 0
    shared = next((n for n, (a, b) in enumerate(zip(entry, word, strict=False)) if a != b), None)
    shared = min(len(entry), len(word)) if shared is None else shared
    fits = len(entry) - shared <= 1 and len(word) - shared <= min(MAX_ENDING, len(entry) - 1)
    is_word = entry.isalpha() and word.isalpha() and shared >= STEM_LETTERS
    return max(len(entry), len(word)) - shared if fits and is_word else None
