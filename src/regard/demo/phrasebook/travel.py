"""Sentences about places: visiting, going, living, being born, and timetables."""

from collections.abc import Iterable
from typing import NamedTuple

from regard.demo.phrasebook import entries, french, lexicon, noun_phrases, times
from regard.demo.phrasebook.basic_sentences import (
    TimedClause,
    TimedQuestion,
    make_intransitive_statement,
    make_modal_statement,
    make_question,
    make_statement,
    timed_clauses,
    timed_questions,
)
from regard.demo.phrasebook.clauses import (
    AFFIRMATIVE,
    FREQUENCIES,
    FUTURE,
    NEGATED,
    PAST,
    PRESENT,
    modal_statements,
)
from regard.demo.phrasebook.descriptions import BE
from regard.demo.phrasebook.entries import Verb
from regard.demo.phrasebook.noun_phrases import IL, NounPhrase, Subject, fixed_phrase
from regard.demo.phrasebook.sentence_pattern import Pattern
from regard.demo.phrasebook.subjects import (
    SubjectGroup,
    all_subject_groups,
    companion_phrases,
    gendered_pronoun_subjects,
    gendered_subject_groups,
    named_subjects,
    pronoun_subjects,
)
from regard.demo.phrasebook.times import UNTIMED, TimeAdverbial, timed_adverbials, with_tenses


class Place(NamedTuple):
    """A place as an object, and after the prepositions 'in' or 'at', 'to' and 'from'."""

    english: str
    french: str
    at: str  # 'in Japan', 'at the station'
    french_at: str  # 'au Japon', French for both 'at' and 'to'
    french_from: str  # 'du Japon'


TRANSPORT_PHRASES = (
    ("by train", "en train"),
    ("by car", "en voiture"),
    ("by plane", "en avion"),
    ("by bus", "en bus"),
)
BORN_FORMS = (
    "suis né",
    "êtes né",
    "sommes nés",
    "est né",
    "est née",
    "sont nés",
    "sont nées",
)  # by agreement
VEHICLES = """
train | train m
plane | avion m
bus | bus m
"""


def travel_patterns() -> list[Pattern]:
    """Return all patterns of this module."""
    return [*_visiting(), *_moving(), *_staying(), *_asking_where(), *_timetable(), *_born()]


def countries_and_cities() -> list[Place]:
    """Return countries, continents and cities."""
    return [*(_country(*row) for row in entries.table_rows(lexicon.COUNTRIES)), *_cities()]


def town_places() -> list[Place]:
    """Return the places of a town: the station, the market, the school."""
    return [_building(noun) for noun in entries.read_nouns(lexicon.PLACES)]


def _visiting() -> list[Pattern]:
    verbs = entries.look_up_verbs("visit, discover")
    statements = timed_clauses(verbs, timed_adverbials())
    often = timed_clauses(entries.look_up_verbs("visit"), with_tenses([PRESENT], UNTIMED), FREQUENCIES)
    plain = timed_clauses(verbs, UNTIMED, [AFFIRMATIVE, NEGATED]) + often
    questions = timed_questions(verbs, (*UNTIMED, *timed_adverbials()))
    things = tuple(fixed_phrase(place.english, place.french) for place in countries_and_cities())
    return [
        pattern
        for group in all_subject_groups()
        for pattern in (
            Pattern("visit, timed", group.weight * 1.5, (group.subjects, statements, things), make_statement),
            Pattern("visit", group.weight * 0.8, (group.subjects, plain, things), make_statement),
            Pattern("ask visit", group.weight * 0.7, (group.subjects, questions, things), make_question),
            Pattern(
                "want to visit",
                group.weight * 0.6,
                (group.subjects, modal_statements(), tuple(verbs), things),
                make_modal_statement,
            ),
        )
    ]


def _moving() -> list[Pattern]:
    """Return patterns of going, arriving and leaving, whose French past with être shows a gender."""
    patterns: list[Pattern] = []
    for verb, weight, goals in _destinations():
        patterns += _movement_patterns(verb, weight, goals)
    to, ride = _to(_cities()), tuple(fixed_phrase(*row) for row in TRANSPORT_PHRASES)
    patterns += _journeys(
        "ride",
        (*UNTIMED, *timed_adverbials()),
        tuple(_joined_phrase(place, by) for place in to for by in ride),
    )
    along = tuple(fixed_phrase(*companion) for companion in companion_phrases())
    together = tuple(_joined_phrase(place, companion) for place in _to(town_places()) for companion in along)
    return patterns + _journeys("go with", UNTIMED, together)


def _destinations() -> list[tuple[Verb, float, tuple[NounPhrase, ...]]]:
    everywhere = [*countries_and_cities(), *town_places()]
    return [
        (entries.look_up_verb("go"), 1.5, _to(everywhere)),
        (
            entries.look_up_verb("arrive"),
            0.7,
            tuple(fixed_phrase(place.at, place.french_at) for place in everywhere),
        ),
        (
            entries.look_up_verb("come back"),
            0.8,
            tuple(fixed_phrase(f"from {place.english}", place.french_from) for place in everywhere),
        ),
        (
            entries.look_up_verb("leave"),
            0.6,
            tuple(
                fixed_phrase(f"for {place.english}", f"pour {place.french}")
                for place in countries_and_cities()
            ),
        ),
        (
            entries.look_up_verb("stay"),
            0.6,
            tuple(fixed_phrase(place.at, place.french_at) for place in everywhere),
        ),
    ]


def _movement_patterns(verb: Verb, weight: float, goals: tuple[NounPhrase, ...]) -> list[Pattern]:
    adverbials = (*UNTIMED, *timed_adverbials())
    going, gone = _tenses(verb, adverbials)
    questions = timed_questions([verb], with_tenses([PRESENT, FUTURE], adverbials))
    asked_past = timed_questions([verb], with_tenses([PAST], adverbials))
    patterns: list[Pattern] = []
    for group in all_subject_groups():
        share = weight * group.weight
        patterns.append(Pattern("go", share * 0.7, (group.subjects, going, goals), make_statement))
        patterns.append(Pattern("ask go", share * 0.2, (group.subjects, questions, goals), make_question))
    for group in gendered_subject_groups():
        share = weight * group.weight
        patterns.append(Pattern("went", share * 0.7, (group.subjects, gone, goals), make_statement))
        patterns.append(Pattern("ask went", share * 0.2, (group.subjects, asked_past, goals), make_question))
    return patterns


def _tenses(
    verb: Verb, adverbials: Iterable[TimeAdverbial]
) -> tuple[tuple[TimedClause, ...], tuple[TimedClause, ...]]:
    """Return the clauses of a verb in present and future, and in the past."""
    adverbials = tuple(adverbials)
    statements, negated = (
        timed_clauses([verb], with_tenses([PRESENT, FUTURE], adverbials)),
        times.adverbials_with_negation(adverbials),
    )
    going = statements + timed_clauses([verb], with_tenses([PRESENT, FUTURE], negated), [NEGATED])
    gone = timed_clauses([verb], with_tenses([PAST], adverbials)) + timed_clauses(
        [verb], with_tenses([PAST], negated), [NEGATED]
    )
    return going + timed_clauses([verb], with_tenses([PRESENT], UNTIMED), FREQUENCIES), gone


def _journeys(name: str, adverbials: Iterable[TimeAdverbial], goals: tuple[NounPhrase, ...]) -> list[Pattern]:
    going, gone = _tenses(entries.look_up_verb("go"), adverbials)
    return [
        Pattern(name, 0.4, (pronoun_subjects().subjects, going, goals), make_statement),
        Pattern(name, 0.3, (gendered_pronoun_subjects().subjects, gone, goals), make_statement),
    ]


def _staying() -> list[Pattern]:
    """Return patterns of living, working and coming from somewhere."""
    lasting = with_tenses([PRESENT, FUTURE], UNTIMED)
    living = timed_clauses(entries.look_up_verbs("live"), lasting, [AFFIRMATIVE, NEGATED])
    work, adverbials = entries.look_up_verbs("work, study"), (*UNTIMED, *timed_adverbials())
    working = timed_clauses(work, adverbials) + timed_clauses(
        work, times.adverbials_with_negation(adverbials), [NEGATED]
    )
    coming = timed_clauses(
        entries.look_up_verbs("come"), with_tenses([PRESENT], UNTIMED), [AFFIRMATIVE, NEGATED]
    )
    homes = tuple(fixed_phrase(place.at, place.french_at) for place in countries_and_cities())
    jobs = homes + tuple(fixed_phrase(place.at, place.french_at) for place in town_places())
    origins = tuple(
        fixed_phrase(f"from {place.english}", place.french_from) for place in countries_and_cities()
    )
    return [
        pattern
        for group in all_subject_groups()
        for pattern in (
            Pattern("live", group.weight * 0.6, (group.subjects, living, homes), make_statement),
            Pattern("work", group.weight * 0.9, (group.subjects, working, jobs), make_statement),
            Pattern("come from", group.weight * 0.5, (group.subjects, coming, origins), make_statement),
            Pattern(
                "ask live",
                group.weight * 0.3,
                (group.subjects, timed_questions(entries.look_up_verbs("live, work"), lasting), homes),
                make_question,
            ),
        )
    ]


def _asking_where() -> list[Pattern]:
    """Return patterns like 'Where does Jane live?'"""
    where, why = ("where", "où"), ("why", "pourquoi")
    busy = timed_questions(
        entries.look_up_verbs("work, study, sleep, travel, dance, sing"), (*UNTIMED, *timed_adverbials())
    )
    going = timed_questions(
        entries.look_up_verbs("go"), with_tenses([PRESENT, FUTURE], (*UNTIMED, *timed_adverbials()))
    )
    living = timed_questions(entries.look_up_verbs("live"), with_tenses([PRESENT, FUTURE], UNTIMED))
    return [
        pattern
        for group in all_subject_groups()
        for pattern in (
            Pattern("where work", group.weight * 0.5, ((where, why), group.subjects, busy), _wh_question),
            Pattern("where go", group.weight * 0.3, ((where,), group.subjects, going), _wh_question),
            Pattern("where live", group.weight * 0.1, ((where,), group.subjects, living), _wh_question),
        )
    ]


def _timetable() -> list[Pattern]:
    """Return patterns like 'The train for Paris leaves at noon.'"""
    leave, arrive = entries.look_up_verbs("leave, arrive")
    hours = times.adverbials_in_tense(PRESENT, times.hour_phrases()) + times.adverbials_in_tense(
        FUTURE, times.hour_phrases()
    )
    leaving = timed_clauses([leave], hours, [AFFIRMATIVE, NEGATED])
    arriving = timed_clauses([arrive], hours, [AFFIRMATIVE, NEGATED])
    bound_for = _trains([(f"for {city.english}", f"pour {city.french}") for city in _cities()])
    coming_from = _trains([(f"from {city.english}", city.french_from) for city in _cities()])
    return [
        Pattern("train leaves", 0.35, (bound_for, leaving), make_intransitive_statement),
        Pattern("train arrives", 0.35, (coming_from, arriving), make_intransitive_statement),
    ]


def _trains(routes: Iterable[tuple[str, str]]) -> tuple[Subject, ...]:
    trains: list[NounPhrase] = []
    for left, right in routes:
        for noun in entries.read_nouns(VEHICLES):
            train = noun_phrases.with_definite_article(noun, noun.french[0], False)
            trains.append(fixed_phrase(f"the {noun.english[0]} {left}", f"{train} {right}"))
    return noun_phrases.as_subjects(trains)


def _born() -> list[Pattern]:
    """Return patterns like 'Jane was born in Paris on September 14.'"""
    places = [("", ""), *((f" {place.at}", f" {place.french_at}") for place in _cities())]
    days = [(f" {left}", f" {right}") for left, right in times.date_phrases()]
    years = [(f" in {year}", f" en {year}") for year in range(1980, 2020)]
    patterns: list[Pattern] = []
    for group in (
        SubjectGroup(0.3, tuple(s for s in gendered_pronoun_subjects().subjects if s.agreement >= IL)),
        named_subjects(),
    ):
        slots = (group.subjects, tuple(places))
        patterns.append(Pattern("born on", group.weight, (*slots, tuple(days)), _birth_statement))
        patterns.append(Pattern("born in", group.weight, (*slots, tuple(years)), _birth_statement))
    return patterns


def _wh_question(question_word: tuple[str, str], subject: Subject, timed: TimedQuestion) -> tuple[str, str]:
    person = subject.agreement
    return (
        f"{question_word[0]} {timed.auxiliary[person]} {subject.english} {timed.english}{timed.english_end}?",
        f"{question_word[1]} est-ce {subject.that}{timed.french[person]}{timed.french_end} ?",
    )


def _birth_statement(subject: Subject, where: tuple[str, str], adverbial: tuple[str, str]) -> tuple[str, str]:
    person = subject.agreement
    was = BE[PAST][person]
    return (
        f"{subject.english} {was} born{where[0]}{adverbial[0]}.",
        f"{subject.french}{BORN_FORMS[person]}{where[1]}{adverbial[1]}.",
    )


def _to(places: Iterable[Place]) -> tuple[NounPhrase, ...]:
    return tuple(fixed_phrase(f"to {place.english}", place.french_at) for place in places)


def _joined_phrase(first: NounPhrase, second: NounPhrase) -> NounPhrase:
    return fixed_phrase(f"{first.english} {second.english}", f"{first.french} {second.french}")


def _country(left: str, right: str) -> Place:
    phrase, _, gender = right.rpartition(" ")
    bare = phrase.removeprefix("l'").removeprefix("la ")
    feminine = gender == "f"
    there = f"en {bare}" if feminine else french.with_a(phrase)
    away = french.join_with_elision("de", bare) if feminine else french.with_de(phrase)
    return Place(left, phrase, f"in {left}", there, away)


def _cities() -> list[Place]:
    rows = entries.table_rows(lexicon.CITIES)
    return [
        Place(left, right, f"in {left}", french.with_a(right), french.with_de(right)) for left, right in rows
    ]


def _building(noun: entries.Noun) -> Place:
    left, right = f"the {noun.english[0]}", noun_phrases.with_definite_article(noun, noun.french[0], False)
    return Place(left, right, f"at {left}", french.with_a(right), french.with_de(right))
