"""Sentences about what people learn, play and like, how they do it, what they think, and the weather."""

from typing import NamedTuple

from regard.demo.phrasebook import entries, french, lexicon, noun_phrases, travel
from regard.demo.phrasebook.clauses import (
    AFFIRMATIVE,
    FREQUENCIES,
    FUTURE,
    NEGATED,
    PAST,
    PRESENT,
    VerbModifier,
    clause,
)
from regard.demo.phrasebook.entries import Verb
from regard.demo.phrasebook.noun_phrases import AGREEMENTS, NounPhrase, Subject, fixed_phrase
from regard.demo.phrasebook.sentence_pattern import Pattern
from regard.demo.phrasebook.sentences import (
    TimedClause,
    make_intransitive_statement,
    make_question,
    make_statement,
    timed_clauses,
    timed_questions,
)
from regard.demo.phrasebook.subjects import all_subject_groups, named_subjects, pronoun_subjects
from regard.demo.phrasebook.times import UNTIMED, TimeAdverbial, timed_adverbials, with_tenses


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
MANNER_VERBS = (
    ("sing, dance, work, sleep", "well, badly, a lot"),
    ("walk, speak", "slowly, quickly, a lot"),
    ("travel", "a lot"),
)


def activity_patterns() -> list[Pattern]:
    """All of them."""
    return [*_learning(), *_playing(), *_liking(), *_manner_patterns(), *_reporting(), *_weather()]


def _learning() -> list[Pattern]:
    fields = tuple(fixed_phrase(left, right) for left, right in entries.table_rows(lexicon.SUBJECTS))
    spoken = [
        (left, right)
        for left, right in entries.table_rows(lexicon.SUBJECTS)
        if left in entries.split_listing(lexicon.LANGUAGES)
    ]
    tongues = tuple(
        fixed_phrase(left, right.removeprefix("le ").removeprefix("l'")) for left, right in spoken
    )
    return [
        *_verb_object_patterns("learn", 1.0, "learn, study, teach", fields),
        *_verb_object_patterns("speak", 0.5, "speak", tongues),
    ]


def _playing() -> list[Pattern]:
    """French plays 'at' a game and 'of' an instrument."""
    games = tuple(
        fixed_phrase(left, french.with_a(right)) for left, right in entries.table_rows(lexicon.GAMES)
    )
    instruments = [
        fixed_phrase(f"the {left}", french.with_de(right))
        for left, right in entries.table_rows(lexicon.INSTRUMENTS)
    ]
    return _verb_object_patterns("play", 0.8, "play", (*games, *instruments))


def _verb_object_patterns(
    name: str, weight: float, verbs: str, things: tuple[NounPhrase, ...]
) -> list[Pattern]:
    found = entries.look_up_verbs(verbs)
    told = timed_clauses(found, timed_adverbials()) + timed_clauses(found, UNTIMED, [AFFIRMATIVE, NEGATED])
    told += timed_clauses(found, with_tenses([PRESENT], UNTIMED), FREQUENCIES)
    asked = timed_questions(found, (*UNTIMED, *timed_adverbials()))
    return [
        pattern
        for cast in all_subject_groups()
        for pattern in (
            Pattern(name, weight * cast.weight, (cast.subjects, told, things), make_statement),
            Pattern(f"ask {name}", weight * cast.weight * 0.4, (cast.subjects, asked, things), make_question),
        )
    ]


def _liking() -> list[Pattern]:
    """'Jane loves cats': what is loved in general has an article in French."""
    verbs = entries.look_up_verbs(lexicon.STATIVE_VERBS)
    now = with_tenses([PRESENT], UNTIMED)
    liking = timed_clauses(verbs, now) + timed_clauses(entries.look_up_verbs("love, hate"), now, [NEGATED])
    things = tuple(fixed_phrase(left, right) for left, right in entries.table_rows(lexicon.PLEASURES))
    return [
        pattern
        for cast in all_subject_groups()
        for pattern in (
            Pattern("like", cast.weight * 0.8, (cast.subjects, liking, things), make_statement),
            Pattern(
                "ask like",
                cast.weight * 0.3,
                (cast.subjects, timed_questions(verbs, now), things),
                make_question,
            ),
        )
    ]


def _manner_patterns() -> list[Pattern]:
    """'Jane sings well.'"""
    manners = dict(entries.table_rows(lexicon.MANNERS))
    told = [(when, AFFIRMATIVE) for when in with_tenses([PRESENT, FUTURE], (*UNTIMED, *timed_adverbials()))]
    denied = [(when, NEGATED) for when in with_tenses([PRESENT, FUTURE], UNTIMED)]
    how = tuple(
        _manner_clause(verb, when, turn, manner, manners[manner])
        for verbs, listed in MANNER_VERBS
        for verb in entries.look_up_verbs(verbs)
        for manner in entries.split_listing(listed)
        for when, turn in (told if manner == "badly" else told + denied)  # 'pas mal' is rather good
    )
    how += timed_clauses(
        entries.look_up_verbs("sing, dance, work, travel"),
        with_tenses([PAST], timed_adverbials()),
        [AFFIRMATIVE, NEGATED],
    )
    return [
        Pattern("do well", cast.weight, (cast.subjects, how), make_intransitive_statement)
        for cast in all_subject_groups()
    ]


def _reporting() -> list[Pattern]:
    """'Paul thinks that she will visit Japan.'"""
    sure = [
        (report, UNTIMED)
        for report in timed_clauses(entries.look_up_verbs("say, think"), with_tenses([PRESENT], UNTIMED))
    ]
    hoped = [
        (report, with_tenses([FUTURE], UNTIMED))
        for report in timed_clauses(entries.look_up_verbs("hope"), with_tenses([PRESENT], UNTIMED))
    ]
    frames = (
        (
            "visit, discover",
            tuple(fixed_phrase(place.english, place.french) for place in travel.countries_and_cities()),
        ),
        (
            "learn, study, teach",
            tuple(fixed_phrase(left, right) for left, right in entries.table_rows(lexicon.SUBJECTS)),
        ),
        ("buy, sell, find, lose, repair", noun_phrases.countable_phrases(entries.read_nouns(GOODS), [None])),
    )
    speakers = (pronoun_subjects(), named_subjects())
    return [
        Pattern(
            "say that",
            0.3,
            (one.subjects, _reported_clauses(sure + hoped, verbs), other.subjects, things),
            _reported_speech,
        )
        for verbs, things in frames
        for one, other in ((speakers[0], speakers[1]), (speakers[1], speakers[0]), (speakers[0], speakers[0]))
    ]


def _reported_clauses(
    reports: list[tuple[TimedClause, tuple[TimeAdverbial, ...]]], verbs: str
) -> tuple[tuple[TimedClause, TimedClause], ...]:
    """Each report with each deed that can be reported so: one hopes for what is to come."""
    return tuple(
        (report, deed)
        for report, whens in reports
        for deed in timed_clauses(entries.look_up_verbs(verbs), whens, [AFFIRMATIVE, NEGATED])
    )


def _weather() -> list[Pattern]:
    places = tuple((f" {place.at}", f" {place.french_at}") for place in travel.countries_and_cities())
    now, then = _weather_clauses(UNTIMED), _weather_clauses(timed_adverbials())
    return [
        Pattern("weather", 0.2, (now, places), _weather_sentence),
        Pattern("weather, timed", 0.8, (then, (("", ""), *places)), _weather_sentence),
    ]


def _weather_clauses(whens: tuple[TimeAdverbial, ...]) -> tuple[tuple[Weather, TimeAdverbial], ...]:
    return tuple(
        (Weather(left, right), when)
        for tense, table in WEATHER.items()
        for left, right in entries.table_rows(table)
        for when in with_tenses([tense], whens)
    )


def _manner_clause(verb: Verb, when: TimeAdverbial, turn: VerbModifier, left: str, right: str) -> TimedClause:
    said = clause(verb, when.tense, turn)
    return TimedClause(
        tuple(f"{said.english[who]} {left}" for who in AGREEMENTS),
        tuple(f"{said.french[who]} {right}" for who in AGREEMENTS),
        turn.negative,
        when.english,
        when.french,
    )


def _reported_speech(
    speaker: Subject, told: tuple[TimedClause, TimedClause], subject: Subject, thing: NounPhrase
) -> tuple[str, str]:
    report, deed = told
    left, right = make_statement(subject, deed, thing)
    that = subject.that.removesuffix(subject.french)
    who = speaker.agreement
    return (
        f"{speaker.english} {report.english[who]} that {left}",
        f"{speaker.french}{report.french[who]} {that}{right}",
    )


def _weather_sentence(sky: tuple[Weather, TimeAdverbial], place: tuple[str, str]) -> tuple[str, str]:
    weather, when = sky
    return f"{weather.english}{place[0]}{when.english}.", f"{weather.french}{place[1]}{when.french}."
