"""Adverbials of time, each with the tenses that it goes with."""

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from regard.demo.phrasebook import english, entries, french, lexicon
from regard.demo.phrasebook.clauses import FUTURE, PAST, PRESENT, TENSES


class TimeAdverbial(NamedTuple):
    """A tense and an adverbial of time, with a leading space, in both languages."""

    tense: str
    english: str
    french: str
    marked: bool  # the adverbial determines the tense: 'I read yesterday' is past


UNTIMED = tuple(TimeAdverbial(tense, "", "", False) for tense in TENSES)


@cache
def timed_adverbials() -> tuple[TimeAdverbial, ...]:
    """Return every tense with the times that suit it, with similar numbers for each tense."""
    shared = [*month_phrases(), *entries.table_rows(lexicon.SEASONS)]
    present = _adverbials(
        PRESENT, [*entries.table_rows(lexicon.HABIT_TIMES), *_every_weekday(), *shared], False
    )
    past = _adverbials(
        PAST, [*entries.table_rows(lexicon.PAST_TIMES), *_periods_ago(), *_last_weekday()], True
    )
    future = _adverbials(
        FUTURE, [*entries.table_rows(lexicon.FUTURE_TIMES), *_in_periods(), *_next_weekday()], True
    )
    return present + past + future + _adverbials(PAST, shared, False) + _adverbials(FUTURE, shared, True)


def adverbials_with_negation(adverbials: Iterable[TimeAdverbial]) -> tuple[TimeAdverbial, ...]:
    """Return the times that go with a negation: not 'every Monday'."""
    return tuple(adverbial for adverbial in adverbials if not adverbial.english.startswith(" every"))


def month_phrases() -> list[tuple[str, str]]:
    """Return 'in September', 'en septembre'."""
    return [(f"in {left}", f"en {right}") for left, right in entries.table_rows(lexicon.MONTHS)]


def _every_weekday() -> list[tuple[str, str]]:
    """Return 'every Monday', 'tous les lundis'."""
    return [(f"every {left}", f"tous les {right}s") for left, right in entries.table_rows(lexicon.WEEKDAYS)]


def date_phrases() -> list[tuple[str, str]]:
    """Return 'on September 14', 'le 14 septembre', for the days that every month has."""
    phrases: list[tuple[str, str]] = []
    for left, right in entries.table_rows(lexicon.MONTHS):
        phrases += [(f"on {left} {day}", f"le {'1er' if day == 1 else day} {right}") for day in range(1, 29)]
    return phrases


def hour_phrases() -> list[tuple[str, str]]:
    """Return 'at three o'clock', 'at half past three', 'at noon'."""
    phrases = [("at noon", "à midi"), ("at midnight", "à minuit")]
    for hour in range(1, 12):
        heures = f"à {french.french_number(hour, feminine=True)} heure{'s' if hour > 1 else ''}"
        phrases.append((f"at {english.english_number(hour)} o'clock", heures))
        phrases.append((f"at half past {english.english_number(hour)}", f"{heures} et demie"))
    return phrases


def with_tenses(tenses: Iterable[str], adverbials: Iterable[TimeAdverbial]) -> tuple[TimeAdverbial, ...]:
    """Return the times of these tenses."""
    tenses = tuple(tenses)
    return tuple(adverbial for adverbial in adverbials if adverbial.tense in tenses)


def adverbials_in_tense(tense: str, pairs: Iterable[tuple[str, str]]) -> tuple[TimeAdverbial, ...]:
    """Return these times in one tense."""
    return _adverbials(tense, pairs, True)


def _adverbials(tense: str, pairs: Iterable[tuple[str, str]], marked: bool) -> tuple[TimeAdverbial, ...]:
    return tuple(TimeAdverbial(tense, f" {left}", f" {right}", marked) for left, right in pairs)


def _last_weekday() -> list[tuple[str, str]]:
    return [(f"last {left}", f"{right} dernier") for left, right in entries.table_rows(lexicon.WEEKDAYS)]


def _next_weekday() -> list[tuple[str, str]]:
    return [(f"next {left}", f"{right} prochain") for left, right in entries.table_rows(lexicon.WEEKDAYS)]


def _periods_ago() -> list[tuple[str, str]]:
    return [(f"{left} ago", f"il y a {right}") for left, right in _spans()]


def _in_periods() -> list[tuple[str, str]]:
    return [(f"in {left}", f"dans {right}") for left, right in _spans()]


def _spans() -> list[tuple[str, str]]:
    phrases: list[tuple[str, str]] = []
    for left, right in entries.table_rows(lexicon.PERIODS):
        several = french.french_plural(right)
        phrases += [
            (f"{english.english_number(n)} {left}s", f"{french.french_number(n)} {several}")
            for n in (2, 3, 4, 5, 6)
        ]
    return phrases
