"""Sentences about places: visiting, going, living, coming from, and the trains that leave for them."""

from collections.abc import Iterable
from typing import NamedTuple

from regard.demo.phrasebook import entries, french, lexicon, noun_phrases, times
from regard.demo.phrasebook.clauses import AFFIRMED, DENIED, FREQUENCIES, FUTURE, PAST, PRESENT, modals
from regard.demo.phrasebook.descriptions import BE
from regard.demo.phrasebook.entries import Verb
from regard.demo.phrasebook.noun_phrases import IL, Subject, Thing, fixed
from regard.demo.phrasebook.sentence_pattern import Pattern
from regard.demo.phrasebook.sentences import Asking, Deed, ask, askings, deeds, do, tell, wish
from regard.demo.phrasebook.subjects import (
    Cast,
    companions,
    everyone,
    everyone_of_known_gender,
    names,
    pronouns,
    sure_pronouns,
)
from regard.demo.phrasebook.times import UNTIMED, When, only, timed


class Place(NamedTuple):
    """A place as the object of a visit, and after 'in' or 'at', 'to', and 'from'."""

    english: str
    french: str
    at: str  # 'in Japan', 'at the station'
    there: str  # 'au Japon', French for both 'at' and 'to'
    away: str  # 'du Japon'


RIDES = (
    ("by train", "en train"),
    ("by car", "en voiture"),
    ("by plane", "en avion"),
    ("by bus", "en bus"),
)
BORN = ("suis né", "êtes né", "sommes nés", "est né", "est née", "sont nés", "sont nées")  # by agreement
VEHICLES = """
train | train m
plane | avion m
bus | bus m
"""


def patterns() -> list[Pattern]:
    """All of them."""
    return [*_visiting(), *_moving(), *_staying(), *_asking_where(), *_timetable(), *_born()]


def abroad() -> list[Place]:
    """Countries, continents and cities."""
    return [*(_country(*row) for row in entries.rows(lexicon.COUNTRIES)), *_cities()]


def about_town() -> list[Place]:
    """The station, the market, the school."""
    return [_building(noun) for noun in entries.nouns(lexicon.PLACES)]


def _visiting() -> list[Pattern]:
    verbs = entries.verbs("visit, discover")
    told = deeds(verbs, timed())
    often = deeds(entries.verbs("visit"), only([PRESENT], UNTIMED), FREQUENCIES)
    plain = deeds(verbs, UNTIMED, [AFFIRMED, DENIED]) + often
    asked = askings(verbs, (*UNTIMED, *timed()))
    things = tuple(fixed(place.english, place.french) for place in abroad())
    return [
        pattern
        for cast in everyone()
        for pattern in (
            Pattern("visit, timed", cast.weight * 1.5, (cast.subjects, told, things), tell),
            Pattern("visit", cast.weight * 0.8, (cast.subjects, plain, things), tell),
            Pattern("ask visit", cast.weight * 0.7, (cast.subjects, asked, things), ask),
            Pattern(
                "want to visit", cast.weight * 0.6, (cast.subjects, modals(), tuple(verbs), things), wish
            ),
        )
    ]


def _moving() -> list[Pattern]:
    """Going, arriving, coming back and leaving: their past is made with être and shows a gender."""
    found: list[Pattern] = []
    for verb, weight, goals in _goals():
        found += _moved(verb, weight, goals)
    to, ride = _to(_cities()), tuple(fixed(*row) for row in RIDES)
    found += _journeys("ride", (*UNTIMED, *timed()), tuple(_both(place, by) for place in to for by in ride))
    along = tuple(fixed(*companion) for companion in companions())
    together = tuple(_both(place, companion) for place in _to(about_town()) for companion in along)
    return found + _journeys("go with", UNTIMED, together)


def _goals() -> list[tuple[Verb, float, tuple[Thing, ...]]]:
    everywhere = [*abroad(), *about_town()]
    return [
        (entries.verb("go"), 1.5, _to(everywhere)),
        (entries.verb("arrive"), 0.7, tuple(fixed(place.at, place.there) for place in everywhere)),
        (
            entries.verb("come back"),
            0.8,
            tuple(fixed(f"from {place.english}", place.away) for place in everywhere),
        ),
        (
            entries.verb("leave"),
            0.6,
            tuple(fixed(f"for {place.english}", f"pour {place.french}") for place in abroad()),
        ),
        (entries.verb("stay"), 0.6, tuple(fixed(place.at, place.there) for place in everywhere)),
    ]


def _moved(verb: Verb, weight: float, goals: tuple[Thing, ...]) -> list[Pattern]:
    whens = (*UNTIMED, *timed())
    going, gone = _tenses(verb, whens)
    questions = askings([verb], only([PRESENT, FUTURE], whens))
    asked_past = askings([verb], only([PAST], whens))
    found: list[Pattern] = []
    for cast in everyone():
        share = weight * cast.weight
        found.append(Pattern("go", share * 0.7, (cast.subjects, going, goals), tell))
        found.append(Pattern("ask go", share * 0.2, (cast.subjects, questions, goals), ask))
    for cast in everyone_of_known_gender():
        share = weight * cast.weight
        found.append(Pattern("went", share * 0.7, (cast.subjects, gone, goals), tell))
        found.append(Pattern("ask went", share * 0.2, (cast.subjects, asked_past, goals), ask))
    return found


def _tenses(verb: Verb, whens: Iterable[When]) -> tuple[tuple[Deed, ...], tuple[Deed, ...]]:
    """The verb outside the past, and in it."""
    whens = tuple(whens)
    told, denied = deeds([verb], only([PRESENT, FUTURE], whens)), times.deniable(whens)
    going = told + deeds([verb], only([PRESENT, FUTURE], denied), [DENIED])
    gone = deeds([verb], only([PAST], whens)) + deeds([verb], only([PAST], denied), [DENIED])
    return going + deeds([verb], only([PRESENT], UNTIMED), FREQUENCIES), gone


def _journeys(name: str, whens: Iterable[When], goals: tuple[Thing, ...]) -> list[Pattern]:
    going, gone = _tenses(entries.verb("go"), whens)
    return [
        Pattern(name, 0.4, (pronouns().subjects, going, goals), tell),
        Pattern(name, 0.3, (sure_pronouns().subjects, gone, goals), tell),
    ]


def _staying() -> list[Pattern]:
    """Living and working somewhere, and where one comes from."""
    lasting = only([PRESENT, FUTURE], UNTIMED)
    living = deeds(entries.verbs("live"), lasting, [AFFIRMED, DENIED])
    work, whens = entries.verbs("work, study"), (*UNTIMED, *timed())
    working = deeds(work, whens) + deeds(work, times.deniable(whens), [DENIED])
    coming = deeds(entries.verbs("come"), only([PRESENT], UNTIMED), [AFFIRMED, DENIED])
    homes = tuple(fixed(place.at, place.there) for place in abroad())
    jobs = homes + tuple(fixed(place.at, place.there) for place in about_town())
    origins = tuple(fixed(f"from {place.english}", place.away) for place in abroad())
    return [
        pattern
        for cast in everyone()
        for pattern in (
            Pattern("live", cast.weight * 0.6, (cast.subjects, living, homes), tell),
            Pattern("work", cast.weight * 0.9, (cast.subjects, working, jobs), tell),
            Pattern("come from", cast.weight * 0.5, (cast.subjects, coming, origins), tell),
            Pattern(
                "ask live",
                cast.weight * 0.3,
                (cast.subjects, askings(entries.verbs("live, work"), lasting), homes),
                ask,
            ),
        )
    ]


def _asking_where() -> list[Pattern]:
    """'Where does Jane live?'"""
    where, why = ("where", "où"), ("why", "pourquoi")
    busy = askings(entries.verbs("work, study, sleep, travel, dance, sing"), (*UNTIMED, *timed()))
    going = askings(entries.verbs("go"), only([PRESENT, FUTURE], (*UNTIMED, *timed())))
    living = askings(entries.verbs("live"), only([PRESENT, FUTURE], UNTIMED))
    return [
        pattern
        for cast in everyone()
        for pattern in (
            Pattern("where work", cast.weight * 0.5, ((where, why), cast.subjects, busy), _inquire),
            Pattern("where go", cast.weight * 0.3, ((where,), cast.subjects, going), _inquire),
            Pattern("where live", cast.weight * 0.1, ((where,), cast.subjects, living), _inquire),
        )
    ]


def _timetable() -> list[Pattern]:
    """'The train for Paris leaves at noon.'"""
    leave, arrive = entries.verbs("leave, arrive")
    hours = times.spoken(PRESENT, times.hours()) + times.spoken(FUTURE, times.hours())
    leaving = deeds([leave], hours, [AFFIRMED, DENIED])
    arriving = deeds([arrive], hours, [AFFIRMED, DENIED])
    bound_for = _trains([(f"for {city.english}", f"pour {city.french}") for city in _cities()])
    coming_from = _trains([(f"from {city.english}", city.away) for city in _cities()])
    return [
        Pattern("train leaves", 0.35, (bound_for, leaving), do),
        Pattern("train arrives", 0.35, (coming_from, arriving), do),
    ]


def _trains(routes: Iterable[tuple[str, str]]) -> tuple[Subject, ...]:
    found: list[Thing] = []
    for left, right in routes:
        for noun in entries.nouns(VEHICLES):
            train = noun_phrases.definite(noun, noun.french[0], False)
            found.append(fixed(f"the {noun.english[0]} {left}", f"{train} {right}"))
    return noun_phrases.as_subjects(found)


def _born() -> list[Pattern]:
    """'Jane was born in Paris on September 14.'"""
    places = [("", ""), *((f" {place.at}", f" {place.there}") for place in _cities())]
    days = [(f" {left}", f" {right}") for left, right in times.dates()]
    years = [(f" in {year}", f" en {year}") for year in range(1980, 2020)]
    found: list[Pattern] = []
    for cast in (Cast(0.3, tuple(s for s in sure_pronouns().subjects if s.agreement >= IL)), names()):
        slots = (cast.subjects, tuple(places))
        found.append(Pattern("born on", cast.weight, (*slots, tuple(days)), _birth))
        found.append(Pattern("born in", cast.weight, (*slots, tuple(years)), _birth))
    return found


def _inquire(opener: tuple[str, str], subject: Subject, asking: Asking) -> tuple[str, str]:
    who = subject.agreement
    return (
        f"{opener[0]} {asking.auxiliary[who]} {subject.english} {asking.english}{asking.english_end}?",
        f"{opener[1]} est-ce {subject.that}{asking.french[who]}{asking.french_end} ?",
    )


def _birth(subject: Subject, where: tuple[str, str], when: tuple[str, str]) -> tuple[str, str]:
    who = subject.agreement
    was = BE[PAST][who]
    return (
        f"{subject.english} {was} born{where[0]}{when[0]}.",
        f"{subject.french}{BORN[who]}{where[1]}{when[1]}.",
    )


def _to(places: Iterable[Place]) -> tuple[Thing, ...]:
    return tuple(fixed(f"to {place.english}", place.there) for place in places)


def _both(first: Thing, second: Thing) -> Thing:
    return fixed(f"{first.english} {second.english}", f"{first.french} {second.french}")


def _country(left: str, right: str) -> Place:
    phrase, _, gender = right.rpartition(" ")
    bare = phrase.removeprefix("l'").removeprefix("la ")
    feminine = gender == "f"
    there = f"en {bare}" if feminine else french.to(phrase)
    away = french.join("de", bare) if feminine else french.of(phrase)
    return Place(left, phrase, f"in {left}", there, away)


def _cities() -> list[Place]:
    rows = entries.rows(lexicon.CITIES)
    return [Place(left, right, f"in {left}", french.to(right), french.of(right)) for left, right in rows]


def _building(noun: entries.Noun) -> Place:
    left, right = f"the {noun.english[0]}", noun_phrases.definite(noun, noun.french[0], False)
    return Place(left, right, f"at {left}", french.to(right), french.of(right))
