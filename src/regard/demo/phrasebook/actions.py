"""Transitive sentences: statements, negations, questions, modals and imperatives with a direct object."""

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from regard.demo.phrasebook import entries, french, lexicon, noun_phrases, times
from regard.demo.phrasebook.basic_sentences import (
    TimedClause,
    TimedQuestion,
    make_modal_question,
    make_modal_statement,
    make_possessive_statement,
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
    TENSES,
    clause,
    french_verb,
    modal_questions,
    modal_statements,
    question,
)
from regard.demo.phrasebook.entries import Adjective, Verb
from regard.demo.phrasebook.lexicon import VerbFrame
from regard.demo.phrasebook.noun_phrases import AGREEMENTS, IL, NounPhrase, Subject
from regard.demo.phrasebook.sentence_pattern import Pattern
from regard.demo.phrasebook.subjects import all_subject_groups, named_subjects, pronoun_subjects
from regard.demo.phrasebook.times import UNTIMED, timed_adverbials


class QuestionWord(NamedTuple):
    """A question word: 'when', 'quand'."""

    english: str
    french: str


class FrontedObject(NamedTuple):
    """An object before its verb: 'which cars'; `column` is the gender and number of the participle."""

    english: str
    french: str
    column: int


class FrontedObjectQuestion(NamedTuple):
    """The forms of a verb whose object precedes it; French has one row per gender and number."""

    auxiliary: tuple[str, ...]
    plain: tuple[str, ...]
    english: str
    french: tuple[tuple[str, ...], ...]


QUESTION_WORDS = (
    QuestionWord("why", "pourquoi"),
    QuestionWord("when", "quand"),
    QuestionWord("where", "où"),
    QuestionWord("how", "comment"),
)
PARTICIPLE_ENDINGS = ("", "e", "s", "es")
IMPERATIVE_VERBS = (
    "read, choose, write, send, eat, buy, taste, bring, drink, prepare, take, repair, clean, wash, iron, "
    "watch, draw, photograph, visit, listen to, sing, learn, open, close, paint, look for, sell, keep, finish"
)


def action_patterns() -> list[Pattern]:
    """Return every verb frame in every kind of sentence; all words are about equally frequent."""
    return [pattern for frame in lexicon.VERB_FRAMES for pattern in _frame_patterns(frame)]


def _frame_patterns(frame: VerbFrame) -> list[Pattern]:
    verbs, nouns = entries.look_up_verbs(frame.verbs), entries.read_nouns(frame.nouns)
    adjectives = entries.look_up_adjectives(frame.adjectives)
    plain, described = _noun_phrases(frame, [None]), _noun_phrases(frame, adjectives)
    share = (len(verbs) + len(nouns) + len(adjectives) / 2) / 40
    patterns = _statement_patterns(share, verbs, plain, described) + _question_patterns(
        share, verbs, plain, described
    )
    patterns += _modal_patterns(share, verbs, plain, described) + _imperative_patterns(
        share, verbs, plain + described
    )
    if frame.can_be_owned:
        patterns += _possessive_patterns(share, frame, verbs, nouns, adjectives) + _have_patterns(
            share, plain, described
        )
    if not frame.mass:
        patterns += _counted_object_patterns(share, verbs, nouns, adjectives) + _fronted_object_patterns(
            share, verbs, nouns, adjectives
        )
    return patterns


def _noun_phrases(frame: VerbFrame, adjectives: Iterable[Adjective | None]) -> tuple[NounPhrase, ...]:
    make = noun_phrases.mass_noun_phrases if frame.mass else noun_phrases.countable_phrases
    return make(entries.read_nouns(frame.nouns), adjectives)


def _statement_patterns(
    share: float, verbs: list[Verb], plain: tuple[NounPhrase, ...], described: tuple[NounPhrase, ...]
) -> list[Pattern]:
    statements = timed_clauses(verbs, timed_adverbials())
    untimed, negated = timed_clauses(verbs, UNTIMED), timed_clauses(verbs, UNTIMED, [NEGATED])
    negated_timed = timed_clauses(verbs, times.adverbials_with_negation(timed_adverbials()), [NEGATED])
    habits = timed_clauses(verbs, times.with_tenses([PRESENT], UNTIMED), FREQUENCIES)
    shapes = (
        ("tell", 2.0, statements, plain),
        ("tell described", 2.0, untimed, described),
        ("tell described, timed", 1.0, statements, described),
        ("deny", 0.7, negated_timed, plain),
        ("deny described", 0.7, negated, described),
        ("habit", 0.5, habits, plain),
        ("habit described", 0.5, habits, described),
    )
    return [
        Pattern(name, share * weight * group.weight, (group.subjects, clauses, things), make_statement)
        for name, weight, clauses, things in shapes
        for group in all_subject_groups()
    ]


def _question_patterns(
    share: float, verbs: list[Verb], plain: tuple[NounPhrase, ...], described: tuple[NounPhrase, ...]
) -> list[Pattern]:
    patterns: list[Pattern] = []
    untimed, timed = timed_questions(verbs, UNTIMED), timed_questions(verbs, timed_adverbials())
    for group in all_subject_groups():
        weight = share * group.weight
        patterns += [
            Pattern("ask", weight * 0.8, (group.subjects, timed, plain), make_question),
            Pattern("ask described", weight * 0.6, (group.subjects, untimed, described), make_question),
            Pattern("ask why", weight * 0.5, (QUESTION_WORDS, group.subjects, untimed, plain), _wh_question),
            Pattern(
                "ask why described",
                weight * 0.3,
                (QUESTION_WORDS, group.subjects, untimed, described),
                _wh_question,
            ),
        ]
    statements = timed_clauses(verbs, timed_adverbials())
    return [*patterns, Pattern("who", share * 0.4, (statements, plain + described), _who_question)]


def _modal_patterns(
    share: float, verbs: list[Verb], plain: tuple[NounPhrase, ...], described: tuple[NounPhrase, ...]
) -> list[Pattern]:
    patterns: list[Pattern] = []
    plannable = tuple(
        verb for verb in verbs if verb.english not in entries.split_listing(lexicon.UNPLANNED_VERBS)
    )
    for group in all_subject_groups():
        weight = share * group.weight
        slots = (group.subjects, modal_statements(), plannable)
        patterns += [
            Pattern("wish", weight * 0.8, (*slots, plain), make_modal_statement),
            Pattern("wish described", weight * 0.8, (*slots, described), make_modal_statement),
            Pattern(
                "ask wish",
                weight * 0.4,
                (group.subjects, modal_questions(), plannable, plain),
                make_modal_question,
            ),
        ]
    return patterns


def _imperative_patterns(share: float, verbs: list[Verb], things: tuple[NounPhrase, ...]) -> list[Pattern]:
    listed = entries.split_listing(IMPERATIVE_VERBS)
    imperative_verbs = tuple(verb for verb in verbs if verb.english in listed)
    if not imperative_verbs:
        return []
    politeness = (("", ""), (", please", ", s'il vous plaît"))
    # without 'Bring milk', which is too short a sentence
    named = tuple(thing for thing in things if " " in thing.english)
    return [
        Pattern("order", share * 0.7, (imperative_verbs, named, politeness), _imperative),
        Pattern("forbid", share * 0.3, (imperative_verbs, things), _negative_imperative),
    ]


def _possessive_patterns(
    share: float,
    frame: VerbFrame,
    verbs: list[Verb],
    nouns: list[entries.Noun],
    adjectives: list[Adjective],
) -> list[Pattern]:
    numbers = (False,) if frame.mass else (False, True)
    plain = tuple(noun_phrases.possessed_noun(noun, None, many) for noun in nouns for many in numbers)
    described = tuple(
        noun_phrases.possessed_noun(n, a, many) for n in nouns for a in adjectives for many in numbers
    )
    statements, untimed = (
        timed_clauses(verbs, timed_adverbials()),
        timed_clauses(verbs, UNTIMED, [AFFIRMATIVE, NEGATED]),
    )
    patterns: list[Pattern] = []
    for group in all_subject_groups():
        weight = share * group.weight
        patterns += [
            Pattern(
                "own", weight * 0.6, (group.subjects, statements, range(4), plain), make_possessive_statement
            ),
            Pattern(
                "own described",
                weight * 0.6,
                (group.subjects, untimed, range(4), described),
                make_possessive_statement,
            ),
        ]
    return patterns


def _have_patterns(
    share: float, plain: tuple[NounPhrase, ...], described: tuple[NounPhrase, ...]
) -> list[Pattern]:
    """Return patterns like 'Jane has a red car'; no past tense, for which French uses the imparfait."""
    adverbials = times.with_tenses([PRESENT, FUTURE], UNTIMED)
    have = [entries.look_up_verb("have")]
    having, questions = (
        timed_clauses(have, adverbials, [AFFIRMATIVE, NEGATED]),
        timed_questions(have, adverbials),
    )
    patterns: list[Pattern] = []
    for group in all_subject_groups():
        weight = share * group.weight
        patterns += [
            Pattern("have", weight * 0.3, (group.subjects, having, plain + described), make_statement),
            Pattern("ask have", weight * 0.15, (group.subjects, questions, plain + described), make_question),
        ]
    return patterns


def _counted_object_patterns(
    share: float, verbs: list[Verb], nouns: list[entries.Noun], adjectives: list[Adjective]
) -> list[Pattern]:
    plain = noun_phrases.counted_phrases(nouns, [None], range(2, 13))
    described = noun_phrases.counted_phrases(nouns, adjectives, range(2, 13))
    statements, untimed = timed_clauses(verbs, timed_adverbials()), timed_clauses(verbs, UNTIMED)
    patterns: list[Pattern] = []
    for group in all_subject_groups():
        weight = share * group.weight
        patterns += [
            Pattern("count", weight * 0.6, (group.subjects, statements, plain), make_statement),
            Pattern("count described", weight * 0.4, (group.subjects, untimed, described), make_statement),
        ]
    return patterns


def _fronted_object_patterns(
    share: float, verbs: list[Verb], nouns: list[entries.Noun], adjectives: list[Adjective]
) -> list[Pattern]:
    """Return patterns with the object before the verb, where the French participle agrees with it."""
    which_phrases = tuple(phrase for noun in nouns for phrase in _which_phrases(noun))
    verb_forms = tuple(_fronted_object_question(verb, tense) for verb in verbs for tense in TENSES)
    past_forms = tuple(_fronted_object_question(verb, PAST) for verb in verbs if verb.past != verb.english)
    relative_heads = tuple(_relative_head(noun, many) for noun in nouns for many in (False, True))
    subject_groups = (pronoun_subjects(), named_subjects())
    patterns = [
        Pattern("which", share * c.weight, (which_phrases, c.subjects, verb_forms), _which_question)
        for c in all_subject_groups()
    ]
    slots = [(relative_heads, group.subjects, past_forms, tuple(adjectives)) for group in subject_groups]
    return patterns + [Pattern("that", share * 0.4, slot, _relative_clause) for slot in slots]


def _wh_question(
    question_word: QuestionWord, subject: Subject, timed: TimedQuestion, thing: NounPhrase
) -> tuple[str, str]:
    left, right = make_question(subject, timed, thing)
    return f"{question_word.english} {left}", f"{question_word.french} {right}"


def _who_question(timed: TimedClause, thing: NounPhrase) -> tuple[str, str]:
    return (
        f"who {timed.english[IL]} {thing.english}{timed.english_end}?",
        f"qui {timed.french[IL]} {thing.french}{timed.french_end} ?",
    )


def _imperative(verb: Verb, thing: NounPhrase, politeness: tuple[str, str]) -> tuple[str, str]:
    left, right = politeness
    return f"{verb.english} {thing.english}{left}.", f"{verb.present[3]} {thing.french}{right}."


def _negative_imperative(verb: Verb, thing: NounPhrase) -> tuple[str, str]:
    order = french.join_with_elision("ne", verb.present[3])
    return f"do not {verb.english} {thing.english}.", f"{order} pas {thing.french_negated}."


def _which_question(
    fronted: FrontedObject, subject: Subject, verb_forms: FrontedObjectQuestion
) -> tuple[str, str]:
    person = subject.agreement
    return (
        f"{fronted.english} {verb_forms.auxiliary[person]} {subject.english} {verb_forms.english}?",
        f"{fronted.french} est-ce {subject.that}{verb_forms.french[fronted.column][person]} ?",
    )


def _relative_clause(
    head: FrontedObject, subject: Subject, verb_forms: FrontedObjectQuestion, adjective: Adjective
) -> tuple[str, str]:
    person, plural = subject.agreement, head.column >= 2
    quality = adjective.agree(head.column % 2 == 1, plural)
    left, right = ("are", "sont") if plural else ("is", "est")
    return (
        f"{head.english} that {subject.english} {verb_forms.plain[person]} {left} {adjective.english}.",
        f"{head.french} {subject.that}{verb_forms.french[head.column][person]} {right} {quality}.",
    )


def _which_phrases(noun: entries.Noun) -> list[FrontedObject]:
    (one, many), (un, des) = noun.english, noun.french
    quel = "quelle" if noun.feminine else "quel"
    return [
        FrontedObject(f"which {one}", f"{quel} {un}", int(noun.feminine)),
        FrontedObject(f"which {many}", f"{quel}s {des}", 2 + noun.feminine),
        FrontedObject(
            f"how many {many}", f"combien {french.join_with_elision('de', des)}", 2 + noun.feminine
        ),
    ]


def _relative_head(noun: entries.Noun, plural: bool) -> FrontedObject:
    french_side = noun_phrases.with_definite_article(noun, noun.french[plural], plural)
    return FrontedObject(f"the {noun.english[plural]}", french_side, 2 * plural + noun.feminine)


@cache
def _fronted_object_question(verb: Verb, tense: str) -> FrontedObjectQuestion:
    question_forms, clause_forms = question(verb, tense), clause(verb, tense)
    rows = tuple(
        tuple(french_verb(verb, tense, AFFIRMATIVE, person, ending=ending) for person in AGREEMENTS)
        for ending in PARTICIPLE_ENDINGS
    )
    return FrontedObjectQuestion(question_forms.auxiliary, clause_forms.english, verb.english, rows)
