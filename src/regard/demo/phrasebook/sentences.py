"""The commonest ways of saying: who does what to what and when, told, asked, owned, wished."""

from collections.abc import Iterable
from typing import NamedTuple

from regard.demo.phrasebook.clauses import (
    AFFIRMATIVE,
    NEGATED,
    PAST,
    Clause,
    Modal,
    VerbModifier,
    clause,
    question,
)
from regard.demo.phrasebook.entries import Verb
from regard.demo.phrasebook.noun_phrases import POSSESSIVES_BY_AGREEMENT, NounPhrase, PossessedNoun, Subject
from regard.demo.phrasebook.times import TimeAdverbial


class TimedClause(NamedTuple):
    """A clause and its time."""

    english: tuple[str, ...]
    french: tuple[str, ...]
    negative: bool
    english_end: str
    french_end: str


class TimedQuestion(NamedTuple):
    """A question's verb and its time."""

    auxiliary: tuple[str, ...]
    english: str
    french: tuple[str, ...]
    english_end: str
    french_end: str


def timed_clauses(
    verbs: Iterable[Verb], whens: Iterable[TimeAdverbial], turns: Iterable[VerbModifier] = (AFFIRMATIVE,)
) -> tuple[TimedClause, ...]:
    """Each verb at each time with each turn, but for what English leaves unclear: 'I read', now or then?"""
    whens, turns, found = tuple(whens), tuple(turns), []
    for verb in verbs:
        for when in whens:
            for turn in turns:
                if when.tense != PAST or when.marked or turn is NEGATED or verb.past != verb.english:
                    found.append(_timed_clause(clause(verb, when.tense, turn), when))
    return tuple(found)


def timed_questions(verbs: Iterable[Verb], whens: Iterable[TimeAdverbial]) -> tuple[TimedQuestion, ...]:
    """Each verb asked about at each time."""
    whens = tuple(whens)
    pairs = ((question(verb, when.tense), when) for verb in verbs for when in whens)
    return tuple(TimedQuestion(*asked, when.english, when.french) for asked, when in pairs)


def make_statement(subject: Subject, deed: TimedClause, thing: NounPhrase) -> tuple[str, str]:
    """'Jane buys the car tomorrow.'"""
    who = subject.agreement
    what = thing.french_negated if deed.negative else thing.french
    return (
        f"{subject.english} {deed.english[who]} {thing.english}{deed.english_end}.",
        f"{subject.french}{deed.french[who]} {what}{deed.french_end}.",
    )


def make_question(subject: Subject, asking: TimedQuestion, thing: NounPhrase) -> tuple[str, str]:
    """'Did Jane buy the car yesterday?'"""
    who = subject.agreement
    return (
        f"{asking.auxiliary[who]} {subject.english} {asking.english} {thing.english}{asking.english_end}?",
        f"est-ce {subject.that}{asking.french[who]} {thing.french}{asking.french_end} ?",
    )


def make_possessive_statement(
    subject: Subject, deed: TimedClause, owner: int, owned: PossessedNoun
) -> tuple[str, str]:
    """'Jane sells her car.'"""
    who = subject.agreement
    whose = POSSESSIVES_BY_AGREEMENT[who][owner]
    return (
        f"{subject.english} {deed.english[who]} {whose.english} {owned.english}{deed.english_end}.",
        f"{subject.french}{deed.french[who]} {owned.french[whose.column]}{deed.french_end}.",
    )


def make_modal_statement(subject: Subject, modal: Modal, verb: Verb, thing: NounPhrase) -> tuple[str, str]:
    """'Jane wants to buy the car.'"""
    who = subject.agreement
    what = thing.french_negated if modal.negative else thing.french
    deed = modal.link_infinitive(verb.french)
    return (
        f"{subject.english} {modal.english[who]} {verb.english} {thing.english}.",
        f"{subject.french}{modal.french[who]} {deed} {what}.",
    )


def make_modal_question(subject: Subject, modal: Modal, verb: Verb, thing: NounPhrase) -> tuple[str, str]:
    """'Does Jane want to buy the car?'"""
    who = subject.agreement
    before, after = modal.english[who].split("_")
    return (
        f"{before} {subject.english}{after} {verb.english} {thing.english}?",
        f"est-ce {subject.that}{modal.french[who]} {modal.link_infinitive(verb.french)} {thing.french} ?",
    )


def make_intransitive_statement(subject: Subject, deed: TimedClause) -> tuple[str, str]:
    """'Jane sings tomorrow.'"""
    who = subject.agreement
    return (
        f"{subject.english} {deed.english[who]}{deed.english_end}.",
        f"{subject.french}{deed.french[who]}{deed.french_end}.",
    )


def _timed_clause(said: Clause, when: TimeAdverbial) -> TimedClause:
    return TimedClause(said.english, said.french, said.negative, when.english, when.french)
