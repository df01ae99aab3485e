"""Sentences between people: helping, loving, giving, and the pronouns that stand for those who are helped."""

from collections.abc import Iterable
from typing import NamedTuple

from regard.demo.phrasebook import entries, french, lexicon, noun_phrases, times
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
from regard.demo.phrasebook.sentences import (
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
    """An object pronoun and what it adds to a participle that follows it."""

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
# French 'lui' is both 'to him' and 'to her'; here it is only 'to him'.
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
    """All of them; the brief ones with pronouns come as often as the others."""
    return [*_helping(), *_pronouns(), *_giving(), *_giving_to_pronouns()]


def _helping() -> list[Pattern]:
    verbs = entries.look_up_verbs(lexicon.PEOPLE_VERBS)
    told = timed_clauses(verbs, timed_adverbials()) + timed_clauses(verbs, UNTIMED, [AFFIRMATIVE, NEGATED])
    habits = timed_clauses(verbs, with_tenses([PRESENT], UNTIMED), FREQUENCIES)
    states = timed_clauses(
        entries.look_up_verbs("love, know"), with_tenses([PRESENT], UNTIMED), [AFFIRMATIVE, NEGATED]
    )
    asked = timed_questions(verbs, UNTIMED)
    planned = tuple(
        verb for verb in verbs if verb.english not in entries.split_listing(lexicon.UNPLANNED_VERBS)
    )
    found: list[Pattern] = []
    for weight, cast, others in _subject_object_groups():
        found += [
            Pattern("help", weight * 2, (cast.subjects, told, others), make_statement),
            Pattern("often help", weight * 0.6, (cast.subjects, habits, others), make_statement),
            Pattern("know", weight * 0.4, (cast.subjects, states, others), make_statement),
            Pattern("ask help", weight, (cast.subjects, asked, others), make_question),
            Pattern(
                "want to help",
                weight,
                (cast.subjects, modal_statements(), planned, others),
                make_modal_statement,
            ),
            Pattern(
                "can help",
                weight / 2,
                (cast.subjects, modal_questions(), planned, others),
                make_modal_question,
            ),
        ]
    slots = (told, range(1), noun_phrases.possessed_family())
    return found + [
        Pattern("help own", 0.7 * c.weight, (c.subjects, *slots), make_possessive_statement)
        for c in all_subject_groups()
    ]


def _subject_object_groups() -> list[tuple[float, SubjectGroup, tuple[NounPhrase, ...]]]:
    """Who meets whom: never two of one kind, so nobody meets himself."""
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
    whens = (*UNTIMED, *timed_adverbials())
    groups = (
        (1.0, all_subject_groups(), (HIM, HER, THEM)),
        (0.4, subject_groups_without(FIRST_PERSONS), (ME, US)),
        (0.3, subject_groups_without(SECOND_PERSON), (YOU,)),
    )
    states = with_tenses([PRESENT], UNTIMED)
    found: list[Pattern] = []
    for weight, casts, others in groups:
        verbs = entries.look_up_verbs(lexicon.PEOPLE_VERBS)
        helped = _pronoun_object_clauses(verbs, whens, (AFFIRMATIVE,), others)
        rare = _pronoun_object_clauses(verbs, UNTIMED, (NEVER,), others)
        denied = _pronoun_object_clauses(verbs, times.adverbials_with_negation(whens), (NEGATED,), others)
        wished = tuple(
            (verb, other) for verb in verbs for other in others if _is_unambiguous(verb, PRESENT, other)
        )
        loved = _pronoun_object_clauses(
            entries.look_up_verbs("love, know"), states, (AFFIRMATIVE, NEGATED), others
        )
        asked = _pronoun_object_questions(verbs, whens, others)
        for cast in casts:
            share = weight * cast.weight
            found += [
                Pattern("help him", share, (cast.subjects, helped), make_intransitive_statement),
                Pattern("not help him", share * 0.5, (cast.subjects, denied), make_intransitive_statement),
                Pattern(
                    "want to help him",
                    share * 0.7,
                    (cast.subjects, modal_statements(), wished),
                    _modal_with_pronoun,
                ),
                Pattern("never help him", share * 0.4, (cast.subjects, rare), make_intransitive_statement),
                Pattern("love him", share * 0.15, (cast.subjects, loved), make_intransitive_statement),
                Pattern("ask help him", share * 0.7, (cast.subjects, asked), _question_with_pronoun),
            ]
    return found


def _giving() -> list[Pattern]:
    verbs = entries.look_up_verbs(lexicon.GIVING_VERBS)
    gifts = _gift_phrases(
        noun_phrases.name_phrases() + noun_phrases.family_phrases() + noun_phrases.people_phrases()
    )
    told, asked = timed_clauses(verbs, timed_adverbials()), timed_questions(verbs, UNTIMED)
    brief = timed_clauses(verbs, UNTIMED, [AFFIRMATIVE, NEGATED])
    cast = pronoun_subjects()
    found = [
        Pattern("give", cast.weight * 1.5, (cast.subjects, brief, gifts), make_statement),
        Pattern("give, timed", cast.weight * 0.8, (cast.subjects, told, gifts), make_statement),
        Pattern("ask give", cast.weight * 0.6, (cast.subjects, asked, gifts), make_question),
    ]
    # A name gives to the family, the family to a name: nobody gives to himself.
    givers = (
        (named_subjects(), noun_phrases.people_phrases() + noun_phrases.family_phrases()),
        (family_subjects(), noun_phrases.name_phrases() + noun_phrases.people_phrases()),
        (stranger_subjects(), noun_phrases.name_phrases() + noun_phrases.family_phrases()),
    )
    return found + [
        Pattern("give", cast.weight, (cast.subjects, brief, _gift_phrases(kind)), make_statement)
        for cast, kind in givers
    ]


def _gift_phrases(others: Iterable[NounPhrase]) -> tuple[NounPhrase, ...]:
    others, things = tuple(others), noun_phrases.countable_phrases(entries.read_nouns(GIFTS), [None])
    return tuple(_gift_phrase(thing, other) for thing in things for other in others)


def _gift_phrase(thing: NounPhrase, other: NounPhrase) -> NounPhrase:
    """A thing and who gets it: 'the book to the boy', 'le livre au garçon'."""
    to = french.with_a(other.french)
    left, right, denied = (
        f"{thing.english} to {other.english}",
        f"{thing.french} {to}",
        f"{thing.french_negated} {to}",
    )
    return NounPhrase(left, right, denied, thing.feminine, thing.plural)


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
    found: list[Pattern] = []
    for weight, casts, others in groups:
        told = _pronoun_object_clauses(verbs, timed_adverbials(), (AFFIRMATIVE,), others, indirect=True)
        brief = _pronoun_object_clauses(verbs, UNTIMED, (AFFIRMATIVE, NEGATED), others, indirect=True)
        for cast in casts:
            share = weight * cast.weight
            found += [
                Pattern("give him", share, (cast.subjects, told, plain), make_statement),
                Pattern("give him described", share, (cast.subjects, brief, described), make_statement),
            ]
    return found


def _pronoun_object_clauses(
    verbs: Iterable[Verb],
    whens: Iterable[TimeAdverbial],
    turns: Iterable[VerbModifier],
    others: Iterable[ObjectPronoun],
    indirect: bool = False,
) -> tuple[TimedClause, ...]:
    """Deeds done to a pronoun, where the French says which pronoun it is."""
    whens, turns, others = tuple(whens), tuple(turns), tuple(others)
    return tuple(
        _pronoun_object_clause(verb, when, turn, other)
        for verb in verbs
        for other in others
        for when in whens
        if indirect or _is_unambiguous(verb, when.tense, other)
        for turn in turns
    )


def _pronoun_object_clause(
    verb: Verb, when: TimeAdverbial, turn: VerbModifier, other: ObjectPronoun
) -> TimedClause:
    left = tuple(f"{english_verb(verb, when.tense, turn, who)} {other.english}" for who in AGREEMENTS)
    right = tuple(french_verb(verb, when.tense, turn, who, other.french, other.ending) for who in AGREEMENTS)
    return TimedClause(left, right, turn.negative, when.english, when.french)


def _pronoun_object_questions(
    verbs: Iterable[Verb], whens: Iterable[TimeAdverbial], others: Iterable[ObjectPronoun]
) -> tuple[TimedQuestion, ...]:
    whens, others, found = tuple(whens), tuple(others), []
    for verb in verbs:
        for other in others:
            for when in whens:
                if _is_unambiguous(verb, when.tense, other):
                    deed = _pronoun_object_clause(verb, when, AFFIRMATIVE, other)
                    asked = question(verb, when.tense)
                    left = f"{verb.english} {other.english}"
                    found.append(TimedQuestion(asked.auxiliary, left, deed.french, when.english, when.french))
    return tuple(found)


def _is_unambiguous(verb: Verb, tense: str, other: ObjectPronoun) -> bool:
    """Whether the French shows who is meant, and the English what the French must show.

    Before a vowel le and la are both l', and only a participle tells them apart: there, outside the past,
    'her' is not said. A participle after 'me' or 'vous' would show a gender that English does not.
    """
    if tense == PAST:
        return other not in (ME, YOU)
    return other != HER or not french.elides(verb.french)


def _modal_with_pronoun(
    subject: Subject, modal: Modal, wished: tuple[Verb, ObjectPronoun]
) -> tuple[str, str]:
    who, (verb, other) = subject.agreement, wished
    deed = modal.link_infinitive(with_object_pronoun(other.french, verb.french))
    return (
        f"{subject.english} {modal.english[who]} {verb.english} {other.english}.",
        f"{subject.french}{modal.french[who]} {deed}.",
    )


def _question_with_pronoun(subject: Subject, asking: TimedQuestion) -> tuple[str, str]:
    who = subject.agreement
    return (
        f"{asking.auxiliary[who]} {subject.english} {asking.english}{asking.english_end}?",
        f"est-ce {subject.that}{asking.french[who]}{asking.french_end} ?",
    )
