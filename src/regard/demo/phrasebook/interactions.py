"""Sentences between people: helping, loving and giving, with object pronouns."""

from collections.abc import Iterable
from typing import NamedTuple

from regard.demo.phrasebook import entries, french, lexicon, noun_phrases, times
from regard.demo.phrasebook.basic_sentences import (
    TimedClause,
    TimedQuestion,
    make_intransitive_statement,
    make_modal_question,
    make_modal_statement,
    make_possessive_statement,
    make_question,
    make_statement,
    timed_clauses,
    timed_questions,
)
from regard.demo.phrasebook.clauses import (
    AFFIRMATIVE,
    FREQUENCIES,
    NEGATED,
    NEVER,
    PAST,
    PRESENT,
    Modal,
    VerbModifier,
    english_verb,
    french_verb,
    modal_questions,
    modal_statements,
    question,
    with_object_pronoun,
)
from regard.demo.phrasebook.entries import Verb
from regard.demo.phrasebook.noun_phrases import AGREEMENTS, NounPhrase, Subject
from regard.demo.phrasebook.sentence_pattern import Pattern
from regard.demo.phrasebook.subjects import (
    FIRST_PERSONS,
    SECOND_PERSON,
    SubjectGroup,
    all_subject_groups,
    family_subjects,
    named_subjects,
    pronoun_subjects,
    stranger_subjects,
    subject_groups_without,
)
from regard.demo.phrasebook.times import UNTIMED, TimeAdverbial, timed_adverbials, with_tenses


class ObjectPronoun(NamedTuple):
    """An object pronoun, and the ending that it adds to a following participle."""

    english: str
    french: str
    ending: str


ME, YOU, US = (
    ObjectPronoun("me", "me", ""),
    ObjectPronoun("you", "vous", ""),
    ObjectPronoun("us", "nous", "s"),
)
HIM, HER, THEM = (
    ObjectPronoun("him", "le", ""),
    ObjectPronoun("her", "la", "e"),
    ObjectPronoun("them", "les", "s"),
)
# French 'lui' is both 'to him' and 'to her'; here only 'to him' is used.
TO_HIM, TO_THEM = ObjectPronoun("him", "lui", ""), ObjectPronoun("them", "leur", "")
TO_US = ObjectPronoun("us", "nous", "")

GIFTS = """
book | livre m
letter | lettre f
newspaper | journal m
apple | pomme f
orange | orange f
cake | gâteau m
watch | montre f
bag | sac m
umbrella | parapluie m
ring | bague f
toy | jouet m
pen | stylo m
car | voiture f
bicycle | vélo m
scarf/scarves | écharpe f
coat | manteau m
lamp | lampe f
computer | ordinateur m
"""


def people_patterns() -> list[Pattern]:
    """Return all patterns of this module; short ones with pronouns are as frequent as the others."""
    return [*_helping(), *_pronouns(), *_giving(), *_giving_to_pronouns()]


def _helping() -> list[Pattern]:
    verbs = entries.look_up_verbs(lexicon.PEOPLE_VERBS)
    statements = timed_clauses(verbs, timed_adverbials()) + timed_clauses(
        verbs, UNTIMED, [AFFIRMATIVE, NEGATED]
    )
    habits = timed_clauses(verbs, with_tenses([PRESENT], UNTIMED), FREQUENCIES)
    states = timed_clauses(
        entries.look_up_verbs("love, know"), with_tenses([PRESENT], UNTIMED), [AFFIRMATIVE, NEGATED]
    )
    questions = timed_questions(verbs, UNTIMED)
    planned = tuple(
        verb for verb in verbs if verb.english not in entries.split_listing(lexicon.UNPLANNED_VERBS)
    )
    patterns: list[Pattern] = []
    for weight, group, others in _subject_object_groups():
        patterns += [
            Pattern("help", weight * 2, (group.subjects, statements, others), make_statement),
            Pattern("often help", weight * 0.6, (group.subjects, habits, others), make_statement),
            Pattern("know", weight * 0.4, (group.subjects, states, others), make_statement),
            Pattern("ask help", weight, (group.subjects, questions, others), make_question),
            Pattern(
                "want to help",
                weight,
                (group.subjects, modal_statements(), planned, others),
                make_modal_statement,
            ),
            Pattern(
                "can help",
                weight / 2,
                (group.subjects, modal_questions(), planned, others),
                make_modal_question,
            ),
        ]
    slots = (statements, range(1), noun_phrases.possessed_family())
    return patterns + [
        Pattern("help own", 0.7 * c.weight, (c.subjects, *slots), make_possessive_statement)
        for c in all_subject_groups()
    ]


def _subject_object_groups() -> list[tuple[float, SubjectGroup, tuple[NounPhrase, ...]]]:
    """Return subjects with objects of another kind, so that they are never the same person."""
    relatives, people = (
        tuple(noun_phrases.family_phrases()),
        tuple(noun_phrases.people_phrases() + noun_phrases.described_people()),
    )
    named = tuple(noun_phrases.name_phrases())
    return [
        (0.15, pronoun_subjects(), named),
        (0.15, pronoun_subjects(), people),
        (0.1, named_subjects(), relatives),
        (0.15, named_subjects(), people),
        (0.15, family_subjects(), named),
        (0.1, family_subjects(), people),
        (0.1, stranger_subjects(), named),
        (0.1, stranger_subjects(), relatives),
    ]


def _pronouns() -> list[Pattern]:
    adverbials = (*UNTIMED, *timed_adverbials())
    groups = (
        (1.0, all_subject_groups(), (HIM, HER, THEM)),
        (0.4, subject_groups_without(FIRST_PERSONS), (ME, US)),
        (0.3, subject_groups_without(SECOND_PERSON), (YOU,)),
    )
    states = with_tenses([PRESENT], UNTIMED)
    patterns: list[Pattern] = []
    for weight, subject_groups, others in groups:
        verbs = entries.look_up_verbs(lexicon.PEOPLE_VERBS)
        helped = _pronoun_object_clauses(verbs, adverbials, (AFFIRMATIVE,), others)
        rare = _pronoun_object_clauses(verbs, UNTIMED, (NEVER,), others)
        negated = _pronoun_object_clauses(
            verbs, times.adverbials_with_negation(adverbials), (NEGATED,), others
        )
        wished = tuple(
            (verb, other) for verb in verbs for other in others if _is_unambiguous(verb, PRESENT, other)
        )
        loved = _pronoun_object_clauses(
            entries.look_up_verbs("love, know"), states, (AFFIRMATIVE, NEGATED), others
        )
        questions = _pronoun_object_questions(verbs, adverbials, others)
        for group in subject_groups:
            share = weight * group.weight
            patterns += [
                Pattern("help him", share, (group.subjects, helped), make_intransitive_statement),
                Pattern("not help him", share * 0.5, (group.subjects, negated), make_intransitive_statement),
                Pattern(
                    "want to help him",
                    share * 0.7,
                    (group.subjects, modal_statements(), wished),
                    _modal_with_pronoun,
                ),
                Pattern("never help him", share * 0.4, (group.subjects, rare), make_intransitive_statement),
                Pattern("love him", share * 0.15, (group.subjects, loved), make_intransitive_statement),
                Pattern("ask help him", share * 0.7, (group.subjects, questions), _question_with_pronoun),
            ]
    return patterns


def _giving() -> list[Pattern]:
    verbs = entries.look_up_verbs(lexicon.GIVING_VERBS)
    gifts = _gift_phrases(
        noun_phrases.name_phrases() + noun_phrases.family_phrases() + noun_phrases.people_phrases()
    )
    statements, questions = timed_clauses(verbs, timed_adverbials()), timed_questions(verbs, UNTIMED)
    brief = timed_clauses(verbs, UNTIMED, [AFFIRMATIVE, NEGATED])
    group = pronoun_subjects()
    patterns = [
        Pattern("give", group.weight * 1.5, (group.subjects, brief, gifts), make_statement),
        Pattern("give, timed", group.weight * 0.8, (group.subjects, statements, gifts), make_statement),
        Pattern("ask give", group.weight * 0.6, (group.subjects, questions, gifts), make_question),
    ]
    # Givers and receivers are of different kinds, so never the same person.
    givers = (
        (named_subjects(), noun_phrases.people_phrases() + noun_phrases.family_phrases()),
        (family_subjects(), noun_phrases.name_phrases() + noun_phrases.people_phrases()),
        (stranger_subjects(), noun_phrases.name_phrases() + noun_phrases.family_phrases()),
    )
    return patterns + [
        Pattern("give", group.weight, (group.subjects, brief, _gift_phrases(kind)), make_statement)
        for group, kind in givers
    ]


def _gift_phrases(others: Iterable[NounPhrase]) -> tuple[NounPhrase, ...]:
    others, things = tuple(others), noun_phrases.countable_phrases(entries.read_nouns(GIFTS), [None])
    return tuple(_gift_phrase(thing, other) for thing in things for other in others)


def _gift_phrase(thing: NounPhrase, other: NounPhrase) -> NounPhrase:
    """Join a thing and its receiver: 'the book to the boy', 'le livre au garçon'."""
    to = french.with_a(other.french)
    left, right, negated = (
        f"{thing.english} to {other.english}",
        f"{thing.french} {to}",
        f"{thing.french_negated} {to}",
    )
    return NounPhrase(left, right, negated, thing.feminine, thing.plural)


def _giving_to_pronouns() -> list[Pattern]:
    verbs = entries.look_up_verbs(lexicon.GIVING_VERBS)
    nouns, adjectives = (
        entries.read_nouns(GIFTS),
        entries.look_up_adjectives("new, old, beautiful, pretty, small"),
    )
    plain, described = (
        noun_phrases.countable_phrases(nouns, [None]),
        noun_phrases.countable_phrases(nouns, adjectives),
    )
    groups = (
        (0.6, all_subject_groups(), (TO_HIM, TO_THEM)),
        (0.5, subject_groups_without(FIRST_PERSONS), (ME, TO_US)),
        (0.3, subject_groups_without(SECOND_PERSON), (YOU,)),
    )
    patterns: list[Pattern] = []
    for weight, subject_groups, others in groups:
        statements = _pronoun_object_clauses(verbs, timed_adverbials(), (AFFIRMATIVE,), others, indirect=True)
        brief = _pronoun_object_clauses(verbs, UNTIMED, (AFFIRMATIVE, NEGATED), others, indirect=True)
        for group in subject_groups:
            share = weight * group.weight
            patterns += [
                Pattern("give him", share, (group.subjects, statements, plain), make_statement),
                Pattern("give him described", share, (group.subjects, brief, described), make_statement),
            ]
    return patterns


def _pronoun_object_clauses(
    verbs: Iterable[Verb],
    adverbials: Iterable[TimeAdverbial],
    modifiers: Iterable[VerbModifier],
    others: Iterable[ObjectPronoun],
    indirect: bool = False,
) -> tuple[TimedClause, ...]:
    """Return clauses with an object pronoun, where the French pronoun is unambiguous."""
    adverbials, modifiers, others = tuple(adverbials), tuple(modifiers), tuple(others)
    return tuple(
        _pronoun_object_clause(verb, adverbial, modifier, other)
        for verb in verbs
        for other in others
        for adverbial in adverbials
        if indirect or _is_unambiguous(verb, adverbial.tense, other)
        for modifier in modifiers
    )


def _pronoun_object_clause(
    verb: Verb, adverbial: TimeAdverbial, modifier: VerbModifier, other: ObjectPronoun
) -> TimedClause:
    left = tuple(
        f"{english_verb(verb, adverbial.tense, modifier, person)} {other.english}" for person in AGREEMENTS
    )
    right = tuple(
        french_verb(verb, adverbial.tense, modifier, person, other.french, other.ending)
        for person in AGREEMENTS
    )
    return TimedClause(left, right, modifier.negative, adverbial.english, adverbial.french)


def _pronoun_object_questions(
    verbs: Iterable[Verb], adverbials: Iterable[TimeAdverbial], others: Iterable[ObjectPronoun]
) -> tuple[TimedQuestion, ...]:
    adverbials, others, questions = tuple(adverbials), tuple(others), []
    for verb in verbs:
        for other in others:
            for adverbial in adverbials:
                if _is_unambiguous(verb, adverbial.tense, other):
                    timed = _pronoun_object_clause(verb, adverbial, AFFIRMATIVE, other)
                    forms = question(verb, adverbial.tense)
                    left = f"{verb.english} {other.english}"
                    questions.append(
                        TimedQuestion(
                            forms.auxiliary, left, timed.french, adverbial.english, adverbial.french
                        )
                    )
    return tuple(questions)


def _is_unambiguous(verb: Verb, tense: str, other: ObjectPronoun) -> bool:
    """Return whether each language determines the pronoun and participle of the other.

    Before a vowel le and la are both l', and only a participle tells them apart: there, outside the past,
    'her' is not used. A participle after 'me' or 'vous' would show a gender that English does not.
    """
    if tense == PAST:
        return other not in (ME, YOU)
    return other != HER or not french.elides(verb.french)


def _modal_with_pronoun(
    subject: Subject, modal: Modal, wished: tuple[Verb, ObjectPronoun]
) -> tuple[str, str]:
    person, (verb, other) = subject.agreement, wished
    timed = modal.link_infinitive(with_object_pronoun(other.french, verb.french))
    return (
        f"{subject.english} {modal.english[person]} {verb.english} {other.english}.",
        f"{subject.french}{modal.french[person]} {timed}.",
    )


def _question_with_pronoun(subject: Subject, timed: TimedQuestion) -> tuple[str, str]:
    person = subject.agreement
    return (
        f"{timed.auxiliary[person]} {subject.english} {timed.english}{timed.english_end}?",
        f"est-ce {subject.that}{timed.french[person]}{timed.french_end} ?",
    )
