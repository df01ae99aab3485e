"""Who is spoken of: the casts of subjects and the people that things are done to or given to."""

from functools import cache
from typing import NamedTuple

from regard.demo.phrasebook import noun_phrases
from regard.demo.phrasebook.noun_phrases import JE, NOUS, VOUS, Subject

FIRST_PERSONS, SECOND_PERSON = (JE, NOUS), (VOUS,)


class Cast(NamedTuple):
    """Subjects, and how often they speak compared with the other casts."""

    weight: float
    subjects: tuple[Subject, ...]


@cache
def pronouns() -> Cast:
    """I, you, we, he, she, they."""
    return Cast(0.4, noun_phrases.pronouns())


@cache
def sure_pronouns() -> Cast:
    """The pronouns whose gender is known: not I, not you."""
    return Cast(0.25, noun_phrases.pronouns_of_known_gender())


@cache
def third_pronouns() -> Cast:
    """He, she, they."""
    return Cast(0.25, tuple(s for s in noun_phrases.pronouns_of_known_gender() if s.agreement != NOUS))


@cache
def names() -> Cast:
    """Jane, Paul and the others."""
    return Cast(0.26, noun_phrases.as_subjects(noun_phrases.named()))


@cache
def family() -> Cast:
    """My sister, your uncles."""
    return Cast(0.17, noun_phrases.as_subjects(noun_phrases.family()))


@cache
def strangers() -> Cast:
    """The woman, these tourists."""
    return Cast(0.17, noun_phrases.as_subjects(noun_phrases.people()))


def everyone() -> tuple[Cast, ...]:
    """All who can act."""
    return pronouns(), names(), family(), strangers()


def everyone_of_known_gender() -> tuple[Cast, ...]:
    """All but I and you, whose participles would show a gender the English does not."""
    return sure_pronouns(), names(), family(), strangers()


def third_persons() -> tuple[Cast, ...]:
    """All but I, you and we."""
    return third_pronouns(), names(), family(), strangers()


def without(agreements: tuple[int, ...]) -> tuple[Cast, ...]:
    """All but the pronouns with these agreements."""
    left = tuple(s for s in noun_phrases.pronouns() if s.agreement not in agreements)
    return Cast(0.3, left), names(), family(), strangers()


def companions() -> list[tuple[str, str]]:
    """'with him', 'with Paul', 'with my sister'."""
    pronouns = (("him", "lui"), ("her", "elle"), ("them", "eux"))
    named = [(x.english, x.french) for x in noun_phrases.named() + noun_phrases.family()]
    return [(f"with {left}", f"avec {right}") for left, right in (*pronouns, *named)]
