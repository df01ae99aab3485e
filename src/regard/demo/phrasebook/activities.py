"""Sentences about what people learn, play and like, how they do it, what they think, and the weather."""

from typing import NamedTuple

from regard.demo.phrasebook import entries, french, lexicon, noun_phrases, travel
from regard.demo.phrasebook.basic_sentences import (
    TimedClause,
    make_intransitive_statement,
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
    VerbModifier,
    clause,
)
from regard.demo.phrasebook.entries import Verb
from regard.demo.phrasebook.noun_phrases import AGREEMENTS, NounPhrase, Subject, fixed_phrase
from regard.demo.phrasebook.sentence_pattern import Pattern
from regard.demo.phrasebook.subjects import all_subject_groups, named_subjects, pronoun_subjects
from regard.demo.phrasebook.times import UNTIMED, TimeAdverbial, timed_adverbials, with_tenses


class Weather(NamedTuple):
    """A weather clause, with its impersonal subject."""

    english: str
    french: str


# For each tense, affirmative and negated clauses.
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
# Verbs, and the adverbs of manner that go with them.
MANNER_VERBS = (
    ("sing, dance, work, sleep", "well, badly, a lot"),
    ("walk, speak", "slowly, quickly, a lot"),
    ("travel", "a lot"),
)


def activity_patterns() -> list[Pattern]:
    """Return all patterns of this module."""
    return [*_learning(), *_playing(), *_liking(), *_manner_patterns(), *_reporting(), *_weather()]


def _learning() -> list[Pattern]:
    subjects = tuple(fixed_phrase(left, right) for left, right in entries.table_rows(lexicon.SUBJECTS))
    languages = [
        (left, right)
        for left, right in entries.table_rows(lexicon.SUBJECTS)
        if left in entries.split_listing(lexicon.LANGUAGES)
    ]
    spoken_languages = tuple(
        fixed_phrase(left, right.removeprefix("le ").removeprefix("l'")) for left, right in languages
    )
    return [
        *_verb_object_patterns("learn", 1.0, "learn, study, teach", subjects),
        *_verb_object_patterns("speak", 0.5, "speak", spoken_languages),
    ]


def _playing() -> list[Pattern]:
    """Return patterns of playing; French uses 'à' for games and 'de' for instruments."""
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
    verb_entries = entries.look_up_verbs(verbs)
    statements = timed_clauses(verb_entries, timed_adverbials()) + timed_clauses(
        verb_entries, UNTIMED, [AFFIRMATIVE, NEGATED]
    )
    statements += timed_clauses(verb_entries, with_tenses([PRESENT], UNTIMED), FREQUENCIES)
    questions = timed_questions(verb_entries, (*UNTIMED, *timed_adverbials()))
    return [
        pattern
        for group in all_subject_groups()
        for pattern in (
            Pattern(name, weight * group.weight, (group.subjects, statements, things), make_statement),
            Pattern(
                f"ask {name}", weight * group.weight * 0.4, (group.subjects, questions, things), make_question
            ),
        )
    ]


def _liking() -> list[Pattern]:
    """Return patterns like 'Jane loves cats'; French uses the definite article for a general object."""
    verbs = entries.look_up_verbs(lexicon.STATIVE_VERBS)
    now = with_tenses([PRESENT], UNTIMED)
    liking = timed_clauses(verbs, now) + timed_clauses(entries.look_up_verbs("love, hate"), now, [NEGATED])
    things = tuple(fixed_phrase(left, right) for left, right in entries.table_rows(lexicon.PLEASURES))
    return [
        pattern
        for group in all_subject_groups()
        for pattern in (
            Pattern("like", group.weight * 0.8, (group.subjects, liking, things), make_statement),
            Pattern(
                "ask like",
                group.weight * 0.3,
                (group.subjects, timed_questions(verbs, now), things),
                make_question,
            ),
        )
    ]


def _manner_patterns() -> list[Pattern]:
    """Return patterns like 'Jane sings well.'"""
    manners = dict(entries.table_rows(lexicon.MANNERS))
    statements = [
        (adverbial, AFFIRMATIVE)
        for adverbial in with_tenses([PRESENT, FUTURE], (*UNTIMED, *timed_adverbials()))
    ]
    negated = [(adverbial, NEGATED) for adverbial in with_tenses([PRESENT, FUTURE], UNTIMED)]
    clauses = tuple(
        _manner_clause(verb, adverbial, modifier, manner, manners[manner])
        for verbs, listed in MANNER_VERBS
        for verb in entries.look_up_verbs(verbs)
        for manner in entries.split_listing(listed)
        for adverbial, modifier in (
            statements if manner == "badly" else statements + negated
        )  # 'pas mal' means rather good
    )
    clauses += timed_clauses(
        entries.look_up_verbs("sing, dance, work, travel"),
        with_tenses([PAST], timed_adverbials()),
        [AFFIRMATIVE, NEGATED],
    )
    return [
        Pattern("do well", group.weight, (group.subjects, clauses), make_intransitive_statement)
        for group in all_subject_groups()
    ]


def _reporting() -> list[Pattern]:
    """Return patterns like 'Paul thinks that she will visit Japan.'"""
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
    """Pair each reporting verb with the clauses that can follow it: 'hope' needs a future."""
    return tuple(
        (report, timed)
        for report, adverbials in reports
        for timed in timed_clauses(entries.look_up_verbs(verbs), adverbials, [AFFIRMATIVE, NEGATED])
    )


def _weather() -> list[Pattern]:
    places = tuple((f" {place.at}", f" {place.french_at}") for place in travel.countries_and_cities())
    now, then = _weather_clauses(UNTIMED), _weather_clauses(timed_adverbials())
    return [
        Pattern("weather", 0.2, (now, places), _weather_sentence),
        Pattern("weather, timed", 0.8, (then, (("", ""), *places)), _weather_sentence),
    ]


def _weather_clauses(adverbials: tuple[TimeAdverbial, ...]) -> tuple[tuple[Weather, TimeAdverbial], ...]:
    return tuple(
        (Weather(left, right), adverbial)
        for tense, table in WEATHER.items()
        for left, right in entries.table_rows(table)
        for adverbial in with_tenses([tense], adverbials)
    )


def _manner_clause(
    verb: Verb, adverbial: TimeAdverbial, modifier: VerbModifier, left: str, right: str
) -> TimedClause:
    verb_clause = clause(verb, adverbial.tense, modifier)
    return TimedClause(
        tuple(f"{verb_clause.english[person]} {left}" for person in AGREEMENTS),
        tuple(f"{verb_clause.french[person]} {right}" for person in AGREEMENTS),
        modifier.negative,
        adverbial.english,
        adverbial.french,
    )


def _reported_speech(
    speaker: Subject, report_and_clause: tuple[TimedClause, TimedClause], subject: Subject, thing: NounPhrase
) -> tuple[str, str]:
    report, timed = report_and_clause
    left, right = make_statement(subject, timed, thing)
    that = subject.that.removesuffix(subject.french)
    person = speaker.agreement
    return (
        f"{speaker.english} {report.english[person]} that {left}",
        f"{speaker.french}{report.french[person]} {that}{right}",
    )


def _weather_sentence(sky: tuple[Weather, TimeAdverbial], place: tuple[str, str]) -> tuple[str, str]:
    weather, adverbial = sky
    return (
        f"{weather.english}{place[0]}{adverbial.english}.",
        f"{weather.french}{place[1]}{adverbial.french}.",
    )
