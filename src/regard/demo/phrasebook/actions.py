"""Sentences in which someone does something to something: told, denied, asked, wished, ordered."""

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from regard.demo.phrasebook import entries, french, lexicon, noun_phrases, times
from regard.demo.phrasebook.clauses import (
    AFFIRMED,
    DENIED,
    FREQUENCIES,
    FUTURE,
    PAST,
    PRESENT,
    TENSES,
    clause,
    french_verb,
    modal_questions,
    modals,
    question,
)
from regard.demo.phrasebook.entries import Adjective, Verb
from regard.demo.phrasebook.lexicon import Frame
from regard.demo.phrasebook.noun_phrases import AGREEMENTS, IL, Subject, Thing
from regard.demo.phrasebook.sentence_pattern import Pattern
from regard.demo.phrasebook.sentences import Asking, Deed, ask, ask_wish, askings, deeds, own, tell, wish
from regard.demo.phrasebook.subjects import everyone, names, pronouns
from regard.demo.phrasebook.times import UNTIMED, timed


class Opener(NamedTuple):
    """'when', 'quand'."""

    english: str
    french: str


class Asked(NamedTuple):
    """'which cars', 'quelles voitures'; the gender and number choose the participle of what follows."""

    english: str
    french: str
    column: int


class Inquiry(NamedTuple):
    """A verb whose object stands before it; the French has one row for each gender and number."""

    auxiliary: tuple[str, ...]
    plain: tuple[str, ...]
    english: str
    french: tuple[tuple[str, ...], ...]


OPENERS = (
    Opener("why", "pourquoi"),
    Opener("when", "quand"),
    Opener("where", "où"),
    Opener("how", "comment"),
)
ENDINGS = ("", "e", "s", "es")
ORDERS = (
    "read, choose, write, send, eat, buy, taste, bring, drink, prepare, take, repair, clean, wash, iron, "
    "watch, draw, photograph, visit, listen to, sing, learn, open, close, paint, look for, sell, keep, finish"
)


def patterns() -> list[Pattern]:
    """Every frame in every kind of sentence, so weighted that each word is heard about as often."""
    return [pattern for frame in lexicon.FRAMES for pattern in _of_frame(frame)]


def _of_frame(frame: Frame) -> list[Pattern]:
    verbs, nouns = entries.verbs(frame.verbs), entries.nouns(frame.nouns)
    adjectives = entries.adjectives(frame.adjectives)
    plain, described = _things(frame, [None]), _things(frame, adjectives)
    share = (len(verbs) + len(nouns) + len(adjectives) / 2) / 40
    found = _told(share, verbs, plain, described) + _asked(share, verbs, plain, described)
    found += _wished(share, verbs, plain, described) + _ordered(share, verbs, plain + described)
    if frame.owned:
        found += _owned(share, frame, verbs, nouns, adjectives) + _had(share, plain, described)
    if not frame.mass:
        found += _counted(share, verbs, nouns, adjectives) + _fronted(share, verbs, nouns, adjectives)
    return found


def _things(frame: Frame, adjectives: Iterable[Adjective | None]) -> tuple[Thing, ...]:
    make = noun_phrases.substances if frame.mass else noun_phrases.things
    return make(entries.nouns(frame.nouns), adjectives)


def _told(
    share: float, verbs: list[Verb], plain: tuple[Thing, ...], described: tuple[Thing, ...]
) -> list[Pattern]:
    told = deeds(verbs, timed())
    told_untimed, denied = deeds(verbs, UNTIMED), deeds(verbs, UNTIMED, [DENIED])
    denied_timed = deeds(verbs, times.deniable(timed()), [DENIED])
    habits = deeds(verbs, times.only([PRESENT], UNTIMED), FREQUENCIES)
    shapes = (
        ("tell", 2.0, told, plain),
        ("tell described", 2.0, told_untimed, described),
        ("tell described, timed", 1.0, told, described),
        ("deny", 0.7, denied_timed, plain),
        ("deny described", 0.7, denied, described),
        ("habit", 0.5, habits, plain),
        ("habit described", 0.5, habits, described),
    )
    return [
        Pattern(name, share * weight * cast.weight, (cast.subjects, doing, things), tell)
        for name, weight, doing, things in shapes
        for cast in everyone()
    ]


def _asked(
    share: float, verbs: list[Verb], plain: tuple[Thing, ...], described: tuple[Thing, ...]
) -> list[Pattern]:
    found: list[Pattern] = []
    untimed, at_times = askings(verbs, UNTIMED), askings(verbs, timed())
    for cast in everyone():
        weight = share * cast.weight
        found += [
            Pattern("ask", weight * 0.8, (cast.subjects, at_times, plain), ask),
            Pattern("ask described", weight * 0.6, (cast.subjects, untimed, described), ask),
            Pattern("ask why", weight * 0.5, (OPENERS, cast.subjects, untimed, plain), _ask_with),
            Pattern(
                "ask why described", weight * 0.3, (OPENERS, cast.subjects, untimed, described), _ask_with
            ),
        ]
    doers = deeds(verbs, timed())
    return [*found, Pattern("who", share * 0.4, (doers, plain + described), _who)]


def _wished(
    share: float, verbs: list[Verb], plain: tuple[Thing, ...], described: tuple[Thing, ...]
) -> list[Pattern]:
    found: list[Pattern] = []
    planned = tuple(verb for verb in verbs if verb.english not in entries.names(lexicon.MISHAPS))
    for cast in everyone():
        weight = share * cast.weight
        slots = (cast.subjects, modals(), planned)
        found += [
            Pattern("wish", weight * 0.8, (*slots, plain), wish),
            Pattern("wish described", weight * 0.8, (*slots, described), wish),
            Pattern("ask wish", weight * 0.4, (cast.subjects, modal_questions(), planned, plain), ask_wish),
        ]
    return found


def _ordered(share: float, verbs: list[Verb], things: tuple[Thing, ...]) -> list[Pattern]:
    wanted = entries.names(ORDERS)
    orders = tuple(verb for verb in verbs if verb.english in wanted)
    if not orders:
        return []
    politely = (("", ""), (", please", ", s'il vous plaît"))
    named = tuple(thing for thing in things if " " in thing.english)  # 'Bring milk' is too short a sentence
    return [
        Pattern("order", share * 0.7, (orders, named, politely), _order),
        Pattern("forbid", share * 0.3, (orders, things), _forbid),
    ]


def _owned(
    share: float,
    frame: Frame,
    verbs: list[Verb],
    nouns: list[entries.Noun],
    adjectives: list[Adjective],
) -> list[Pattern]:
    numbers = (False,) if frame.mass else (False, True)
    plain = tuple(noun_phrases.own(noun, None, many) for noun in nouns for many in numbers)
    described = tuple(noun_phrases.own(n, a, many) for n in nouns for a in adjectives for many in numbers)
    told, untold = deeds(verbs, timed()), deeds(verbs, UNTIMED, [AFFIRMED, DENIED])
    found: list[Pattern] = []
    for cast in everyone():
        weight = share * cast.weight
        found += [
            Pattern("own", weight * 0.6, (cast.subjects, told, range(4), plain), own),
            Pattern("own described", weight * 0.6, (cast.subjects, untold, range(4), described), own),
        ]
    return found


def _had(share: float, plain: tuple[Thing, ...], described: tuple[Thing, ...]) -> list[Pattern]:
    """'Jane has a red car': a state, so without a past, which French would say with another tense."""
    whens = times.only([PRESENT, FUTURE], UNTIMED)
    have = [entries.verb("have")]
    having, asked = deeds(have, whens, [AFFIRMED, DENIED]), askings(have, whens)
    found: list[Pattern] = []
    for cast in everyone():
        weight = share * cast.weight
        found += [
            Pattern("have", weight * 0.3, (cast.subjects, having, plain + described), tell),
            Pattern("ask have", weight * 0.15, (cast.subjects, asked, plain + described), ask),
        ]
    return found


def _counted(
    share: float, verbs: list[Verb], nouns: list[entries.Noun], adjectives: list[Adjective]
) -> list[Pattern]:
    plain = noun_phrases.counted(nouns, [None], range(2, 13))
    described = noun_phrases.counted(nouns, adjectives, range(2, 13))
    told, untimed = deeds(verbs, timed()), deeds(verbs, UNTIMED)
    found: list[Pattern] = []
    for cast in everyone():
        weight = share * cast.weight
        found += [
            Pattern("count", weight * 0.6, (cast.subjects, told, plain), tell),
            Pattern("count described", weight * 0.4, (cast.subjects, untimed, described), tell),
        ]
    return found


def _fronted(
    share: float, verbs: list[Verb], nouns: list[entries.Noun], adjectives: list[Adjective]
) -> list[Pattern]:
    """The object before its verb, so that a French participle agrees with it."""
    asked = tuple(phrase for noun in nouns for phrase in _asked_phrases(noun))
    inquiries = tuple(_inquiry(verb, tense) for verb in verbs for tense in TENSES)
    done = tuple(_inquiry(verb, PAST) for verb in verbs if verb.past != verb.english)
    heads = tuple(_head(noun, many) for noun in nouns for many in (False, True))
    casts = (pronouns(), names())
    found = [Pattern("which", share * c.weight, (asked, c.subjects, inquiries), _which) for c in everyone()]
    slots = [(heads, cast.subjects, done, tuple(adjectives)) for cast in casts]
    return found + [Pattern("that", share * 0.4, slot, _that) for slot in slots]


def _ask_with(opener: Opener, subject: Subject, asking: Asking, thing: Thing) -> tuple[str, str]:
    left, right = ask(subject, asking, thing)
    return f"{opener.english} {left}", f"{opener.french} {right}"


def _who(deed: Deed, thing: Thing) -> tuple[str, str]:
    return (
        f"who {deed.english[IL]} {thing.english}{deed.english_end}?",
        f"qui {deed.french[IL]} {thing.french}{deed.french_end} ?",
    )


def _order(verb: Verb, thing: Thing, politely: tuple[str, str]) -> tuple[str, str]:
    left, right = politely
    return f"{verb.english} {thing.english}{left}.", f"{verb.present[3]} {thing.french}{right}."


def _forbid(verb: Verb, thing: Thing) -> tuple[str, str]:
    order = french.join("ne", verb.present[3])
    return f"do not {verb.english} {thing.english}.", f"{order} pas {thing.denied}."


def _which(asked: Asked, subject: Subject, inquiry: Inquiry) -> tuple[str, str]:
    who = subject.agreement
    return (
        f"{asked.english} {inquiry.auxiliary[who]} {subject.english} {inquiry.english}?",
        f"{asked.french} est-ce {subject.that}{inquiry.french[asked.column][who]} ?",
    )


def _that(head: Asked, subject: Subject, inquiry: Inquiry, adjective: Adjective) -> tuple[str, str]:
    who, plural = subject.agreement, head.column >= 2
    quality = adjective.agree(head.column % 2 == 1, plural)
    left, right = ("are", "sont") if plural else ("is", "est")
    return (
        f"{head.english} that {subject.english} {inquiry.plain[who]} {left} {adjective.english}.",
        f"{head.french} {subject.that}{inquiry.french[head.column][who]} {right} {quality}.",
    )


def _asked_phrases(noun: entries.Noun) -> list[Asked]:
    (one, many), (un, des) = noun.english, noun.french
    quel = "quelle" if noun.feminine else "quel"
    return [
        Asked(f"which {one}", f"{quel} {un}", int(noun.feminine)),
        Asked(f"which {many}", f"{quel}s {des}", 2 + noun.feminine),
        Asked(f"how many {many}", f"combien {french.join('de', des)}", 2 + noun.feminine),
    ]


def _head(noun: entries.Noun, plural: bool) -> Asked:
    french_side = noun_phrases.definite(noun, noun.french[plural], plural)
    return Asked(f"the {noun.english[plural]}", french_side, 2 * plural + noun.feminine)


@cache
def _inquiry(verb: Verb, tense: str) -> Inquiry:
    asked, told = question(verb, tense), clause(verb, tense)
    rows = tuple(
        tuple(french_verb(verb, tense, AFFIRMED, who, ending=ending) for who in AGREEMENTS)
        for ending in ENDINGS
    )
    return Inquiry(asked.auxiliary, told.english, verb.english, rows)
