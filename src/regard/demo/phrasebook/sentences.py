"""The commonest ways of saying: who does what to what and when, told, asked, owned, wished."""

from collections.abc import Iterable
from typing import NamedTuple

from regard.demo.phrasebook.clauses import AFFIRMED, DENIED, PAST, Clause, Modal, Turn, clause, question
from regard.demo.phrasebook.entries import Verb
from regard.demo.phrasebook.noun_phrases import OWNERS, Owned, Subject, Thing
from regard.demo.phrasebook.times import When


class Deed(NamedTuple):
    """A clause and its time."""

    english: tuple[str, ...]
    french: tuple[str, ...]
    negative: bool
    english_end: str
    french_end: str


class Asking(NamedTuple):
    """A question's verb and its time."""

    auxiliary: tuple[str, ...]
    english: str
    french: tuple[str, ...]
    english_end: str
    french_end: str


def deeds(
    verbs: Iterable[Verb], whens: Iterable[When], turns: Iterable[Turn] = (AFFIRMED,)
) -> tuple[Deed, ...]:
    """Each verb at each time with each turn, but for what English leaves unclear: 'I read', now or then?"""
    whens, turns, found = tuple(whens), tuple(turns), []
    for verb in verbs:
        for when in whens:
            for turn in turns:
                if when.tense != PAST or when.marked or turn is DENIED or verb.past != verb.english:
                    found.append(_deed(clause(verb, when.tense, turn), when))
    return tuple(found)


def askings(verbs: Iterable[Verb], whens: Iterable[When]) -> tuple[Asking, ...]:
    """Each verb asked about at each time."""
    whens = tuple(whens)
    pairs = ((question(verb, when.tense), when) for verb in verbs for when in whens)
    return tuple(Asking(*asked, when.english, when.french) for asked, when in pairs)


def tell(subject: Subject, deed: Deed, thing: Thing) -> tuple[str, str]:
    """'Jane buys the car tomorrow.'"""
    who = subject.agreement
    what = thing.denied if deed.negative else thing.french
    return (
        f"{subject.english} {deed.english[who]} {thing.english}{deed.english_end}.",
        f"{subject.french}{deed.french[who]} {what}{deed.french_end}.",
    )


def ask(subject: Subject, asking: Asking, thing: Thing) -> tuple[str, str]:
    """'Did Jane buy the car yesterday?'"""
    who = subject.agreement
    return (
        f"{asking.auxiliary[who]} {subject.english} {asking.english} {thing.english}{asking.english_end}?",
        f"est-ce {subject.that}{asking.french[who]} {thing.french}{asking.french_end} ?",
    )


def own(subject: Subject, deed: Deed, owner: int, owned: Owned) -> tuple[str, str]:
    """'Jane sells her car.'"""
    who = subject.agreement
    whose = OWNERS[who][owner]
    return (
        f"{subject.english} {deed.english[who]} {whose.english} {owned.english}{deed.english_end}.",
        f"{subject.french}{deed.french[who]} {owned.french[whose.column]}{deed.french_end}.",
    )


def wish(subject: Subject, modal: Modal, verb: Verb, thing: Thing) -> tuple[str, str]:
    """'Jane wants to buy the car.'"""
    who = subject.agreement
    what = thing.denied if modal.negative else thing.french
    deed = modal.link(verb.french)
    return (
        f"{subject.english} {modal.english[who]} {verb.english} {thing.english}.",
        f"{subject.french}{modal.french[who]} {deed} {what}.",
    )


def ask_wish(subject: Subject, modal: Modal, verb: Verb, thing: Thing) -> tuple[str, str]:
    """'Does Jane want to buy the car?'"""
    who = subject.agreement
    before, after = modal.english[who].split("_")
    return (
        f"{before} {subject.english}{after} {verb.english} {thing.english}?",
        f"est-ce {subject.that}{modal.french[who]} {modal.link(verb.french)} {thing.french} ?",
    )


def do(subject: Subject, deed: Deed) -> tuple[str, str]:
    """'Jane sings tomorrow.'"""
    who = subject.agreement
    return (
        f"{subject.english} {deed.english[who]}{deed.english_end}.",
        f"{subject.french}{deed.french[who]}{deed.french_end}.",
    )


def _deed(said: Clause, when: When) -> Deed:
    return Deed(said.english, said.french, said.negative, when.english, when.french)
