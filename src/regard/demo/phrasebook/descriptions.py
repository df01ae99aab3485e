"""Sentences about how things and people are: tired, more patient, a doctor, thirty years old."""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from regard.demo.phrasebook import english, entries, french, lexicon, noun_phrases
from regard.demo.phrasebook.clauses import (
    AFFIRMATIVE,
    FUTURE,
    NEGATED,
    PAST,
    PRESENT,
    TENSES,
    VerbModifier,
    with_french_negation,
)
from regard.demo.phrasebook.entries import Adjective, Noun
from regard.demo.phrasebook.lexicon import VerbFrame
from regard.demo.phrasebook.noun_phrases import AGREEMENTS, ELLE, IL, JE, MY, OUR, YOUR, NounPhrase, Subject
from regard.demo.phrasebook.sentence_pattern import Pattern
from regard.demo.phrasebook.subjects import (
    SubjectGroup,
    family_subjects,
    named_subjects,
    pronoun_subjects,
    stranger_subjects,
    third_person_pronoun_subjects,
    third_person_subject_groups,
)


class CopulaForms(NamedTuple):
    """'is', 'will not be' for each agreement; in a question, English `_` is where the subject stands."""

    english: tuple[str, ...]
    french: tuple[str, ...]


class Predicate(NamedTuple):
    """An adjective with its degree; the French has one form for each agreement."""

    english: str
    french: tuple[str, ...]


# By tense, then in the order of the agreements: je, vous, nous, il, elle, ils, elles.
ETRE = {
    PRESENT: entries.split_forms("suis êtes sommes est est sont sont"),
    PAST: entries.split_forms("étais étiez étions était était étaient étaient"),
    FUTURE: entries.split_forms("serai serez serons sera sera seront seront"),
}
AVOIR = {
    PRESENT: entries.split_forms("ai avez avons a a ont ont"),
    PAST: entries.split_forms("avais aviez avions avait avait avaient avaient"),
    FUTURE: entries.split_forms("aurai aurez aurons aura aura auront auront"),
}
BE = {
    PRESENT: entries.split_forms("am are are is is are are"),
    PAST: entries.split_forms("was were were was was were were"),
    FUTURE: ("will",) * 7,
}
# The gender (feminine?) and number (plural?) of each agreement.
_GENDER_AND_NUMBER = (
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

MOOD_ADJECTIVES = (
    "tall, happy, tired, sad, kind, shy, patient, young, old, famous, rich, elegant, polite, brave, serious, "
    "sick, curious, generous, lazy, proud, careful, intelligent, funny, modest, sincere, beautiful"
)
COMPARED_ADJECTIVES = (
    "patient, serious, curious, generous, careful, intelligent, modest, sincere, famous, elegant, polite, "
    "tired"
)
# Of what there can be too much.
TOO_ADJECTIVES = (
    "big, small, long, heavy, light, expensive, difficult, old, young, cold, hot, tired, shy, "
    "serious, sad, proud, boring, sick, lazy, careful, strange, modern, polite, curious, dirty, tall, modest"
)
# Qualities that have no degree: 'very' and 'too' do not go with them.
NON_GRADABLE_ADJECTIVES = (
    "red, blue, green, yellow, white, black, gray, brown, pink, excellent, delicious, "
    "Italian, German, Spanish, Japanese"
)


def description_patterns() -> list[Pattern]:
    """All of them."""
    return [*_moods(), *_qualities(), *_comparisons(), *_occupation_patterns(), *_ages()]


@cache
def copula(tense: str, turn: VerbModifier, verb: str = "être") -> CopulaForms:
    """English 'be'; French être, or avoir for an age."""
    forms = (ETRE if verb == "être" else AVOIR)[tense]
    after = " be" if tense == FUTURE else ""
    middle = " not" if turn is NEGATED else ""
    return CopulaForms(
        tuple(f"{be}{middle}{after}" for be in BE[tense]),
        tuple(with_french_negation(forms[who], turn, who) for who in AGREEMENTS),
    )


@cache
def copula_question(tense: str, verb: str = "être") -> CopulaForms:
    """'is_', 'will_ be'."""
    after = " be" if tense == FUTURE else ""
    return CopulaForms(tuple(f"{be}_{after}" for be in BE[tense]), copula(tense, AFFIRMATIVE, verb).french)


def make_copula_statement(subject: Subject, verb: CopulaForms, quality: Predicate) -> tuple[str, str]:
    """'Jane is not tired.'"""
    who = subject.agreement
    return (
        f"{subject.english} {verb.english[who]} {quality.english}.",
        f"{subject.french}{verb.french[who]} {quality.french[who]}.",
    )


def make_copula_question(subject: Subject, verb: CopulaForms, quality: Predicate) -> tuple[str, str]:
    """'Will Jane be tired?'"""
    who = subject.agreement
    before, after = verb.english[who].split("_")
    return (
        f"{before} {subject.english}{after} {quality.english}?",
        f"est-ce {subject.that}{verb.french[who]} {quality.french[who]} ?",
    )


def possessed_phrases(noun: Noun, adjective: Adjective | None, plural: bool) -> list[NounPhrase]:
    """'my car', 'your car', 'our car'."""
    owned = noun_phrases.possessed_noun(noun, adjective, plural)
    return [
        NounPhrase(f"{owner.english} {owned.english}", owned.french[owner.column], "", noun.feminine, plural)
        for owner in (MY, YOUR, OUR)
    ]


def _beings() -> tuple[CopulaForms, ...]:
    return tuple(copula(tense, turn) for tense in TENSES for turn in (AFFIRMATIVE, NEGATED))


def _moods() -> list[Pattern]:
    qualities = _graded(entries.look_up_adjectives(MOOD_ADJECTIVES))
    return _described(third_person_subject_groups(), qualities, 1.5)


def _qualities() -> list[Pattern]:
    """'The red car is expensive', said of the things of each frame."""
    found: list[Pattern] = []
    for frame in lexicon.VERB_FRAMES:
        adjectives, nouns = entries.look_up_adjectives(frame.adjectives), entries.read_nouns(frame.nouns)
        cast = SubjectGroup(1.0, noun_phrases.as_subjects(_definite_phrases(nouns, frame)))
        found += _described((cast,), _graded(adjectives), (len(nouns) + len(adjectives)) / 200)
    return found


def _described(
    casts: Sequence[SubjectGroup], qualities: tuple[Predicate, ...], weight: float
) -> list[Pattern]:
    asked = tuple(copula_question(tense) for tense in TENSES)
    return [
        pattern
        for cast in casts
        for pattern in (
            Pattern("be", weight * cast.weight, (cast.subjects, _beings(), qualities), make_copula_statement),
            Pattern(
                "ask be", weight * cast.weight / 2, (cast.subjects, asked, qualities), make_copula_question
            ),
        )
    ]


def _comparisons() -> list[Pattern]:
    """'Jane is as patient as my brother': people of two kinds, so that nobody is compared with himself."""
    qualities = tuple(
        Predicate(f"{more} {a.english} {than}", tuple(f"{plus} {form}" for form in _agreed(a)))
        for a in entries.look_up_adjectives(COMPARED_ADJECTIVES)
        for more, than, plus in COMPARISONS
    )
    beings = tuple(copula(tense, turn) for tense in (PRESENT, PAST) for turn in (AFFIRMATIVE, NEGATED))
    named, known = named_subjects().subjects, family_subjects().subjects + stranger_subjects().subjects
    return [
        Pattern("compare", 0.5, (named, beings, qualities, known), _compare),
        Pattern("compare", 0.5, (known, beings, qualities, named), _compare),
    ]


def _occupation_patterns() -> list[Pattern]:
    """'My sister is a doctor'; French has no article here."""
    trades = tuple(
        _occupation(left, *right.split()) for left, right in entries.table_rows(lexicon.OCCUPATIONS)
    )
    found: list[Pattern] = []
    asked = tuple(copula_question(tense) for tense in TENSES)
    for cast in (third_person_pronoun_subjects(), named_subjects(), family_subjects()):
        singular = tuple(s for s in cast.subjects if s.agreement in (IL, ELLE))
        found += [
            Pattern("trade", cast.weight, (singular, _beings(), trades), make_copula_statement),
            Pattern("become", cast.weight * 0.7, (singular, _becoming(), trades), make_copula_statement),
            Pattern("ask trade", cast.weight * 0.4, (singular, asked, trades), make_copula_question),
        ]
    return found


def _ages() -> list[Pattern]:
    """'Paul is thirty years old', which French says with avoir."""
    ages = tuple(_age(n) for n in range(2, 101))
    told = tuple(copula(tense, turn, "avoir") for tense in TENSES for turn in (AFFIRMATIVE, NEGATED))
    asked = tuple(copula_question(tense, "avoir") for tense in TENSES)
    found: list[Pattern] = []
    for cast in (pronoun_subjects(), named_subjects()):
        others = tuple(subject for subject in cast.subjects if subject.agreement != JE)
        found += [
            Pattern("age", cast.weight * 2, (cast.subjects, told, ages), make_copula_statement),
            Pattern("ask age", cast.weight * 0.4, (others, asked, ages), make_copula_question),
        ]
    old = named_subjects().subjects + family_subjects().subjects + stranger_subjects().subjects
    return [*found, Pattern("how old", 0.06, (old,), _how_old)]


def _compare(subject: Subject, verb: CopulaForms, quality: Predicate, other: Subject) -> tuple[str, str]:
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


def _graded(adjectives: Iterable[Adjective]) -> tuple[Predicate, ...]:
    found: list[Predicate] = []
    for adjective in adjectives:
        for left, right in _degrees(adjective):
            found.append(
                Predicate(left + adjective.english, tuple(right + form for form in _agreed(adjective)))
            )
    return tuple(found)


def _degrees(adjective: Adjective) -> tuple[tuple[str, str], ...]:
    if adjective.english in entries.split_listing(NON_GRADABLE_ADJECTIVES):
        return DEGREES[:1]
    return (*DEGREES, TOO) if adjective.english in entries.split_listing(TOO_ADJECTIVES) else DEGREES


def _agreed(adjective: Adjective) -> tuple[str, ...]:
    """The adjective for each agreement; nobody whose gender is unknown is described."""
    return tuple(adjective.agree(*kind) for kind in _GENDER_AND_NUMBER)


def _occupation(left: str, masculine: str, feminine: str) -> Predicate:
    forms = [feminine if who == ELLE else masculine for who in AGREEMENTS]
    return Predicate(english.with_indefinite_article(left), tuple(forms))


def _becoming() -> tuple[CopulaForms, ...]:
    """'wants to become', 'will become'."""
    wishes = (
        ("wants to become", "veut devenir"),
        ("will become", "deviendra"),
        ("would like to become", "voudrait devenir"),
    )
    denials = (("does not want to become", "ne veut pas devenir"), ("will not become", "ne deviendra pas"))
    return tuple(CopulaForms((left,) * 7, (right,) * 7) for left, right in wishes + denials)


def _age(age: int) -> Predicate:
    return Predicate(f"{english.english_number(age)} years old", (f"{french.french_number(age)} ans",) * 7)


def _definite_phrases(nouns: list[Noun], frame: VerbFrame) -> list[NounPhrase]:
    """'the car', 'these cars', 'your car': things that can be spoken of."""
    table = (
        noun_phrases.mass_noun_phrases(nouns, [None])
        if frame.mass
        else noun_phrases.countable_phrases(nouns, [None])
    )
    definite = [x for x in table if x.english.startswith(("the ", "this ", "these "))]
    owned: list[NounPhrase] = []
    for noun in nouns if frame.can_be_owned else ():
        for plural in (False,) if frame.mass else (False, True):
            owned += possessed_phrases(noun, None, plural)
    return definite + owned
