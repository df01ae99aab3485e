"""What a subject does: a verb in its tense, affirmed or denied, in both languages and for every subject."""

from functools import cache
from typing import NamedTuple

from regard.text.phrasebook import french
from regard.text.phrasebook.phrases import AGREEMENTS, ELLE, IL, JE
from regard.text.phrasebook.words import Verb

PRESENT, PAST, FUTURE = "present", "past", "future"
TENSES = (PRESENT, PAST, FUTURE)


class Turn(NamedTuple):
    """What stands between subject and verb in English, and after the conjugated word in French."""

    english: str
    french: str
    negative: bool


AFFIRMED = Turn("", "", False)
DENIED = Turn("not", "pas", True)
NEVER = Turn("never", "jamais", True)
FREQUENCIES = (
    NEVER,
    Turn("often", "souvent", False),
    Turn("always", "toujours", False),
    Turn("rarely", "rarement", False),
    Turn("sometimes", "parfois", False),
)


class Clause(NamedTuple):
    """A verb for each agreement of the subject: 'visits', 'visite'; after 'I' the French holds its je."""

    english: tuple[str, ...]
    french: tuple[str, ...]
    negative: bool


class Question(NamedTuple):
    """An English question has its auxiliary before the subject; the French verb stays as it was."""

    auxiliary: tuple[str, ...]
    english: str
    french: tuple[str, ...]


# For each agreement: the place in `Verb.present`, the future's ending, avoir, être, the participle's ending.
_PRESENT = (0, 3, 2, 1, 1, 4, 4)
_FUTURE = ("ai", "ez", "ons", "a", "a", "ont", "ont")
_AVOIR = ("ai", "avez", "avons", "a", "a", "ont", "ont")
_ETRE = ("suis", "êtes", "sommes", "est", "est", "sont", "sont")
_ENDING = ("", "", "s", "", "e", "s", "es")


@cache
def clause(verb: Verb, tense: str, turn: Turn = AFFIRMED) -> Clause:
    """The verb in both languages."""
    return Clause(
        tuple(english_verb(verb, tense, turn, agreement) for agreement in AGREEMENTS),
        tuple(french_verb(verb, tense, turn, agreement) for agreement in AGREEMENTS),
        turn.negative,
    )


@cache
def question(verb: Verb, tense: str) -> Question:
    """The verb asked about."""
    auxiliaries = tuple(_auxiliary(tense, agreement) for agreement in AGREEMENTS)
    return Question(auxiliaries, verb.english, clause(verb, tense).french)


def english_verb(verb: Verb, tense: str, turn: Turn, agreement: int) -> str:
    """'visits', 'did not visit', 'will never visit'."""
    if turn is DENIED:
        return f"{_auxiliary(tense, agreement)} not {verb.english}"
    adverb = f"{turn.english} " if turn.english else ""
    match tense:
        case "past":
            return adverb + verb.past
        case "future":
            return f"will {adverb}{verb.english}"
        case _:
            return adverb + (verb.third_person if agreement in (IL, ELLE) else verb.english)


def french_verb(
    verb: Verb, tense: str, turn: Turn, agreement: int, pronoun: str = "", ending: str = ""
) -> str:
    """'visite', "n'a pas visité", "je ne les ai jamais vues".

    `ending` is what an object before the verb asks of a participle after avoir.
    """
    match tense:
        case "past" if verb.with_etre:
            finite, participle = _ETRE[agreement], verb.participle + _ENDING[agreement]
        case "past":
            finite, participle = _AVOIR[agreement], agreed(verb.participle, ending)
        case "future":
            finite, participle = verb.future_stem + _FUTURE[agreement], ""
        case _:
            finite, participle = verb.present[_PRESENT[agreement]], ""
    return surround(finite, turn, agreement, pronoun) + (f" {participle}" if participle else "")


def surround(finite: str, turn: Turn, agreement: int, pronoun: str = "") -> str:
    """The conjugated word with what French puts around it: je, ne, an object pronoun, pas."""
    head = with_pronoun(pronoun, finite)
    if turn.negative:
        head = french.join("ne", head)
    if agreement == JE:
        head = french.join("je", head)
    return f"{head} {turn.french}" if turn.french else head


def with_pronoun(pronoun: str, form: str) -> str:
    """An object pronoun and the word it leans on: le voit, l'aime, leur donne."""
    if pronoun in ("me", "le", "la"):
        return french.join(pronoun, form)
    return f"{pronoun} {form}" if pronoun else form


def agreed(participle: str, ending: str) -> str:
    """The participle with e, s or es; one in -s takes no second s."""
    return participle if ending == "s" and participle.endswith("s") else participle + ending


def _auxiliary(tense: str, agreement: int) -> str:
    match tense:
        case "past":
            return "did"
        case "future":
            return "will"
        case _:
            return "does" if agreement in (IL, ELLE) else "do"
