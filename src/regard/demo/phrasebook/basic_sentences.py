"""Builders of the basic sentences: statements, questions, possessives and modals."""

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
    """A verb phrase with its adverbial of time."""

    english: tuple[str, ...]
    french: tuple[str, ...]
    negative: bool
    english_end: str
    french_end: str


class TimedQuestion(NamedTuple):
    """The verb of a question with its adverbial of time."""

    auxiliary: tuple[str, ...]
    english: str
    french: tuple[str, ...]
    english_end: str
    french_end: str


def timed_clauses(
    verbs: Iterable[Verb],
    adverbials: Iterable[TimeAdverbial],
    modifiers: Iterable[VerbModifier] = (AFFIRMATIVE,),
) -> tuple[TimedClause, ...]:
    """Combine verbs, times and modifiers, except where the English tense is ambiguous, as in 'I read'."""
    adverbials, modifiers, clauses = tuple(adverbials), tuple(modifiers), []
    for verb in verbs:
        for adverbial in adverbials:
            for modifier in modifiers:
                if (
                    adverbial.tense != PAST
                    or adverbial.marked
                    or modifier is NEGATED
                    or verb.past != verb.english
                ):
                    clauses.append(_timed_clause(clause(verb, adverbial.tense, modifier), adverbial))
    return tuple(clauses)


def timed_questions(verbs: Iterable[Verb], adverbials: Iterable[TimeAdverbial]) -> tuple[TimedQuestion, ...]:
    """Combine verbs and times as questions."""
    adverbials = tuple(adverbials)
    pairs = ((question(verb, adverbial.tense), adverbial) for verb in verbs for adverbial in adverbials)
    return tuple(
        TimedQuestion(*questions, adverbial.english, adverbial.french) for questions, adverbial in pairs
    )


def make_statement(subject: Subject, timed: TimedClause, thing: NounPhrase) -> tuple[str, str]:
    """Build 'Jane buys the car tomorrow.'"""
    person = subject.agreement
    what = thing.french_negated if timed.negative else thing.french
    return (
        f"{subject.english} {timed.english[person]} {thing.english}{timed.english_end}.",
        f"{subject.french}{timed.french[person]} {what}{timed.french_end}.",
    )


def make_question(subject: Subject, timed: TimedQuestion, thing: NounPhrase) -> tuple[str, str]:
    """Build 'Did Jane buy the car yesterday?'"""
    person = subject.agreement
    return (
        f"{timed.auxiliary[person]} {subject.english} {timed.english} {thing.english}{timed.english_end}?",
        f"est-ce {subject.that}{timed.french[person]} {thing.french}{timed.french_end} ?",
    )


def make_possessive_statement(
    subject: Subject, timed: TimedClause, owner: int, owned: PossessedNoun
) -> tuple[str, str]:
    """Build 'Jane sells her car.'"""
    person = subject.agreement
    whose = POSSESSIVES_BY_AGREEMENT[person][owner]
    return (
        f"{subject.english} {timed.english[person]} {whose.english} {owned.english}{timed.english_end}.",
        f"{subject.french}{timed.french[person]} {owned.french[whose.column]}{timed.french_end}.",
    )


def make_modal_statement(subject: Subject, modal: Modal, verb: Verb, thing: NounPhrase) -> tuple[str, str]:
    """Build 'Jane wants to buy the car.'"""
    person = subject.agreement
    what = thing.french_negated if modal.negative else thing.french
    timed = modal.link_infinitive(verb.french)
    return (
        f"{subject.english} {modal.english[person]} {verb.english} {thing.english}.",
        f"{subject.french}{modal.french[person]} {timed} {what}.",
    )


def make_modal_question(subject: Subject, modal: Modal, verb: Verb, thing: NounPhrase) -> tuple[str, str]:
    """Build 'Does Jane want to buy the car?'"""
    person = subject.agreement
    before, after = modal.english[person].split("_")
    return (
        f"{before} {subject.english}{after} {verb.english} {thing.english}?",
        f"est-ce {subject.that}{modal.french[person]} {modal.link_infinitive(verb.french)} {thing.french} ?",
    )


def make_intransitive_statement(subject: Subject, timed: TimedClause) -> tuple[str, str]:
    """Build 'Jane sings tomorrow.'"""
    person = subject.agreement
    return (
        f"{subject.english} {timed.english[person]}{timed.english_end}.",
        f"{subject.french}{timed.french[person]}{timed.french_end}.",
    )


def _timed_clause(verb_clause: Clause, adverbial: TimeAdverbial) -> TimedClause:
    return TimedClause(
        verb_clause.english, verb_clause.french, verb_clause.negative, adverbial.english, adverbial.french
    )
