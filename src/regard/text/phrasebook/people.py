"""Who is spoken of: the casts of subjects and the people that things are done to or given to."""

from functools import cache
from typing import NamedTuple

from regard.text.phrasebook import phrases
from regard.text.phrasebook.phrases import JE, NOUS, VOUS, Subject

FIRST_PERSONS, SECOND_PERSON = (JE, NOUS), (VOUS,)


class Cast(NamedTuple):
    """Subjects, and how often they speak compared with the other casts."""

    weight: float
    subjects: tuple[Subject, ...]


@cache
def pronouns() -> Cast:
    """I, you, we, he, she, they."""
    return Cast(0.4, phrases.pronouns())


@cache
def sure_pronouns() -> Cast:
    """The pronouns whose gender is known: not I, not you."""
    return Cast(0.25, phrases.pronouns_of_known_gender())


@cache
def third_pronouns() -> Cast:
    """He, she, they."""
    return Cast(0.25, tuple(s for s in phrases.pronouns_of_known_gender() if s.agreement != NOUS))


@cache
def names() -> Cast:
    """Jane, Paul and the others."""
    return Cast(0.26, phrases.as_subjects(phrases.named()))


@cache
def family() -> Cast:
    """My sister, your uncles."""
    return Cast(0.17, phrases.as_subjects(phrases.family()))


@cache
def strangers() -> Cast:
    """The woman, these tourists."""
    return Cast(0.17, phrases.as_subjects(phrases.people()))


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
    left = tuple(s for s in phrases.pronouns() if s.agreement not in agreements)
    return Cast(0.3, left), names(), family(), strangers()


def companions() -> list[tuple[str, str]]:
    """'with him', 'with Paul', 'with my sister'."""
    pronouns = (("him", "lui"), ("her", "elle"), ("them", "eux"))
    named = [(x.english, x.french) for x in phrases.named() + phrases.family()]
    return [(f"with {left}", f"avec {right}") for left, right in (*pronouns, *named)]
