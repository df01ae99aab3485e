"""Groups of subjects with their relative frequencies."""

from functools import cache
from typing import NamedTuple

from regard.demo.phrasebook import noun_phrases
from regard.demo.phrasebook.noun_phrases import JE, NOUS, VOUS, Subject

FIRST_PERSONS, SECOND_PERSON = (JE, NOUS), (VOUS,)


class SubjectGroup(NamedTuple):
    """Subjects with their frequency relative to the other groups."""

    weight: float
    subjects: tuple[Subject, ...]


@cache
def pronoun_subjects() -> SubjectGroup:
    """Return I, you, we, he, she, they."""
    return SubjectGroup(0.4, noun_phrases.subject_pronouns())


@cache
def gendered_pronoun_subjects() -> SubjectGroup:
    """Return the pronouns of known gender: not I, not you."""
    return SubjectGroup(0.25, noun_phrases.gendered_subject_pronouns())


@cache
def third_person_pronoun_subjects() -> SubjectGroup:
    """Return he, she, they."""
    return SubjectGroup(
        0.25, tuple(s for s in noun_phrases.gendered_subject_pronouns() if s.agreement != NOUS)
    )


@cache
def named_subjects() -> SubjectGroup:
    """Return the first names."""
    return SubjectGroup(0.26, noun_phrases.as_subjects(noun_phrases.name_phrases()))


@cache
def family_subjects() -> SubjectGroup:
    """Return the family: my sister, your uncles."""
    return SubjectGroup(0.17, noun_phrases.as_subjects(noun_phrases.family_phrases()))


@cache
def stranger_subjects() -> SubjectGroup:
    """Return people described by a noun: the woman, these tourists."""
    return SubjectGroup(0.17, noun_phrases.as_subjects(noun_phrases.people_phrases()))


def all_subject_groups() -> tuple[SubjectGroup, ...]:
    """Return all subjects."""
    return pronoun_subjects(), named_subjects(), family_subjects(), stranger_subjects()


def gendered_subject_groups() -> tuple[SubjectGroup, ...]:
    """Return all but I and you, whose French participles would need a gender that English does not show."""
    return gendered_pronoun_subjects(), named_subjects(), family_subjects(), stranger_subjects()


def third_person_subject_groups() -> tuple[SubjectGroup, ...]:
    """Return all subjects in the third person."""
    return third_person_pronoun_subjects(), named_subjects(), family_subjects(), stranger_subjects()


def subject_groups_without(agreements: tuple[int, ...]) -> tuple[SubjectGroup, ...]:
    """Return all subjects but the pronouns with these agreements."""
    left = tuple(s for s in noun_phrases.subject_pronouns() if s.agreement not in agreements)
    return SubjectGroup(0.3, left), named_subjects(), family_subjects(), stranger_subjects()


def companion_phrases() -> list[tuple[str, str]]:
    """Return 'with him', 'with Paul', 'with my sister'."""
    pronouns = (("him", "lui"), ("her", "elle"), ("them", "eux"))
    named = [(x.english, x.french) for x in noun_phrases.name_phrases() + noun_phrases.family_phrases()]
    return [(f"with {left}", f"avec {right}") for left, right in (*pronouns, *named)]
