"""Verbs that another verb follows: can, must, want to, decide to."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from regard.text.phrasebook import french, words
from regard.text.phrasebook.clauses import AFFIRMED, DENIED, Turn, surround
from regard.text.phrasebook.phrases import AGREEMENTS, ELLE, IL


class Modal(NamedTuple):
    """The modal for each agreement; in a question, English `_` is where the subject stands."""

    english: tuple[str, ...]
    french: tuple[str, ...]
    negative: bool
    preposition: str

    def link(self, infinitive: str) -> str:
        """The infinitive after the preposition that this verb asks for: de lire, d'acheter."""
        if self.preposition == "de":
            return french.join("de", infinitive)
        return f"{self.preposition} {infinitive}" if self.preposition else infinitive


# French forms in the order of the agreements: je, vous, nous, il, elle, ils, elles.
_POUVOIR = words.forms("peux pouvez pouvons peut peut peuvent peuvent")
_DEVOIR = words.forms("dois devez devons doit doit doivent doivent")
_VOULOIR = words.forms("veux voulez voulons veut veut veulent veulent")
_VOUDRAIS = words.forms("voudrais voudriez voudrions voudrait voudrait voudraient voudraient")
_ALLER = words.forms("vais allez allons va va vont vont")
_ESPERER = words.forms("espère espérez espérons espère espère espèrent espèrent")
_AVOIR = words.forms("ai avez avons a a ont ont")
_BE = words.forms("am are are is is are are")


@cache
def modals() -> tuple[Modal, ...]:
    """The modals as statements."""
    return (
        _modal(["can"] * 7, _POUVOIR, AFFIRMED),
        _modal(["cannot"] * 7, _POUVOIR, DENIED),
        _modal(["must"] * 7, _DEVOIR, AFFIRMED),
        _modal(["must not"] * 7, _DEVOIR, DENIED),
        _modal(_third("want to", "wants to"), _VOULOIR, AFFIRMED),
        _modal(_third("do not want to", "does not want to"), _VOULOIR, DENIED),
        _modal(["would like to"] * 7, _VOUDRAIS, AFFIRMED),
        _modal([f"{be} going to" for be in _BE], _ALLER, AFFIRMED),
        _modal([f"{be} not going to" for be in _BE], _ALLER, DENIED),
        _modal(_third("hope to", "hopes to"), _ESPERER, AFFIRMED),
        _modal(["decided to"] * 7, _AVOIR, AFFIRMED, "décidé", "de"),
        _modal(["refused to"] * 7, _AVOIR, AFFIRMED, "refusé", "de"),
        _modal(["forgot to"] * 7, _AVOIR, AFFIRMED, "oublié", "de"),
    )


@cache
def modal_questions() -> tuple[Modal, ...]:
    """The modals as questions."""
    return (
        _modal(["can_"] * 7, _POUVOIR, AFFIRMED),
        _modal(["must_"] * 7, _DEVOIR, AFFIRMED),
        _modal(_third("do_ want to", "does_ want to"), _VOULOIR, AFFIRMED),
        _modal([f"{be}_ going to" for be in _BE], _ALLER, AFFIRMED),
        _modal(["would_ like to"] * 7, _VOUDRAIS, AFFIRMED),
        _modal(_third("do_ hope to", "does_ hope to"), _ESPERER, AFFIRMED),
    )


def _modal(
    left: Sequence[str], right: Sequence[str], turn: Turn, participle: str = "", preposition: str = ""
) -> Modal:
    after = f" {participle}" if participle else ""
    forms = tuple(surround(right[who], turn, who) + after for who in AGREEMENTS)
    return Modal(tuple(left), forms, turn.negative, preposition)


def _third(plain: str, third_person: str) -> list[str]:
    return [third_person if who in (IL, ELLE) else plain for who in AGREEMENTS]
