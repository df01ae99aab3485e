"""Sentences between people: helping, loving, giving, and the pronouns that stand for those who are helped."""

from collections.abc import Iterable
from typing import NamedTuple

from regard.demo.phrasebook import entries, french, lexicon, noun_phrases, times
from regard.demo.phrasebook.clauses import (
    AFFIRMED,
    DENIED,
    FREQUENCIES,
    NEVER,
    PAST,
    PRESENT,
    Modal,
    Turn,
    english_verb,
    french_verb,
    modal_questions,
    modals,
    question,
    with_pronoun,
)
from regard.demo.phrasebook.entries import Verb
from regard.demo.phrasebook.noun_phrases import AGREEMENTS, Subject, Thing
from regard.demo.phrasebook.sentence_pattern import Pattern
from regard.demo.phrasebook.sentences import Asking, Deed, ask, ask_wish, askings, deeds, do, own, tell, wish
from regard.demo.phrasebook.subjects import (
    FIRST_PERSONS,
    SECOND_PERSON,
    Cast,
    everyone,
    family,
    names,
    pronouns,
    strangers,
    without,
)
from regard.demo.phrasebook.times import UNTIMED, When, only, timed


class Pronoun(NamedTuple):
    """An object pronoun and what it adds to a participle that follows it."""

    english: str
    french: str
    ending: str


ME, YOU, US = Pronoun("me", "me", ""), Pronoun("you", "vous", ""), Pronoun("us", "nous", "s")
HIM, HER, THEM = Pronoun("him", "le", ""), Pronoun("her", "la", "e"), Pronoun("them", "les", "s")
# French 'lui' is both 'to him' and 'to her'; here it is only 'to him'.
TO_HIM, TO_THEM = Pronoun("him", "lui", ""), Pronoun("them", "leur", "")
TO_US = Pronoun("us", "nous", "")

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


def patterns() -> list[Pattern]:
    """All of them; the brief ones with pronouns come as often as the others."""
    return [*_helping(), *_pronouns(), *_giving(), *_giving_to_pronouns()]


def _helping() -> list[Pattern]:
    verbs = entries.verbs(lexicon.PEOPLE_VERBS)
    told = deeds(verbs, timed()) + deeds(verbs, UNTIMED, [AFFIRMED, DENIED])
    habits = deeds(verbs, only([PRESENT], UNTIMED), FREQUENCIES)
    states = deeds(entries.verbs("love, know"), only([PRESENT], UNTIMED), [AFFIRMED, DENIED])
    asked = askings(verbs, UNTIMED)
    planned = tuple(verb for verb in verbs if verb.english not in entries.names(lexicon.MISHAPS))
    found: list[Pattern] = []
    for weight, cast, others in _meetings():
        found += [
            Pattern("help", weight * 2, (cast.subjects, told, others), tell),
            Pattern("often help", weight * 0.6, (cast.subjects, habits, others), tell),
            Pattern("know", weight * 0.4, (cast.subjects, states, others), tell),
            Pattern("ask help", weight, (cast.subjects, asked, others), ask),
            Pattern("want to help", weight, (cast.subjects, modals(), planned, others), wish),
            Pattern("can help", weight / 2, (cast.subjects, modal_questions(), planned, others), ask_wish),
        ]
    slots = (told, range(1), noun_phrases.own_family())
    return found + [Pattern("help own", 0.7 * c.weight, (c.subjects, *slots), own) for c in everyone()]


def _meetings() -> list[tuple[float, Cast, tuple[Thing, ...]]]:
    """Who meets whom: never two of one kind, so nobody meets himself."""
    relatives, people = (
        tuple(noun_phrases.family()),
        tuple(noun_phrases.people() + noun_phrases.described_people()),
    )
    named = tuple(noun_phrases.named())
    return [
        (0.15, pronouns(), named),
        (0.15, pronouns(), people),
        (0.1, names(), relatives),
        (0.15, names(), people),
        (0.15, family(), named),
        (0.1, family(), people),
        (0.1, strangers(), named),
        (0.1, strangers(), relatives),
    ]


def _pronouns() -> list[Pattern]:
    whens = (*UNTIMED, *timed())
    groups = (
        (1.0, everyone(), (HIM, HER, THEM)),
        (0.4, without(FIRST_PERSONS), (ME, US)),
        (0.3, without(SECOND_PERSON), (YOU,)),
    )
    states = only([PRESENT], UNTIMED)
    found: list[Pattern] = []
    for weight, casts, others in groups:
        verbs = entries.verbs(lexicon.PEOPLE_VERBS)
        helped = _leaning(verbs, whens, (AFFIRMED,), others)
        rare = _leaning(verbs, UNTIMED, (NEVER,), others)
        denied = _leaning(verbs, times.deniable(whens), (DENIED,), others)
        wished = tuple((verb, other) for verb in verbs for other in others if _tells(verb, PRESENT, other))
        loved = _leaning(entries.verbs("love, know"), states, (AFFIRMED, DENIED), others)
        asked = _leaning_questions(verbs, whens, others)
        for cast in casts:
            share = weight * cast.weight
            found += [
                Pattern("help him", share, (cast.subjects, helped), do),
                Pattern("not help him", share * 0.5, (cast.subjects, denied), do),
                Pattern("want to help him", share * 0.7, (cast.subjects, modals(), wished), _wish_leaning),
                Pattern("never help him", share * 0.4, (cast.subjects, rare), do),
                Pattern("love him", share * 0.15, (cast.subjects, loved), do),
                Pattern("ask help him", share * 0.7, (cast.subjects, asked), _lean_asking),
            ]
    return found


def _giving() -> list[Pattern]:
    verbs = entries.verbs(lexicon.GIVING_VERBS)
    gifts = _gifts_to(noun_phrases.named() + noun_phrases.family() + noun_phrases.people())
    told, asked = deeds(verbs, timed()), askings(verbs, UNTIMED)
    brief = deeds(verbs, UNTIMED, [AFFIRMED, DENIED])
    cast = pronouns()
    found = [
        Pattern("give", cast.weight * 1.5, (cast.subjects, brief, gifts), tell),
        Pattern("give, timed", cast.weight * 0.8, (cast.subjects, told, gifts), tell),
        Pattern("ask give", cast.weight * 0.6, (cast.subjects, asked, gifts), ask),
    ]
    # A name gives to the family, the family to a name: nobody gives to himself.
    givers = (
        (names(), noun_phrases.people() + noun_phrases.family()),
        (family(), noun_phrases.named() + noun_phrases.people()),
        (strangers(), noun_phrases.named() + noun_phrases.family()),
    )
    return found + [
        Pattern("give", cast.weight, (cast.subjects, brief, _gifts_to(kind)), tell) for cast, kind in givers
    ]


def _gifts_to(others: Iterable[Thing]) -> tuple[Thing, ...]:
    others, things = tuple(others), noun_phrases.things(entries.nouns(GIFTS), [None])
    return tuple(_gift(thing, other) for thing in things for other in others)


def _gift(thing: Thing, other: Thing) -> Thing:
    """A thing and who gets it: 'the book to the boy', 'le livre au garçon'."""
    to = french.to(other.french)
    left, right, denied = (
        f"{thing.english} to {other.english}",
        f"{thing.french} {to}",
        f"{thing.denied} {to}",
    )
    return Thing(left, right, denied, thing.feminine, thing.plural)


def _giving_to_pronouns() -> list[Pattern]:
    verbs = entries.verbs(lexicon.GIVING_VERBS)
    nouns, adjectives = (
        entries.nouns(GIFTS),
        entries.adjectives("new, old, beautiful, pretty, small"),
    )
    plain, described = noun_phrases.things(nouns, [None]), noun_phrases.things(nouns, adjectives)
    groups = (
        (0.6, everyone(), (TO_HIM, TO_THEM)),
        (0.5, without(FIRST_PERSONS), (ME, TO_US)),
        (0.3, without(SECOND_PERSON), (YOU,)),
    )
    found: list[Pattern] = []
    for weight, casts, others in groups:
        told = _leaning(verbs, timed(), (AFFIRMED,), others, indirect=True)
        brief = _leaning(verbs, UNTIMED, (AFFIRMED, DENIED), others, indirect=True)
        for cast in casts:
            share = weight * cast.weight
            found += [
                Pattern("give him", share, (cast.subjects, told, plain), tell),
                Pattern("give him described", share, (cast.subjects, brief, described), tell),
            ]
    return found


def _leaning(
    verbs: Iterable[Verb],
    whens: Iterable[When],
    turns: Iterable[Turn],
    others: Iterable[Pronoun],
    indirect: bool = False,
) -> tuple[Deed, ...]:
    """Deeds done to a pronoun, where the French says which pronoun it is."""
    whens, turns, others = tuple(whens), tuple(turns), tuple(others)
    return tuple(
        _leaning_deed(verb, when, turn, other)
        for verb in verbs
        for other in others
        for when in whens
        if indirect or _tells(verb, when.tense, other)
        for turn in turns
    )


def _leaning_deed(verb: Verb, when: When, turn: Turn, other: Pronoun) -> Deed:
    left = tuple(f"{english_verb(verb, when.tense, turn, who)} {other.english}" for who in AGREEMENTS)
    right = tuple(french_verb(verb, when.tense, turn, who, other.french, other.ending) for who in AGREEMENTS)
    return Deed(left, right, turn.negative, when.english, when.french)


def _leaning_questions(
    verbs: Iterable[Verb], whens: Iterable[When], others: Iterable[Pronoun]
) -> tuple[Asking, ...]:
    whens, others, found = tuple(whens), tuple(others), []
    for verb in verbs:
        for other in others:
            for when in whens:
                if _tells(verb, when.tense, other):
                    deed = _leaning_deed(verb, when, AFFIRMED, other)
                    asked = question(verb, when.tense)
                    left = f"{verb.english} {other.english}"
                    found.append(Asking(asked.auxiliary, left, deed.french, when.english, when.french))
    return tuple(found)


def _tells(verb: Verb, tense: str, other: Pronoun) -> bool:
    """Whether the French shows who is meant, and the English what the French must show.

    Before a vowel le and la are both l', and only a participle tells them apart: there, outside the past,
    'her' is not said. A participle after 'me' or 'vous' would show a gender that English does not.
    """
    if tense == PAST:
        return other not in (ME, YOU)
    return other != HER or not french.elides(verb.french)


def _wish_leaning(subject: Subject, modal: Modal, wished: tuple[Verb, Pronoun]) -> tuple[str, str]:
    who, (verb, other) = subject.agreement, wished
    deed = modal.link(with_pronoun(other.french, verb.french))
    return (
        f"{subject.english} {modal.english[who]} {verb.english} {other.english}.",
        f"{subject.french}{modal.french[who]} {deed}.",
    )


def _lean_asking(subject: Subject, asking: Asking) -> tuple[str, str]:
    who = subject.agreement
    return (
        f"{asking.auxiliary[who]} {subject.english} {asking.english}{asking.english_end}?",
        f"est-ce {subject.that}{asking.french[who]}{asking.french_end} ?",
    )
