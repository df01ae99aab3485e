"""Noun phrases in both languages: who acts, what is acted on, and whose it is."""

from collections.abc import Iterable
from typing import NamedTuple

from regard.demo.phrasebook import english, entries, french, lexicon
from regard.demo.phrasebook.entries import Adjective, Noun

# How a verb, a participle and a possessive agree with their subject. 'You' is always the polite vous, and
# 'they' always ils: each English pronoun has one French one, and the reverse.
JE, VOUS, NOUS, IL, ELLE, ILS, ELLES = range(7)
AGREEMENTS = range(7)


class Subject(NamedTuple):
    """Who acts. The French 'je' is said with its verb, whose first letter decides between je and j'."""

    english: str
    french: str  # "Jane ", "" for je
    that: str  # "que Jane ", "qu'il ", "que "
    agreement: int


class NounPhrase(NamedTuple):
    """What is acted on; a negation turns un, une, des and du into de."""

    english: str
    french: str
    french_negated: str
    feminine: bool
    plural: bool


class PossessedNoun(NamedTuple):
    """A thing still without its possessive; in French with each one: mon, votre, notre, son, leur."""

    english: str
    french: tuple[str, ...]


class Possessive(NamedTuple):
    """A possessive; `column` finds its form in `Owned.french`."""

    english: str
    column: int


MY, YOUR, OUR, THEIR = (
    Possessive("my", 0),
    Possessive("your", 1),
    Possessive("our", 2),
    Possessive("their", 4),
)
# By agreement of the subject. French 'son' is both his and her, so only the subject itself is that owner.
POSSESSIVES_BY_AGREEMENT = (
    (MY, YOUR, OUR, THEIR),
    (YOUR, MY, OUR, THEIR),
    (OUR, MY, YOUR, THEIR),
    (Possessive("his", 3), MY, YOUR, OUR),
    (Possessive("her", 3), MY, YOUR, OUR),
    (THEIR, MY, YOUR, OUR),
    (THEIR, MY, YOUR, OUR),
)
_POSSESSIVES = {
    "masculine": ("mon", "votre", "notre", "son", "leur"),
    "feminine": ("ma", "votre", "notre", "sa", "leur"),
    "plural": ("mes", "vos", "nos", "ses", "leurs"),
}


def subject_pronouns() -> tuple[Subject, ...]:
    """I, you, he, she, we, they."""
    return (Subject("I", "", "que ", JE), *_other_pronouns(), _subject("you", "vous", VOUS))


def gendered_subject_pronouns() -> tuple[Subject, ...]:
    """The pronouns that say whether a participle after être is feminine; 'we' are by convention not."""
    return _other_pronouns()


def people_phrases(adjective: Adjective | None = None) -> list[NounPhrase]:
    """'the woman', 'these tourists'."""
    found: list[NounPhrase] = []
    for noun in entries.read_nouns(lexicon.PEOPLE):
        found += (
            _definite_phrase(noun, adjective, False),
            _demonstrative_phrase(noun, adjective, False),
            _definite_phrase(noun, adjective, True),
        )
    return found


def described_people() -> list[NounPhrase]:
    """'the young woman': everyone with every adjective that suits people."""
    adjectives = entries.look_up_adjectives(lexicon.PEOPLE_ADJECTIVES)
    return [person for adjective in adjectives for person in people_phrases(adjective)]


def family_phrases() -> list[NounPhrase]:
    """'my sister', 'our uncles': whoever a possessive of a known owner introduces."""
    found: list[NounPhrase] = []
    for noun, plural in _kin():
        owned = possessed_noun(noun, None, plural)
        for owner in (MY, YOUR, OUR):
            french_side = owned.french[owner.column]
            found.append(
                NounPhrase(
                    f"{owner.english} {owned.english}", french_side, french_side, noun.feminine, plural
                )
            )
    return found


def possessed_family() -> tuple[PossessedNoun, ...]:
    """'sister', 'uncles', for the subject's own."""
    return tuple(possessed_noun(noun, None, plural) for noun, plural in _kin())


def name_phrases() -> list[NounPhrase]:
    """Jane, Paul and the others."""
    women = [NounPhrase(name, name, name, True, False) for name in lexicon.WOMENS_NAMES.split()]
    return women + [NounPhrase(name, name, name, False, False) for name in lexicon.MENS_NAMES.split()]


def as_subjects(things: Iterable[NounPhrase]) -> tuple[Subject, ...]:
    """The same people, acting."""
    return tuple(_subject(x.english, x.french, _third_person_agreement(x.feminine, x.plural)) for x in things)


def countable_phrases(
    nouns: Iterable[Noun], adjectives: Iterable[Adjective | None]
) -> tuple[NounPhrase, ...]:
    """Countable nouns with 'the', 'a', 'this', 'these', each with each adjective."""
    nouns, found = list(nouns), []
    for adjective in adjectives:
        for noun in nouns:
            for plural in (False, True):
                found += (
                    _definite_phrase(noun, adjective, plural),
                    _indefinite_phrase(noun, adjective, plural),
                    _demonstrative_phrase(noun, adjective, plural),
                )
    return tuple(found)


def indefinite_phrases(
    nouns: Iterable[Noun], adjectives: Iterable[Adjective | None]
) -> tuple[NounPhrase, ...]:
    """'a red cup', 'cups'."""
    nouns = list(nouns)
    return tuple(
        _indefinite_phrase(n, a, plural) for a in adjectives for n in nouns for plural in (False, True)
    )


def fixed_phrase(left: str, right: str) -> NounPhrase:
    """A phrase that a negation leaves as it is, and with which nothing agrees."""
    return NounPhrase(left, right, right, False, False)


def mass_noun_phrases(
    nouns: Iterable[Noun], adjectives: Iterable[Adjective | None]
) -> tuple[NounPhrase, ...]:
    """Mass nouns with 'the', with 'this', and bare, which French says with du, de la, de l'."""
    nouns, found = list(nouns), []
    for adjective in adjectives:
        for noun in nouns:
            found += (
                _definite_phrase(noun, adjective, False),
                _partitive_phrase(noun, adjective),
                _demonstrative_phrase(noun, adjective, False),
            )
    return tuple(found)


def counted_phrases(
    nouns: Iterable[Noun], adjectives: Iterable[Adjective | None], numbers: Iterable[int]
) -> tuple[NounPhrase, ...]:
    """'three red chairs', 'many books', 'several books': what cannot follow a French 'pas de'."""
    nouns, numbers, found = list(nouns), list(numbers), []
    for adjective in adjectives:
        for noun in nouns:
            left, right = english_phrase(noun, adjective, True), french_phrase(noun, adjective, True)
            pairs = [
                (f"{english.english_number(n)} {left}", f"{french.french_number(n)} {right}") for n in numbers
            ]
            pairs += [(f"several {left}", f"plusieurs {right}")]
            pairs += [(f"many {left}", f"beaucoup {french.join_with_elision('de', right)}")]
            found += [NounPhrase(one, other, other, noun.feminine, True) for one, other in pairs]
    return tuple(found)


def possessed_noun(noun: Noun, adjective: Adjective | None, plural: bool) -> PossessedNoun:
    """A noun awaiting its owner; 'ma' and 'sa' become 'mon' and 'son' before a vowel."""
    phrase = french_phrase(noun, adjective, plural)
    feminine = noun.feminine and not french.elides(phrase)
    forms = _POSSESSIVES["plural" if plural else "feminine" if feminine else "masculine"]
    return PossessedNoun(english_phrase(noun, adjective, plural), tuple(f"{form} {phrase}" for form in forms))


def english_phrase(noun: Noun, adjective: Adjective | None, plural: bool) -> str:
    """The noun and its adjective: red cars."""
    word = noun.english[plural]
    return f"{adjective.english} {word}" if adjective else word


def french_phrase(noun: Noun, adjective: Adjective | None, plural: bool) -> str:
    """The noun and its adjective in agreement and in their order: voitures rouges, vieil arbre."""
    word = noun.french[plural]
    if adjective is None:
        return word
    form = adjective.agree(noun.feminine, plural)
    if not adjective.precedes:
        return f"{word} {form}"
    if not noun.feminine and not plural and french.elides(word):
        form = adjective.before_vowel
    return f"{form} {word}"


def with_definite_article(noun: Noun, phrase: str, plural: bool) -> str:
    """The phrase after le, la, l' or les."""
    return f"les {phrase}" if plural else french.join_with_elision("la" if noun.feminine else "le", phrase)


def _definite_phrase(noun: Noun, adjective: Adjective | None, plural: bool) -> NounPhrase:
    phrase = with_definite_article(noun, french_phrase(noun, adjective, plural), plural)
    return NounPhrase(f"the {english_phrase(noun, adjective, plural)}", phrase, phrase, noun.feminine, plural)


def _demonstrative_phrase(noun: Noun, adjective: Adjective | None, plural: bool) -> NounPhrase:
    phrase = french_phrase(noun, adjective, plural)
    masculine = "cet" if french.elides(phrase) else "ce"
    phrase = f"{'ces' if plural else 'cette' if noun.feminine else masculine} {phrase}"
    this = "these" if plural else "this"
    return NounPhrase(
        f"{this} {english_phrase(noun, adjective, plural)}", phrase, phrase, noun.feminine, plural
    )


def _indefinite_phrase(noun: Noun, adjective: Adjective | None, plural: bool) -> NounPhrase:
    phrase, left = french_phrase(noun, adjective, plural), english_phrase(noun, adjective, plural)
    denied = french.join_with_elision("de", phrase)
    if not plural:
        one = f"{'une' if noun.feminine else 'un'} {phrase}"
        return NounPhrase(english.with_indefinite_article(left), one, denied, noun.feminine, False)
    some = denied if adjective and adjective.precedes else f"des {phrase}"
    return NounPhrase(left, some, denied, noun.feminine, True)


def _partitive_phrase(noun: Noun, adjective: Adjective | None) -> NounPhrase:
    phrase = french_phrase(noun, adjective, False)
    some = french.with_de(with_definite_article(noun, phrase, False))
    return NounPhrase(
        english_phrase(noun, adjective, False),
        some,
        french.join_with_elision("de", phrase),
        noun.feminine,
        False,
    )


def _kin() -> list[tuple[Noun, bool]]:
    table = entries.table_rows(lexicon.KIN)
    found: list[tuple[Noun, bool]] = []
    for left, right in table:
        (noun,) = entries.read_nouns(f"{left.removesuffix(' 1')} | {right}")
        found += [(noun, False)] if left.endswith(" 1") else [(noun, False), (noun, True)]
    return found


def _other_pronouns() -> tuple[Subject, ...]:
    rows = (("we", "nous", NOUS), ("he", "il", IL), ("she", "elle", ELLE), ("they", "ils", ILS))
    return tuple(_subject(*row) for row in rows)


def _subject(left: str, right: str, agreement: int) -> Subject:
    return Subject(left, f"{right} ", f"{french.join_with_elision('que', right)} ", agreement)


def _third_person_agreement(feminine: bool, plural: bool) -> int:
    return (IL, ELLE, ILS, ELLES)[2 * plural + feminine]
