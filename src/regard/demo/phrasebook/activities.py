"""Sentences about what people learn, play and like, how they do it, what they think, and the weather."""

from typing import NamedTuple

from regard.demo.phrasebook import entries, french, lexicon, noun_phrases, travel
from regard.demo.phrasebook.clauses import AFFIRMED, DENIED, FREQUENCIES, FUTURE, PAST, PRESENT, Turn, clause
from regard.demo.phrasebook.entries import Verb
from regard.demo.phrasebook.noun_phrases import AGREEMENTS, Subject, Thing, fixed
from regard.demo.phrasebook.sentence_pattern import Pattern
from regard.demo.phrasebook.sentences import Deed, ask, askings, deeds, do, tell
from regard.demo.phrasebook.subjects import everyone, names, pronouns
from regard.demo.phrasebook.times import UNTIMED, When, only, timed


class Weather(NamedTuple):
    """A clause without a subject of its own."""

    english: str
    french: str


# For each tense: affirmed, denied.
WEATHER = {
    PRESENT: """
        it is cold | il fait froid
        it is not cold | il ne fait pas froid
        it is hot | il fait chaud
        it is not hot | il ne fait pas chaud
        it rains | il pleut
        it does not rain | il ne pleut pas
        it snows | il neige
        it does not snow | il ne neige pas
        """,
    PAST: """
        it was cold | il faisait froid
        it was not cold | il ne faisait pas froid
        it was hot | il faisait chaud
        it was not hot | il ne faisait pas chaud
        it rained | il a plu
        it did not rain | il n'a pas plu
        it snowed | il a neigé
        it did not snow | il n'a pas neigé
        """,
    FUTURE: """
        it will be cold | il fera froid
        it will not be cold | il ne fera pas froid
        it will be hot | il fera chaud
        it will not be hot | il ne fera pas chaud
        it will rain | il pleuvra
        it will not rain | il ne pleuvra pas
        it will snow | il neigera
        it will not snow | il ne neigera pas
        """,
}
GOODS = """
watch | montre f
car | voiture f
bicycle | vélo m
computer | ordinateur m
lamp | lampe f
"""
# What one does, and how one can do it.
DOINGS = (
    ("sing, dance, work, sleep", "well, badly, a lot"),
    ("walk, speak", "slowly, quickly, a lot"),
    ("travel", "a lot"),
)


def patterns() -> list[Pattern]:
    """All of them."""
    return [*_learning(), *_playing(), *_liking(), *_doing(), *_reporting(), *_weather()]


def _learning() -> list[Pattern]:
    fields = tuple(fixed(left, right) for left, right in entries.rows(lexicon.SUBJECTS))
    spoken = [
        (left, right)
        for left, right in entries.rows(lexicon.SUBJECTS)
        if left in entries.names(lexicon.LANGUAGES)
    ]
    tongues = tuple(fixed(left, right.removeprefix("le ").removeprefix("l'")) for left, right in spoken)
    return [*_about("learn", 1.0, "learn, study, teach", fields), *_about("speak", 0.5, "speak", tongues)]


def _playing() -> list[Pattern]:
    """French plays 'at' a game and 'of' an instrument."""
    games = tuple(fixed(left, french.to(right)) for left, right in entries.rows(lexicon.GAMES))
    instruments = [
        fixed(f"the {left}", french.of(right)) for left, right in entries.rows(lexicon.INSTRUMENTS)
    ]
    return _about("play", 0.8, "play", (*games, *instruments))


def _about(name: str, weight: float, verbs: str, things: tuple[Thing, ...]) -> list[Pattern]:
    found = entries.verbs(verbs)
    told = deeds(found, timed()) + deeds(found, UNTIMED, [AFFIRMED, DENIED])
    told += deeds(found, only([PRESENT], UNTIMED), FREQUENCIES)
    asked = askings(found, (*UNTIMED, *timed()))
    return [
        pattern
        for cast in everyone()
        for pattern in (
            Pattern(name, weight * cast.weight, (cast.subjects, told, things), tell),
            Pattern(f"ask {name}", weight * cast.weight * 0.4, (cast.subjects, asked, things), ask),
        )
    ]


def _liking() -> list[Pattern]:
    """'Jane loves cats': what is loved in general has an article in French."""
    verbs = entries.verbs(lexicon.STATES)
    now = only([PRESENT], UNTIMED)
    liking = deeds(verbs, now) + deeds(entries.verbs("love, hate"), now, [DENIED])
    things = tuple(fixed(left, right) for left, right in entries.rows(lexicon.PLEASURES))
    return [
        pattern
        for cast in everyone()
        for pattern in (
            Pattern("like", cast.weight * 0.8, (cast.subjects, liking, things), tell),
            Pattern("ask like", cast.weight * 0.3, (cast.subjects, askings(verbs, now), things), ask),
        )
    ]


def _doing() -> list[Pattern]:
    """'Jane sings well.'"""
    manners = dict(entries.rows(lexicon.MANNERS))
    told = [(when, AFFIRMED) for when in only([PRESENT, FUTURE], (*UNTIMED, *timed()))]
    denied = [(when, DENIED) for when in only([PRESENT, FUTURE], UNTIMED)]
    how = tuple(
        _with_manner(verb, when, turn, manner, manners[manner])
        for verbs, listed in DOINGS
        for verb in entries.verbs(verbs)
        for manner in entries.names(listed)
        for when, turn in (told if manner == "badly" else told + denied)  # 'pas mal' is rather good
    )
    how += deeds(entries.verbs("sing, dance, work, travel"), only([PAST], timed()), [AFFIRMED, DENIED])
    return [Pattern("do well", cast.weight, (cast.subjects, how), do) for cast in everyone()]


def _reporting() -> list[Pattern]:
    """'Paul thinks that she will visit Japan.'"""
    sure = [(report, UNTIMED) for report in deeds(entries.verbs("say, think"), only([PRESENT], UNTIMED))]
    hoped = [
        (report, only([FUTURE], UNTIMED)) for report in deeds(entries.verbs("hope"), only([PRESENT], UNTIMED))
    ]
    frames = (
        ("visit, discover", tuple(fixed(place.english, place.french) for place in travel.abroad())),
        (
            "learn, study, teach",
            tuple(fixed(left, right) for left, right in entries.rows(lexicon.SUBJECTS)),
        ),
        ("buy, sell, find, lose, repair", noun_phrases.things(entries.nouns(GOODS), [None])),
    )
    speakers = (pronouns(), names())
    return [
        Pattern(
            "say that", 0.3, (one.subjects, _reported(sure + hoped, verbs), other.subjects, things), _report
        )
        for verbs, things in frames
        for one, other in ((speakers[0], speakers[1]), (speakers[1], speakers[0]), (speakers[0], speakers[0]))
    ]


def _reported(reports: list[tuple[Deed, tuple[When, ...]]], verbs: str) -> tuple[tuple[Deed, Deed], ...]:
    """Each report with each deed that can be reported so: one hopes for what is to come."""
    return tuple(
        (report, deed)
        for report, whens in reports
        for deed in deeds(entries.verbs(verbs), whens, [AFFIRMED, DENIED])
    )


def _weather() -> list[Pattern]:
    places = tuple((f" {place.at}", f" {place.there}") for place in travel.abroad())
    now, then = _skies(UNTIMED), _skies(timed())
    return [
        Pattern("weather", 0.2, (now, places), _forecast),
        Pattern("weather, timed", 0.8, (then, (("", ""), *places)), _forecast),
    ]


def _skies(whens: tuple[When, ...]) -> tuple[tuple[Weather, When], ...]:
    return tuple(
        (Weather(left, right), when)
        for tense, table in WEATHER.items()
        for left, right in entries.rows(table)
        for when in only([tense], whens)
    )


def _with_manner(verb: Verb, when: When, turn: Turn, left: str, right: str) -> Deed:
    said = clause(verb, when.tense, turn)
    return Deed(
        tuple(f"{said.english[who]} {left}" for who in AGREEMENTS),
        tuple(f"{said.french[who]} {right}" for who in AGREEMENTS),
        turn.negative,
        when.english,
        when.french,
    )


def _report(speaker: Subject, told: tuple[Deed, Deed], subject: Subject, thing: Thing) -> tuple[str, str]:
    report, deed = told
    left, right = tell(subject, deed, thing)
    that = subject.that.removesuffix(subject.french)
    who = speaker.agreement
    return (
        f"{speaker.english} {report.english[who]} that {left}",
        f"{speaker.french}{report.french[who]} {that}{right}",
    )


def _forecast(sky: tuple[Weather, When], place: tuple[str, str]) -> tuple[str, str]:
    weather, when = sky
    return f"{weather.english}{place[0]}{when.english}.", f"{weather.french}{place[1]}{when.french}."
