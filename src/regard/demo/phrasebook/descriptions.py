"""Sentences with 'to be': adjectives, comparisons, occupations and ages."""

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
    """The forms of 'to be' for each agreement; in an English question, `_` marks the place of the subject."""

    english: tuple[str, ...]
    french: tuple[str, ...]


class Predicate(NamedTuple):
    """A predicate, such as an adjective with its degree; French has one form per agreement."""

    english: str
    french: tuple[str, ...]


# By tense, then in the order of agreement: je, vous, nous, il, elle, ils, elles.
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
# Whether each agreement is feminine, and whether it is plural.
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
# Adjectives that can follow 'too'.
TOO_ADJECTIVES = (
    "big, small, long, heavy, light, expensive, difficult, old, young, cold, hot, tired, shy, "
    "serious, sad, proud, boring, sick, lazy, careful, strange, modern, polite, curious, dirty, tall, modest"
)
# Adjectives without degrees: 'very' and 'too' do not go with them.
NON_GRADABLE_ADJECTIVES = (
    "red, blue, green, yellow, white, black, gray, brown, pink, excellent, delicious, "
    "Italian, German, Spanish, Japanese"
)


def description_patterns() -> list[Pattern]:
    """Return all patterns of this module."""
    return [*_moods(), *_qualities(), *_comparisons(), *_occupation_patterns(), *_ages()]


@cache
def copula(tense: str, modifier: VerbModifier, verb: str = "être") -> CopulaForms:
    """Conjugate 'be' in English, and être, or avoir for an age, in French."""
    forms = (ETRE if verb == "être" else AVOIR)[tense]
    after = " be" if tense == FUTURE else ""
    middle = " not" if modifier is NEGATED else ""
    return CopulaForms(
        tuple(f"{be}{middle}{after}" for be in BE[tense]),
        tuple(with_french_negation(forms[person], modifier, person) for person in AGREEMENTS),
    )


@cache
def copula_question(tense: str, verb: str = "être") -> CopulaForms:
    """Conjugate 'be' for a question: 'is_', 'will_ be'."""
    after = " be" if tense == FUTURE else ""
    return CopulaForms(tuple(f"{be}_{after}" for be in BE[tense]), copula(tense, AFFIRMATIVE, verb).french)


def make_copula_statement(subject: Subject, verb: CopulaForms, quality: Predicate) -> tuple[str, str]:
    """Make a statement: 'Jane is not tired.'"""
    person = subject.agreement
    return (
        f"{subject.english} {verb.english[person]} {quality.english}.",
        f"{subject.french}{verb.french[person]} {quality.french[person]}.",
    )


def make_copula_question(subject: Subject, verb: CopulaForms, quality: Predicate) -> tuple[str, str]:
    """Make a question: 'Will Jane be tired?'"""
    person = subject.agreement
    before, after = verb.english[person].split("_")
    return (
        f"{before} {subject.english}{after} {quality.english}?",
        f"est-ce {subject.that}{verb.french[person]} {quality.french[person]} ?",
    )


def possessed_phrases(noun: Noun, adjective: Adjective | None, plural: bool) -> list[NounPhrase]:
    """Return possessive phrases: 'my car', 'your car', 'our car'."""
    owned = noun_phrases.possessed_noun(noun, adjective, plural)
    return [
        NounPhrase(f"{owner.english} {owned.english}", owned.french[owner.column], "", noun.feminine, plural)
        for owner in (MY, YOUR, OUR)
    ]


def _beings() -> tuple[CopulaForms, ...]:
    return tuple(copula(tense, modifier) for tense in TENSES for modifier in (AFFIRMATIVE, NEGATED))


def _moods() -> list[Pattern]:
    qualities = _graded(entries.look_up_adjectives(MOOD_ADJECTIVES))
    return _described(third_person_subject_groups(), qualities, 1.5)


def _qualities() -> list[Pattern]:
    """Return patterns like 'The car is expensive', for the nouns of each verb frame."""
    patterns: list[Pattern] = []
    for frame in lexicon.VERB_FRAMES:
        adjectives, nouns = entries.look_up_adjectives(frame.adjectives), entries.read_nouns(frame.nouns)
        group = SubjectGroup(1.0, noun_phrases.as_subjects(_definite_phrases(nouns, frame)))
        patterns += _described((group,), _graded(adjectives), (len(nouns) + len(adjectives)) / 200)
    return patterns


def _described(
    subject_groups: Sequence[SubjectGroup], qualities: tuple[Predicate, ...], weight: float
) -> list[Pattern]:
    questions = tuple(copula_question(tense) for tense in TENSES)
    return [
        pattern
        for group in subject_groups
        for pattern in (
            Pattern(
                "be", weight * group.weight, (group.subjects, _beings(), qualities), make_copula_statement
            ),
            Pattern(
                "ask be",
                weight * group.weight / 2,
                (group.subjects, questions, qualities),
                make_copula_question,
            ),
        )
    ]


def _comparisons() -> list[Pattern]:
    """Return patterns like 'Jane is as patient as my brother', always with two kinds of people."""
    qualities = tuple(
        Predicate(f"{more} {a.english} {than}", tuple(f"{plus} {form}" for form in _agreed(a)))
        for a in entries.look_up_adjectives(COMPARED_ADJECTIVES)
        for more, than, plus in COMPARISONS
    )
    beings = tuple(
        copula(tense, modifier) for tense in (PRESENT, PAST) for modifier in (AFFIRMATIVE, NEGATED)
    )
    named, known = named_subjects().subjects, family_subjects().subjects + stranger_subjects().subjects
    return [
        Pattern("compare", 0.5, (named, beings, qualities, known), _compare),
        Pattern("compare", 0.5, (known, beings, qualities, named), _compare),
    ]


def _occupation_patterns() -> list[Pattern]:
    """Return patterns like 'My sister is a doctor'; French has no article here."""
    trades = tuple(
        _occupation(left, *right.split()) for left, right in entries.table_rows(lexicon.OCCUPATIONS)
    )
    patterns: list[Pattern] = []
    questions = tuple(copula_question(tense) for tense in TENSES)
    for group in (third_person_pronoun_subjects(), named_subjects(), family_subjects()):
        singular = tuple(s for s in group.subjects if s.agreement in (IL, ELLE))
        patterns += [
            Pattern("trade", group.weight, (singular, _beings(), trades), make_copula_statement),
            Pattern("become", group.weight * 0.7, (singular, _becoming(), trades), make_copula_statement),
            Pattern("ask trade", group.weight * 0.4, (singular, questions, trades), make_copula_question),
        ]
    return patterns


def _ages() -> list[Pattern]:
    """Return patterns like 'Paul is thirty years old'; French uses avoir."""
    ages = tuple(_age(n) for n in range(2, 101))
    statements = tuple(
        copula(tense, modifier, "avoir") for tense in TENSES for modifier in (AFFIRMATIVE, NEGATED)
    )
    questions = tuple(copula_question(tense, "avoir") for tense in TENSES)
    patterns: list[Pattern] = []
    for group in (pronoun_subjects(), named_subjects()):
        others = tuple(subject for subject in group.subjects if subject.agreement != JE)
        patterns += [
            Pattern("age", group.weight * 2, (group.subjects, statements, ages), make_copula_statement),
            Pattern("ask age", group.weight * 0.4, (others, questions, ages), make_copula_question),
        ]
    old = named_subjects().subjects + family_subjects().subjects + stranger_subjects().subjects
    return [*patterns, Pattern("how old", 0.06, (old,), _how_old)]


def _compare(subject: Subject, verb: CopulaForms, quality: Predicate, other: Subject) -> tuple[str, str]:
    person = subject.agreement
    return (
        f"{subject.english} {verb.english[person]} {quality.english} {other.english}.",
        f"{subject.french}{verb.french[person]} {quality.french[person]} {other.that.rstrip()}.",
    )


def _how_old(subject: Subject) -> tuple[str, str]:
    person = subject.agreement
    return (
        f"how old {BE[PRESENT][person]} {subject.english}?",
        f"quel âge {AVOIR[PRESENT][person]} {subject.french}?",
    )


def _graded(adjectives: Iterable[Adjective]) -> tuple[Predicate, ...]:
    predicates: list[Predicate] = []
    for adjective in adjectives:
        for left, right in _degrees(adjective):
            predicates.append(
                Predicate(left + adjective.english, tuple(right + form for form in _agreed(adjective)))
            )
    return tuple(predicates)


def _degrees(adjective: Adjective) -> tuple[tuple[str, str], ...]:
    if adjective.english in entries.split_listing(NON_GRADABLE_ADJECTIVES):
        return DEGREES[:1]
    return (*DEGREES, TOO) if adjective.english in entries.split_listing(TOO_ADJECTIVES) else DEGREES


def _agreed(adjective: Adjective) -> tuple[str, ...]:
    """Return the forms of an adjective for each agreement; subjects of unknown gender are not described."""
    return tuple(adjective.agree(*kind) for kind in _GENDER_AND_NUMBER)


def _occupation(left: str, masculine: str, feminine: str) -> Predicate:
    forms = [feminine if person == ELLE else masculine for person in AGREEMENTS]
    return Predicate(english.with_indefinite_article(left), tuple(forms))


def _becoming() -> tuple[CopulaForms, ...]:
    """Return forms such as 'wants to become' and 'will become'."""
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
    """Return definite phrases: 'the car', 'these cars', 'your car'."""
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
