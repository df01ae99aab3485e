"""Sentences in which someone does something to something: told, denied, asked, wished, ordered."""

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from regard.demo.phrasebook import entries, french, lexicon, noun_phrases, times
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
from regard.demo.phrasebook.sentences import (
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
from regard.demo.phrasebook.subjects import all_subject_groups, named_subjects, pronoun_subjects
from regard.demo.phrasebook.times import UNTIMED, timed_adverbials


class QuestionWord(NamedTuple):
    """'when', 'quand'."""

    english: str
    french: str


class FrontedObject(NamedTuple):
    """'which cars', 'quelles voitures'; the gender and number choose the participle of what follows."""

    english: str
    french: str
    column: int


class FrontedObjectQuestion(NamedTuple):
    """A verb whose object stands before it; the French has one row for each gender and number."""

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
    """Every frame in every kind of sentence, so weighted that each word is heard about as often."""
    return [pattern for frame in lexicon.VERB_FRAMES for pattern in _frame_patterns(frame)]


def _frame_patterns(frame: VerbFrame) -> list[Pattern]:
    verbs, nouns = entries.look_up_verbs(frame.verbs), entries.read_nouns(frame.nouns)
    adjectives = entries.look_up_adjectives(frame.adjectives)
    plain, described = _noun_phrases(frame, [None]), _noun_phrases(frame, adjectives)
    share = (len(verbs) + len(nouns) + len(adjectives) / 2) / 40
    found = _statement_patterns(share, verbs, plain, described) + _question_patterns(
        share, verbs, plain, described
    )
    found += _modal_patterns(share, verbs, plain, described) + _imperative_patterns(
        share, verbs, plain + described
    )
    if frame.can_be_owned:
        found += _possessive_patterns(share, frame, verbs, nouns, adjectives) + _have_patterns(
            share, plain, described
        )
    if not frame.mass:
        found += _counted_object_patterns(share, verbs, nouns, adjectives) + _fronted_object_patterns(
            share, verbs, nouns, adjectives
        )
    return found


def _noun_phrases(frame: VerbFrame, adjectives: Iterable[Adjective | None]) -> tuple[NounPhrase, ...]:
    make = noun_phrases.mass_noun_phrases if frame.mass else noun_phrases.countable_phrases
    return make(entries.read_nouns(frame.nouns), adjectives)


def _statement_patterns(
    share: float, verbs: list[Verb], plain: tuple[NounPhrase, ...], described: tuple[NounPhrase, ...]
) -> list[Pattern]:
    told = timed_clauses(verbs, timed_adverbials())
    told_untimed, denied = timed_clauses(verbs, UNTIMED), timed_clauses(verbs, UNTIMED, [NEGATED])
    denied_timed = timed_clauses(verbs, times.adverbials_with_negation(timed_adverbials()), [NEGATED])
    habits = timed_clauses(verbs, times.with_tenses([PRESENT], UNTIMED), FREQUENCIES)
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
        Pattern(name, share * weight * cast.weight, (cast.subjects, doing, things), make_statement)
        for name, weight, doing, things in shapes
        for cast in all_subject_groups()
    ]


def _question_patterns(
    share: float, verbs: list[Verb], plain: tuple[NounPhrase, ...], described: tuple[NounPhrase, ...]
) -> list[Pattern]:
    found: list[Pattern] = []
    untimed, at_times = timed_questions(verbs, UNTIMED), timed_questions(verbs, timed_adverbials())
    for cast in all_subject_groups():
        weight = share * cast.weight
        found += [
            Pattern("ask", weight * 0.8, (cast.subjects, at_times, plain), make_question),
            Pattern("ask described", weight * 0.6, (cast.subjects, untimed, described), make_question),
            Pattern("ask why", weight * 0.5, (QUESTION_WORDS, cast.subjects, untimed, plain), _wh_question),
            Pattern(
                "ask why described",
                weight * 0.3,
                (QUESTION_WORDS, cast.subjects, untimed, described),
                _wh_question,
            ),
        ]
    doers = timed_clauses(verbs, timed_adverbials())
    return [*found, Pattern("who", share * 0.4, (doers, plain + described), _who_question)]


def _modal_patterns(
    share: float, verbs: list[Verb], plain: tuple[NounPhrase, ...], described: tuple[NounPhrase, ...]
) -> list[Pattern]:
    found: list[Pattern] = []
    planned = tuple(
        verb for verb in verbs if verb.english not in entries.split_listing(lexicon.UNPLANNED_VERBS)
    )
    for cast in all_subject_groups():
        weight = share * cast.weight
        slots = (cast.subjects, modal_statements(), planned)
        found += [
            Pattern("wish", weight * 0.8, (*slots, plain), make_modal_statement),
            Pattern("wish described", weight * 0.8, (*slots, described), make_modal_statement),
            Pattern(
                "ask wish",
                weight * 0.4,
                (cast.subjects, modal_questions(), planned, plain),
                make_modal_question,
            ),
        ]
    return found


def _imperative_patterns(share: float, verbs: list[Verb], things: tuple[NounPhrase, ...]) -> list[Pattern]:
    wanted = entries.split_listing(IMPERATIVE_VERBS)
    orders = tuple(verb for verb in verbs if verb.english in wanted)
    if not orders:
        return []
    politely = (("", ""), (", please", ", s'il vous plaît"))
    named = tuple(thing for thing in things if " " in thing.english)  # 'Bring milk' is too short a sentence
    return [
        Pattern("order", share * 0.7, (orders, named, politely), _imperative),
        Pattern("forbid", share * 0.3, (orders, things), _negative_imperative),
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
    told, untold = (
        timed_clauses(verbs, timed_adverbials()),
        timed_clauses(verbs, UNTIMED, [AFFIRMATIVE, NEGATED]),
    )
    found: list[Pattern] = []
    for cast in all_subject_groups():
        weight = share * cast.weight
        found += [
            Pattern("own", weight * 0.6, (cast.subjects, told, range(4), plain), make_possessive_statement),
            Pattern(
                "own described",
                weight * 0.6,
                (cast.subjects, untold, range(4), described),
                make_possessive_statement,
            ),
        ]
    return found


def _have_patterns(
    share: float, plain: tuple[NounPhrase, ...], described: tuple[NounPhrase, ...]
) -> list[Pattern]:
    """'Jane has a red car': a state, so without a past, which French would say with another tense."""
    whens = times.with_tenses([PRESENT, FUTURE], UNTIMED)
    have = [entries.look_up_verb("have")]
    having, asked = timed_clauses(have, whens, [AFFIRMATIVE, NEGATED]), timed_questions(have, whens)
    found: list[Pattern] = []
    for cast in all_subject_groups():
        weight = share * cast.weight
        found += [
            Pattern("have", weight * 0.3, (cast.subjects, having, plain + described), make_statement),
            Pattern("ask have", weight * 0.15, (cast.subjects, asked, plain + described), make_question),
        ]
    return found


def _counted_object_patterns(
    share: float, verbs: list[Verb], nouns: list[entries.Noun], adjectives: list[Adjective]
) -> list[Pattern]:
    plain = noun_phrases.counted_phrases(nouns, [None], range(2, 13))
    described = noun_phrases.counted_phrases(nouns, adjectives, range(2, 13))
    told, untimed = timed_clauses(verbs, timed_adverbials()), timed_clauses(verbs, UNTIMED)
    found: list[Pattern] = []
    for cast in all_subject_groups():
        weight = share * cast.weight
        found += [
            Pattern("count", weight * 0.6, (cast.subjects, told, plain), make_statement),
            Pattern("count described", weight * 0.4, (cast.subjects, untimed, described), make_statement),
        ]
    return found


def _fronted_object_patterns(
    share: float, verbs: list[Verb], nouns: list[entries.Noun], adjectives: list[Adjective]
) -> list[Pattern]:
    """The object before its verb, so that a French participle agrees with it."""
    asked = tuple(phrase for noun in nouns for phrase in _which_phrases(noun))
    inquiries = tuple(_fronted_object_question(verb, tense) for verb in verbs for tense in TENSES)
    done = tuple(_fronted_object_question(verb, PAST) for verb in verbs if verb.past != verb.english)
    heads = tuple(_relative_head(noun, many) for noun in nouns for many in (False, True))
    casts = (pronoun_subjects(), named_subjects())
    found = [
        Pattern("which", share * c.weight, (asked, c.subjects, inquiries), _which_question)
        for c in all_subject_groups()
    ]
    slots = [(heads, cast.subjects, done, tuple(adjectives)) for cast in casts]
    return found + [Pattern("that", share * 0.4, slot, _relative_clause) for slot in slots]


def _wh_question(
    opener: QuestionWord, subject: Subject, asking: TimedQuestion, thing: NounPhrase
) -> tuple[str, str]:
    left, right = make_question(subject, asking, thing)
    return f"{opener.english} {left}", f"{opener.french} {right}"


def _who_question(deed: TimedClause, thing: NounPhrase) -> tuple[str, str]:
    return (
        f"who {deed.english[IL]} {thing.english}{deed.english_end}?",
        f"qui {deed.french[IL]} {thing.french}{deed.french_end} ?",
    )


def _imperative(verb: Verb, thing: NounPhrase, politely: tuple[str, str]) -> tuple[str, str]:
    left, right = politely
    return f"{verb.english} {thing.english}{left}.", f"{verb.present[3]} {thing.french}{right}."


def _negative_imperative(verb: Verb, thing: NounPhrase) -> tuple[str, str]:
    order = french.join_with_elision("ne", verb.present[3])
    return f"do not {verb.english} {thing.english}.", f"{order} pas {thing.french_negated}."


def _which_question(
    asked: FrontedObject, subject: Subject, inquiry: FrontedObjectQuestion
) -> tuple[str, str]:
    who = subject.agreement
    return (
        f"{asked.english} {inquiry.auxiliary[who]} {subject.english} {inquiry.english}?",
        f"{asked.french} est-ce {subject.that}{inquiry.french[asked.column][who]} ?",
    )


def _relative_clause(
    head: FrontedObject, subject: Subject, inquiry: FrontedObjectQuestion, adjective: Adjective
) -> tuple[str, str]:
    who, plural = subject.agreement, head.column >= 2
    quality = adjective.agree(head.column % 2 == 1, plural)
    left, right = ("are", "sont") if plural else ("is", "est")
    return (
        f"{head.english} that {subject.english} {inquiry.plain[who]} {left} {adjective.english}.",
        f"{head.french} {subject.that}{inquiry.french[head.column][who]} {right} {quality}.",
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
    asked, told = question(verb, tense), clause(verb, tense)
    rows = tuple(
        tuple(french_verb(verb, tense, AFFIRMATIVE, who, ending=ending) for who in AGREEMENTS)
        for ending in PARTICIPLE_ENDINGS
    )
    return FrontedObjectQuestion(asked.auxiliary, told.english, verb.english, rows)
