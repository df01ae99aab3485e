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


class Thing(NamedTuple):
    """What is acted on; a negation turns un, une, des and du into de."""

    english: str
    french: str
    denied: str
    feminine: bool
    plural: bool


class Owned(NamedTuple):
    """A thing still without its possessive; in French with each one: mon, votre, notre, son, leur."""

    english: str
    french: tuple[str, ...]


class Owner(NamedTuple):
    """A possessive; `column` finds its form in `Owned.french`."""

    english: str
    column: int


MY, YOUR, OUR, THEIR = Owner("my", 0), Owner("your", 1), Owner("our", 2), Owner("their", 4)
# By agreement of the subject. French 'son' is both his and her, so only the subject itself is that owner.
OWNERS = (
    (MY, YOUR, OUR, THEIR),
    (YOUR, MY, OUR, THEIR),
    (OUR, MY, YOUR, THEIR),
    (Owner("his", 3), MY, YOUR, OUR),
    (Owner("her", 3), MY, YOUR, OUR),
    (THEIR, MY, YOUR, OUR),
    (THEIR, MY, YOUR, OUR),
)
_POSSESSIVES = {
    "masculine": ("mon", "votre", "notre", "son", "leur"),
    "feminine": ("ma", "votre", "notre", "sa", "leur"),
    "plural": ("mes", "vos", "nos", "ses", "leurs"),
}


def pronouns() -> tuple[Subject, ...]:
    """I, you, he, she, we, they."""
    return (Subject("I", "", "que ", JE), *_other_pronouns(), _subject("you", "vous", VOUS))


def pronouns_of_known_gender() -> tuple[Subject, ...]:
    """The pronouns that say whether a participle after être is feminine; 'we' are by convention not."""
    return _other_pronouns()


def people(adjective: Adjective | None = None) -> list[Thing]:
    """'the woman', 'these tourists'."""
    found: list[Thing] = []
    for noun in entries.nouns(lexicon.PEOPLE):
        found += (
            _definite(noun, adjective, False),
            _this(noun, adjective, False),
            _definite(noun, adjective, True),
        )
    return found


def described_people() -> list[Thing]:
    """'the young woman': everyone with every adjective that suits people."""
    adjectives = entries.adjectives(lexicon.PEOPLE_ADJECTIVES)
    return [person for adjective in adjectives for person in people(adjective)]


def family() -> list[Thing]:
    """'my sister', 'our uncles': whoever a possessive of a known owner introduces."""
    found: list[Thing] = []
    for noun, plural in _kin():
        owned = own(noun, None, plural)
        for owner in (MY, YOUR, OUR):
            french_side = owned.french[owner.column]
            found.append(
                Thing(f"{owner.english} {owned.english}", french_side, french_side, noun.feminine, plural)
            )
    return found


def own_family() -> tuple[Owned, ...]:
    """'sister', 'uncles', for the subject's own."""
    return tuple(own(noun, None, plural) for noun, plural in _kin())


def named() -> list[Thing]:
    """Jane, Paul and the others."""
    women = [Thing(name, name, name, True, False) for name in lexicon.WOMEN.split()]
    return women + [Thing(name, name, name, False, False) for name in lexicon.MEN.split()]


def as_subjects(things: Iterable[Thing]) -> tuple[Subject, ...]:
    """The same people, acting."""
    return tuple(_subject(x.english, x.french, _third(x.feminine, x.plural)) for x in things)


def things(nouns: Iterable[Noun], adjectives: Iterable[Adjective | None]) -> tuple[Thing, ...]:
    """Countable nouns with 'the', 'a', 'this', 'these', each with each adjective."""
    nouns, found = list(nouns), []
    for adjective in adjectives:
        for noun in nouns:
            for plural in (False, True):
                found += (
                    _definite(noun, adjective, plural),
                    _indefinite(noun, adjective, plural),
                    _this(noun, adjective, plural),
                )
    return tuple(found)


def indefinite(nouns: Iterable[Noun], adjectives: Iterable[Adjective | None]) -> tuple[Thing, ...]:
    """'a red cup', 'cups'."""
    nouns = list(nouns)
    return tuple(_indefinite(n, a, plural) for a in adjectives for n in nouns for plural in (False, True))


def fixed(left: str, right: str) -> Thing:
    """A phrase that a negation leaves as it is, and with which nothing agrees."""
    return Thing(left, right, right, False, False)


def substances(nouns: Iterable[Noun], adjectives: Iterable[Adjective | None]) -> tuple[Thing, ...]:
    """Mass nouns with 'the', with 'this', and bare, which French says with du, de la, de l'."""
    nouns, found = list(nouns), []
    for adjective in adjectives:
        for noun in nouns:
            found += (
                _definite(noun, adjective, False),
                _partitive(noun, adjective),
                _this(noun, adjective, False),
            )
    return tuple(found)


def counted(
    nouns: Iterable[Noun], adjectives: Iterable[Adjective | None], numbers: Iterable[int]
) -> tuple[Thing, ...]:
    """'three red chairs', 'many books', 'several books': what cannot follow a French 'pas de'."""
    nouns, numbers, found = list(nouns), list(numbers), []
    for adjective in adjectives:
        for noun in nouns:
            left, right = english_phrase(noun, adjective, True), french_phrase(noun, adjective, True)
            pairs = [(f"{english.number(n)} {left}", f"{french.number(n)} {right}") for n in numbers]
            pairs += [(f"several {left}", f"plusieurs {right}")]
            pairs += [(f"many {left}", f"beaucoup {french.join('de', right)}")]
            found += [Thing(one, other, other, noun.feminine, True) for one, other in pairs]
    return tuple(found)


def own(noun: Noun, adjective: Adjective | None, plural: bool) -> Owned:
    """A noun awaiting its owner; 'ma' and 'sa' become 'mon' and 'son' before a vowel."""
    phrase = french_phrase(noun, adjective, plural)
    feminine = noun.feminine and not french.elides(phrase)
    forms = _POSSESSIVES["plural" if plural else "feminine" if feminine else "masculine"]
    return Owned(english_phrase(noun, adjective, plural), tuple(f"{form} {phrase}" for form in forms))


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


def definite(noun: Noun, phrase: str, plural: bool) -> str:
    """The phrase after le, la, l' or les."""
    return f"les {phrase}" if plural else french.join("la" if noun.feminine else "le", phrase)


def _definite(noun: Noun, adjective: Adjective | None, plural: bool) -> Thing:
    phrase = definite(noun, french_phrase(noun, adjective, plural), plural)
    return Thing(f"the {english_phrase(noun, adjective, plural)}", phrase, phrase, noun.feminine, plural)


def _this(noun: Noun, adjective: Adjective | None, plural: bool) -> Thing:
    phrase = french_phrase(noun, adjective, plural)
    masculine = "cet" if french.elides(phrase) else "ce"
    phrase = f"{'ces' if plural else 'cette' if noun.feminine else masculine} {phrase}"
    this = "these" if plural else "this"
    return Thing(f"{this} {english_phrase(noun, adjective, plural)}", phrase, phrase, noun.feminine, plural)


def _indefinite(noun: Noun, adjective: Adjective | None, plural: bool) -> Thing:
    phrase, left = french_phrase(noun, adjective, plural), english_phrase(noun, adjective, plural)
    denied = french.join("de", phrase)
    if not plural:
        one = f"{'une' if noun.feminine else 'un'} {phrase}"
        return Thing(english.a(left), one, denied, noun.feminine, False)
    some = denied if adjective and adjective.precedes else f"des {phrase}"
    return Thing(left, some, denied, noun.feminine, True)


def _partitive(noun: Noun, adjective: Adjective | None) -> Thing:
    phrase = french_phrase(noun, adjective, False)
    some = french.of(definite(noun, phrase, False))
    return Thing(
        english_phrase(noun, adjective, False), some, french.join("de", phrase), noun.feminine, False
    )


def _kin() -> list[tuple[Noun, bool]]:
    table = entries.rows(lexicon.KIN)
    found: list[tuple[Noun, bool]] = []
    for left, right in table:
        (noun,) = entries.nouns(f"{left.removesuffix(' 1')} | {right}")
        found += [(noun, False)] if left.endswith(" 1") else [(noun, False), (noun, True)]
    return found


def _other_pronouns() -> tuple[Subject, ...]:
    rows = (("we", "nous", NOUS), ("he", "il", IL), ("she", "elle", ELLE), ("they", "ils", ILS))
    return tuple(_subject(*row) for row in rows)


def _subject(left: str, right: str, agreement: int) -> Subject:
    return Subject(left, f"{right} ", f"{french.join('que', right)} ", agreement)


def _third(feminine: bool, plural: bool) -> int:
    return (IL, ELLE, ILS, ELLES)[2 * plural + feminine]
