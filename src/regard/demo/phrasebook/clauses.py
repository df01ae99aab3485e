"""Verb phrases in both languages: tense, negation, agreement, modal verbs."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from regard.demo.phrasebook import entries, french
from regard.demo.phrasebook.entries import Verb
from regard.demo.phrasebook.noun_phrases import AGREEMENTS, ELLE, IL, JE

PRESENT, PAST, FUTURE = "present", "past", "future"
TENSES = (PRESENT, PAST, FUTURE)


class VerbModifier(NamedTuple):
    """A negation or an adverb of frequency, placed before the verb in English and after it in French."""

    english: str
    french: str
    negative: bool


AFFIRMATIVE = VerbModifier("", "", False)
NEGATED = VerbModifier("not", "pas", True)
NEVER = VerbModifier("never", "jamais", True)
FREQUENCIES = (
    NEVER,
    VerbModifier("often", "souvent", False),
    VerbModifier("always", "toujours", False),
    VerbModifier("rarely", "rarement", False),
    VerbModifier("sometimes", "parfois", False),
)


class Clause(NamedTuple):
    """The verb forms for each agreement: 'visits', 'visite'; the French form for 'I' includes je."""

    english: tuple[str, ...]
    french: tuple[str, ...]
    negative: bool


class Question(NamedTuple):
    """The verb forms of a question: English has an auxiliary before the subject, French the plain verb."""

    auxiliary: tuple[str, ...]
    english: str
    french: tuple[str, ...]


# For each agreement: index in `Verb.present`, future ending, avoir, être, participle ending.
_PRESENT = (0, 3, 2, 1, 1, 4, 4)
_FUTURE = ("ai", "ez", "ons", "a", "a", "ont", "ont")
_AVOIR = ("ai", "avez", "avons", "a", "a", "ont", "ont")
_ETRE = ("suis", "êtes", "sommes", "est", "est", "sont", "sont")
_ENDING = ("", "", "s", "", "e", "s", "es")


@cache
def clause(verb: Verb, tense: str, modifier: VerbModifier = AFFIRMATIVE) -> Clause:
    """Conjugate a verb in both languages."""
    return Clause(
        tuple(english_verb(verb, tense, modifier, person) for person in AGREEMENTS),
        tuple(french_verb(verb, tense, modifier, person) for person in AGREEMENTS),
        modifier.negative,
    )


@cache
def question(verb: Verb, tense: str) -> Question:
    """Conjugate a verb for a question in both languages."""
    auxiliaries = tuple(_auxiliary(tense, person) for person in AGREEMENTS)
    return Question(auxiliaries, verb.english, clause(verb, tense).french)


def english_verb(verb: Verb, tense: str, modifier: VerbModifier, agreement: int) -> str:
    """Conjugate an English verb: 'visits', 'did not visit', 'will never visit'."""
    if modifier is NEGATED:
        return f"{_auxiliary(tense, agreement)} not {verb.english}"
    adverb = f"{modifier.english} " if modifier.english else ""
    match tense:
        case "past":
            return adverb + verb.past
        case "future":
            return f"will {adverb}{verb.english}"
        case _:
            return adverb + (verb.third_person if agreement in (IL, ELLE) else verb.english)


def french_verb(
    verb: Verb, tense: str, modifier: VerbModifier, agreement: int, pronoun: str = "", ending: str = ""
) -> str:
    """Conjugate a French verb: 'visite', "n'a pas visité", "je ne les ai jamais vues".

    `ending` is the agreement of a participle after avoir with an object before the verb.
    """
    match tense:
        case "past" if verb.with_etre:
            finite, participle = _ETRE[agreement], verb.participle + _ENDING[agreement]
        case "past":
            finite, participle = _AVOIR[agreement], agree_participle(verb.participle, ending)
        case "future":
            finite, participle = verb.future_stem + _FUTURE[agreement], ""
        case _:
            finite, participle = verb.present[_PRESENT[agreement]], ""
    return with_french_negation(finite, modifier, agreement, pronoun) + (
        f" {participle}" if participle else ""
    )


def with_french_negation(finite: str, modifier: VerbModifier, agreement: int, pronoun: str = "") -> str:
    """Put je, ne, an object pronoun and pas around a finite verb."""
    head = with_object_pronoun(pronoun, finite)
    if modifier.negative:
        head = french.join_with_elision("ne", head)
    if agreement == JE:
        head = french.join_with_elision("je", head)
    return f"{head} {modifier.french}" if modifier.french else head


def with_object_pronoun(pronoun: str, form: str) -> str:
    """Put an object pronoun before a verb: le voit, l'aime, leur donne."""
    if pronoun in ("me", "le", "la"):
        return french.join_with_elision(pronoun, form)
    return f"{pronoun} {form}" if pronoun else form


def agree_participle(participle: str, ending: str) -> str:
    """Add e, s or es to a participle; one in -s takes no second s."""
    return participle if ending == "s" and participle.endswith("s") else participle + ending


def _auxiliary(tense: str, agreement: int) -> str:
    match tense:
        case "past":
            return "did"
        case "future":
            return "will"
        case _:
            return "does" if agreement in (IL, ELLE) else "do"


class Modal(NamedTuple):
    """The forms of a modal verb; in an English question, `_` marks the place of the subject."""

    english: tuple[str, ...]
    french: tuple[str, ...]
    negative: bool
    preposition: str

    def link_infinitive(self, infinitive: str) -> str:
        """Put the preposition that this verb needs before an infinitive: de lire, d'acheter."""
        if self.preposition == "de":
            return french.join_with_elision("de", infinitive)
        return f"{self.preposition} {infinitive}" if self.preposition else infinitive


# French forms in the order of agreement: je, vous, nous, il, elle, ils, elles.
_POUVOIR = entries.split_forms("peux pouvez pouvons peut peut peuvent peuvent")
_DEVOIR = entries.split_forms("dois devez devons doit doit doivent doivent")
_VOULOIR = entries.split_forms("veux voulez voulons veut veut veulent veulent")
_VOUDRAIS = entries.split_forms("voudrais voudriez voudrions voudrait voudrait voudraient voudraient")
_ALLER = entries.split_forms("vais allez allons va va vont vont")
_ESPERER = entries.split_forms("espère espérez espérons espère espère espèrent espèrent")
_BE = entries.split_forms("am are are is is are are")


@cache
def modal_statements() -> tuple[Modal, ...]:
    """Return the modal verbs of statements."""
    return (
        _modal(["can"] * 7, _POUVOIR, AFFIRMATIVE),
        _modal(["cannot"] * 7, _POUVOIR, NEGATED),
        _modal(["must"] * 7, _DEVOIR, AFFIRMATIVE),
        _modal(["must not"] * 7, _DEVOIR, NEGATED),
        _modal(_by_person("want to", "wants to"), _VOULOIR, AFFIRMATIVE),
        _modal(_by_person("do not want to", "does not want to"), _VOULOIR, NEGATED),
        _modal(["would like to"] * 7, _VOUDRAIS, AFFIRMATIVE),
        _modal([f"{be} going to" for be in _BE], _ALLER, AFFIRMATIVE),
        _modal([f"{be} not going to" for be in _BE], _ALLER, NEGATED),
        _modal(_by_person("hope to", "hopes to"), _ESPERER, AFFIRMATIVE),
        _modal(["decided to"] * 7, _AVOIR, AFFIRMATIVE, "décidé", "de"),
        _modal(["refused to"] * 7, _AVOIR, AFFIRMATIVE, "refusé", "de"),
        _modal(["forgot to"] * 7, _AVOIR, AFFIRMATIVE, "oublié", "de"),
    )


@cache
def modal_questions() -> tuple[Modal, ...]:
    """Return the modal verbs of questions."""
    return (
        _modal(["can_"] * 7, _POUVOIR, AFFIRMATIVE),
        _modal(["must_"] * 7, _DEVOIR, AFFIRMATIVE),
        _modal(_by_person("do_ want to", "does_ want to"), _VOULOIR, AFFIRMATIVE),
        _modal([f"{be}_ going to" for be in _BE], _ALLER, AFFIRMATIVE),
        _modal(["would_ like to"] * 7, _VOUDRAIS, AFFIRMATIVE),
        _modal(_by_person("do_ hope to", "does_ hope to"), _ESPERER, AFFIRMATIVE),
    )


def _modal(
    left: Sequence[str],
    right: Sequence[str],
    modifier: VerbModifier,
    participle: str = "",
    preposition: str = "",
) -> Modal:
    after = f" {participle}" if participle else ""
    forms = tuple(with_french_negation(right[person], modifier, person) + after for person in AGREEMENTS)
    return Modal(tuple(left), forms, modifier.negative, preposition)


def _by_person(plain: str, third_person: str) -> list[str]:
    return [third_person if person in (IL, ELLE) else plain for person in AGREEMENTS]
