"""Sentences about how things and people are: tired, more patient, a doctor, thirty years old."""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from regard.demo.phrasebook import english, entries, french, lexicon, noun_phrases
from regard.demo.phrasebook.clauses import AFFIRMED, DENIED, FUTURE, PAST, PRESENT, TENSES, Turn, surround
from regard.demo.phrasebook.entries import Adjective, Noun
from regard.demo.phrasebook.lexicon import Frame
from regard.demo.phrasebook.noun_phrases import AGREEMENTS, ELLE, IL, JE, MY, OUR, YOUR, Subject, Thing
from regard.demo.phrasebook.sentence_pattern import Pattern
from regard.demo.phrasebook.subjects import (
    Cast,
    family,
    names,
    pronouns,
    strangers,
    third_persons,
    third_pronouns,
)


class Being(NamedTuple):
    """'is', 'will not be' for each agreement; in a question, English `_` is where the subject stands."""

    english: tuple[str, ...]
    french: tuple[str, ...]


class Quality(NamedTuple):
    """An adjective with its degree; the French has one form for each agreement."""

    english: str
    french: tuple[str, ...]


# By tense, then in the order of the agreements: je, vous, nous, il, elle, ils, elles.
ETRE = {
    PRESENT: entries.forms("suis êtes sommes est est sont sont"),
    PAST: entries.forms("étais étiez étions était était étaient étaient"),
    FUTURE: entries.forms("serai serez serons sera sera seront seront"),
}
AVOIR = {
    PRESENT: entries.forms("ai avez avons a a ont ont"),
    PAST: entries.forms("avais aviez avions avait avait avaient avaient"),
    FUTURE: entries.forms("aurai aurez aurons aura aura auront auront"),
}
BE = {
    PRESENT: entries.forms("am are are is is are are"),
    PAST: entries.forms("was were were was was were were"),
    FUTURE: ("will",) * 7,
}
# The gender (feminine?) and number (plural?) of each agreement.
_KINDS = (
    (False, False),
    (False, False),
    (False, True),
    (False, False),
    (True, False),
    (False, True),
    (True, True),
)
DEGREES = (("", ""), ("very ", "très "), ("so ", "si "))
TOO = ("too ", "trop ")
COMPARISONS = (("more", "than", "plus"), ("less", "than", "moins"), ("as", "as", "aussi"))

MOODS = (
    "tall, happy, tired, sad, kind, shy, patient, young, old, famous, rich, elegant, polite, brave, serious, "
    "sick, curious, generous, lazy, proud, careful, intelligent, funny, modest, sincere, beautiful"
)
COMPARED = (
    "patient, serious, curious, generous, careful, intelligent, modest, sincere, famous, elegant, polite, "
    "tired"
)
# Of what there can be too much.
EXCESSIVE = (
    "big, small, long, heavy, light, expensive, difficult, old, young, cold, hot, tired, shy, "
    "serious, sad, proud, boring, sick, lazy, careful, strange, modern, polite, curious, dirty, tall, modest"
)
# Qualities that have no degree: 'very' and 'too' do not go with them.
ABSOLUTE = (
    "red, blue, green, yellow, white, black, gray, brown, pink, excellent, delicious, "
    "Italian, German, Spanish, Japanese"
)


def patterns() -> list[Pattern]:
    """All of them."""
    return [*_moods(), *_qualities(), *_comparisons(), *_trades(), *_ages()]


@cache
def being(tense: str, turn: Turn, verb: str = "être") -> Being:
    """English 'be'; French être, or avoir for an age."""
    forms = (ETRE if verb == "être" else AVOIR)[tense]
    after = " be" if tense == FUTURE else ""
    middle = " not" if turn is DENIED else ""
    return Being(
        tuple(f"{be}{middle}{after}" for be in BE[tense]),
        tuple(surround(forms[who], turn, who) for who in AGREEMENTS),
    )


@cache
def being_asked(tense: str, verb: str = "être") -> Being:
    """'is_', 'will_ be'."""
    after = " be" if tense == FUTURE else ""
    return Being(tuple(f"{be}_{after}" for be in BE[tense]), being(tense, AFFIRMED, verb).french)


def be(subject: Subject, verb: Being, quality: Quality) -> tuple[str, str]:
    """'Jane is not tired.'"""
    who = subject.agreement
    return (
        f"{subject.english} {verb.english[who]} {quality.english}.",
        f"{subject.french}{verb.french[who]} {quality.french[who]}.",
    )


def ask_be(subject: Subject, verb: Being, quality: Quality) -> tuple[str, str]:
    """'Will Jane be tired?'"""
    who = subject.agreement
    before, after = verb.english[who].split("_")
    return (
        f"{before} {subject.english}{after} {quality.english}?",
        f"est-ce {subject.that}{verb.french[who]} {quality.french[who]} ?",
    )


def possessed(noun: Noun, adjective: Adjective | None, plural: bool) -> list[Thing]:
    """'my car', 'your car', 'our car'."""
    owned = noun_phrases.own(noun, adjective, plural)
    return [
        Thing(f"{owner.english} {owned.english}", owned.french[owner.column], "", noun.feminine, plural)
        for owner in (MY, YOUR, OUR)
    ]


def _beings() -> tuple[Being, ...]:
    return tuple(being(tense, turn) for tense in TENSES for turn in (AFFIRMED, DENIED))


def _moods() -> list[Pattern]:
    qualities = _graded(entries.adjectives(MOODS))
    return _described(third_persons(), qualities, 1.5)


def _qualities() -> list[Pattern]:
    """'The red car is expensive', said of the things of each frame."""
    found: list[Pattern] = []
    for frame in lexicon.FRAMES:
        adjectives, nouns = entries.adjectives(frame.adjectives), entries.nouns(frame.nouns)
        cast = Cast(1.0, noun_phrases.as_subjects(_known(nouns, frame)))
        found += _described((cast,), _graded(adjectives), (len(nouns) + len(adjectives)) / 200)
    return found


def _described(casts: Sequence[Cast], qualities: tuple[Quality, ...], weight: float) -> list[Pattern]:
    asked = tuple(being_asked(tense) for tense in TENSES)
    return [
        pattern
        for cast in casts
        for pattern in (
            Pattern("be", weight * cast.weight, (cast.subjects, _beings(), qualities), be),
            Pattern("ask be", weight * cast.weight / 2, (cast.subjects, asked, qualities), ask_be),
        )
    ]


def _comparisons() -> list[Pattern]:
    """'Jane is as patient as my brother': people of two kinds, so that nobody is compared with himself."""
    qualities = tuple(
        Quality(f"{more} {a.english} {than}", tuple(f"{plus} {form}" for form in _agreed(a)))
        for a in entries.adjectives(COMPARED)
        for more, than, plus in COMPARISONS
    )
    beings = tuple(being(tense, turn) for tense in (PRESENT, PAST) for turn in (AFFIRMED, DENIED))
    named, known = names().subjects, family().subjects + strangers().subjects
    return [
        Pattern("compare", 0.5, (named, beings, qualities, known), _compare),
        Pattern("compare", 0.5, (known, beings, qualities, named), _compare),
    ]


def _trades() -> list[Pattern]:
    """'My sister is a doctor'; French has no article here."""
    trades = tuple(_trade(left, *right.split()) for left, right in entries.rows(lexicon.TRADES))
    found: list[Pattern] = []
    asked = tuple(being_asked(tense) for tense in TENSES)
    for cast in (third_pronouns(), names(), family()):
        singular = tuple(s for s in cast.subjects if s.agreement in (IL, ELLE))
        found += [
            Pattern("trade", cast.weight, (singular, _beings(), trades), be),
            Pattern("become", cast.weight * 0.7, (singular, _becoming(), trades), be),
            Pattern("ask trade", cast.weight * 0.4, (singular, asked, trades), ask_be),
        ]
    return found


def _ages() -> list[Pattern]:
    """'Paul is thirty years old', which French says with avoir."""
    ages = tuple(_years(n) for n in range(2, 101))
    told = tuple(being(tense, turn, "avoir") for tense in TENSES for turn in (AFFIRMED, DENIED))
    asked = tuple(being_asked(tense, "avoir") for tense in TENSES)
    found: list[Pattern] = []
    for cast in (pronouns(), names()):
        others = tuple(subject for subject in cast.subjects if subject.agreement != JE)
        found += [
            Pattern("age", cast.weight * 2, (cast.subjects, told, ages), be),
            Pattern("ask age", cast.weight * 0.4, (others, asked, ages), ask_be),
        ]
    old = names().subjects + family().subjects + strangers().subjects
    return [*found, Pattern("how old", 0.06, (old,), _how_old)]


def _compare(subject: Subject, verb: Being, quality: Quality, other: Subject) -> tuple[str, str]:
    who = subject.agreement
    return (
        f"{subject.english} {verb.english[who]} {quality.english} {other.english}.",
        f"{subject.french}{verb.french[who]} {quality.french[who]} {other.that.rstrip()}.",
    )


def _how_old(subject: Subject) -> tuple[str, str]:
    who = subject.agreement
    return (
        f"how old {BE[PRESENT][who]} {subject.english}?",
        f"quel âge {AVOIR[PRESENT][who]} {subject.french}?",
    )


def _graded(adjectives: Iterable[Adjective]) -> tuple[Quality, ...]:
    found: list[Quality] = []
    for adjective in adjectives:
        for left, right in _degrees(adjective):
            found.append(
                Quality(left + adjective.english, tuple(right + form for form in _agreed(adjective)))
            )
    return tuple(found)


def _degrees(adjective: Adjective) -> tuple[tuple[str, str], ...]:
    if adjective.english in entries.names(ABSOLUTE):
        return DEGREES[:1]
    return (*DEGREES, TOO) if adjective.english in entries.names(EXCESSIVE) else DEGREES


def _agreed(adjective: Adjective) -> tuple[str, ...]:
    """The adjective for each agreement; nobody whose gender is unknown is described."""
    return tuple(adjective.agree(*kind) for kind in _KINDS)


def _trade(left: str, masculine: str, feminine: str) -> Quality:
    forms = [feminine if who == ELLE else masculine for who in AGREEMENTS]
    return Quality(english.a(left), tuple(forms))


def _becoming() -> tuple[Being, ...]:
    """'wants to become', 'will become'."""
    wishes = (
        ("wants to become", "veut devenir"),
        ("will become", "deviendra"),
        ("would like to become", "voudrait devenir"),
    )
    denials = (("does not want to become", "ne veut pas devenir"), ("will not become", "ne deviendra pas"))
    return tuple(Being((left,) * 7, (right,) * 7) for left, right in wishes + denials)


def _years(age: int) -> Quality:
    return Quality(f"{english.number(age)} years old", (f"{french.number(age)} ans",) * 7)


def _known(nouns: list[Noun], frame: Frame) -> list[Thing]:
    """'the car', 'these cars', 'your car': things that can be spoken of."""
    table = noun_phrases.substances(nouns, [None]) if frame.mass else noun_phrases.things(nouns, [None])
    definite = [x for x in table if x.english.startswith(("the ", "this ", "these "))]
    owned: list[Thing] = []
    for noun in nouns if frame.owned else ():
        for plural in (False,) if frame.mass else (False, True):
            owned += possessed(noun, None, plural)
    return definite + owned
