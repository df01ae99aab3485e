"""Sentences about locations: 'there is a cup on the table', 'where are my shirts?'"""

from collections.abc import Iterable
from typing import NamedTuple

from regard.demo.phrasebook import english, entries, lexicon, noun_phrases
from regard.demo.phrasebook.clauses import AFFIRMATIVE, NEGATED, PAST, PRESENT, VerbModifier
from regard.demo.phrasebook.descriptions import (
    AVOIR,
    BE,
    ETRE,
    Predicate,
    copula,
    copula_question,
    make_copula_question,
    make_copula_statement,
    possessed_phrases,
)
from regard.demo.phrasebook.entries import Adjective, Noun
from regard.demo.phrasebook.noun_phrases import ELLES, IL, NounPhrase, Subject
from regard.demo.phrasebook.sentence_pattern import Pattern


class LocationPhrase(NamedTuple):
    """A location: 'on the table', 'sur la table'."""

    english: str
    french: str


SMALL_THINGS = """
book | livre m
letter | lettre f
cup | tasse f
plate | assiette f
glass | verre m
bottle | bouteille f
pen | stylo m
watch | montre f
basket | panier m
toy | jouet m
spoon | cuillère f
knife/knives | couteau m
umbrella | parapluie m
shirt | chemise f
scarf/scarves | écharpe f
box | boîte f
guitar | guitare f
"""
OTHER_THINGS = """
newspaper | journal m
magazine | magazine m
apple | pomme f
orange | orange f
egg | œuf m
cake | gâteau m
"""
SMALL_ADJECTIVES = "red, blue, green, yellow, white, black, big, small, new, old, beautiful, pretty"


def location_patterns() -> list[Pattern]:
    """Return all patterns of this module."""
    return [*_there(), *_where()]


def _there() -> list[Pattern]:
    """Return patterns like 'There are three cups on the table.'"""
    nouns, adjectives = entries.read_nouns(SMALL_THINGS), entries.look_up_adjectives(SMALL_ADJECTIVES)
    spots = _location_phrases()
    every = nouns + entries.read_nouns(OTHER_THINGS)
    indefinite = noun_phrases.indefinite_phrases(every, [None]) + noun_phrases.indefinite_phrases(
        nouns, adjectives
    )
    numbered = noun_phrases.counted_phrases(every, [None], range(2, 21))
    tenses, both = (
        (PRESENT, PAST),
        tuple((t, modifier) for t in (PRESENT, PAST) for modifier in (AFFIRMATIVE, NEGATED)),
    )
    return [
        Pattern("there is", 0.9, (both, indefinite, spots), _there_is),
        Pattern("there are", 0.6, (tuple((t, AFFIRMATIVE) for t in tenses), numbered, spots), _there_is),
        Pattern("is there", 0.4, (tenses, indefinite + numbered, spots), _is_there),
    ]


def _where() -> list[Pattern]:
    """Return patterns like 'Where are my blue shirts?' and 'The cup is not on the table.'"""
    nouns, adjectives = entries.read_nouns(SMALL_THINGS), entries.look_up_adjectives(SMALL_ADJECTIVES)
    plain = _located_subjects(nouns + entries.read_nouns(OTHER_THINGS), [None])
    described = _located_subjects(nouns, adjectives)
    placed = tuple(Predicate(spot.english, (spot.french,) * 7) for spot in _location_phrases())
    questions = tuple(copula_question(tense) for tense in (PRESENT, PAST))
    beings = tuple(
        copula(tense, modifier) for tense in (PRESENT, PAST) for modifier in (AFFIRMATIVE, NEGATED)
    )
    return [
        Pattern("where is", 0.3, (plain + described, (PRESENT, PAST)), _where_is),
        Pattern("is on", 0.5, (plain, beings, placed), make_copula_statement),
        Pattern("is on, described", 0.5, (described, beings, placed), make_copula_statement),
        Pattern("ask is on", 0.3, (plain + described, questions, placed), make_copula_question),
    ]


def _there_is(
    tense_and_modifier: tuple[str, VerbModifier], thing: NounPhrase, spot: LocationPhrase
) -> tuple[str, str]:
    tense, modifier = tense_and_modifier
    verb, a = BE[tense][ELLES if thing.plural else IL], AVOIR[tense][IL]
    if modifier is NEGATED:
        return (
            f"there {verb} no {english.without_indefinite_article(thing.english)} {spot.english}.",
            f"il n'y {a} pas {thing.french_negated} {spot.french}.",
        )
    return f"there {verb} {thing.english} {spot.english}.", f"il y {a} {thing.french} {spot.french}."


def _is_there(tense: str, thing: NounPhrase, spot: LocationPhrase) -> tuple[str, str]:
    verb, a = BE[tense][ELLES if thing.plural else IL], AVOIR[tense][IL]
    return (
        f"{verb} there {thing.english} {spot.english}?",
        f"est-ce qu'il y {a} {thing.french} {spot.french} ?",
    )


def _where_is(subject: Subject, tense: str) -> tuple[str, str]:
    person = subject.agreement
    return (
        f"where {BE[tense][person]} {subject.english}?",
        f"où {ETRE[tense][person]} {subject.french}?",
    )


def _located_subjects(nouns: Iterable[Noun], adjectives: Iterable[Adjective | None]) -> tuple[Subject, ...]:
    nouns, phrases = list(nouns), []
    for adjective in adjectives:
        for noun in nouns:
            for plural in (False, True):
                left = noun_phrases.english_phrase(noun, adjective, plural)
                right = noun_phrases.with_definite_article(
                    noun, noun_phrases.french_phrase(noun, adjective, plural), plural
                )
                phrases.append(NounPhrase(f"the {left}", right, right, noun.feminine, plural))
                phrases += possessed_phrases(noun, adjective, plural)
    return noun_phrases.as_subjects(phrases)


def _location_phrases() -> tuple[LocationPhrase, ...]:
    return tuple(LocationPhrase(left, right) for left, right in entries.table_rows(lexicon.LOCATION_PHRASES))
