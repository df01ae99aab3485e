"""Noun phrases in both languages: subjects, objects, articles and possessives."""

from collections.abc import Iterable
from typing import NamedTuple

from regard.demo.phrasebook import english, entries, french, lexicon
from regard.demo.phrasebook.entries import Adjective, Noun

# Agreement of verb, participle and possessive with the subject. 'You' is always the polite vous, 'they'
# always ils, so that English and French pronouns map one to one.
JE, VOUS, NOUS, IL, ELLE, ILS, ELLES = range(7)
AGREEMENTS = range(7)


class Subject(NamedTuple):
    """The subject of a sentence; French je or j' is written with the verb."""

    english: str
    french: str  # "Jane ", "" for je
    that: str  # "que Jane ", "qu'il ", "que "
    agreement: int


class NounPhrase(NamedTuple):
    """A noun phrase as an object; in a negation, French un, une, des and du become de."""

    english: str
    french: str
    french_negated: str
    feminine: bool
    plural: bool


class PossessedNoun(NamedTuple):
    """A noun for a possessive; in French with each of mon, votre, notre, son, leur."""

    english: str
    french: tuple[str, ...]


class Possessive(NamedTuple):
    """A possessive; `column` is the index of its form in `PossessedNoun.french`."""

    english: str
    column: int


MY, YOUR, OUR, THEIR = (
    Possessive("my", 0),
    Possessive("your", 1),
    Possessive("our", 2),
    Possessive("their", 4),
)
# By agreement of the subject. French 'son' is both his and her, so it always refers to the subject.
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
    """Return I, you, he, she, we and they as subjects."""
    return (Subject("I", "", "que ", JE), *_other_pronouns(), _subject("you", "vous", VOUS))


def gendered_subject_pronouns() -> tuple[Subject, ...]:
    """Return the pronouns of known gender, for participles after être; 'we' counts as masculine."""
    return _other_pronouns()


def people_phrases(adjective: Adjective | None = None) -> list[NounPhrase]:
    """Return phrases like 'the woman' and 'these tourists'."""
    phrases: list[NounPhrase] = []
    for noun in entries.read_nouns(lexicon.PEOPLE):
        phrases += (
            _definite_phrase(noun, adjective, False),
            _demonstrative_phrase(noun, adjective, False),
            _definite_phrase(noun, adjective, True),
        )
    return phrases


def described_people() -> list[NounPhrase]:
    """Return phrases like 'the young woman'."""
    adjectives = entries.look_up_adjectives(lexicon.PEOPLE_ADJECTIVES)
    return [person for adjective in adjectives for person in people_phrases(adjective)]


def family_phrases() -> list[NounPhrase]:
    """Return phrases like 'my sister' and 'our uncles'."""
    phrases: list[NounPhrase] = []
    for noun, plural in _kin():
        owned = possessed_noun(noun, None, plural)
        for owner in (MY, YOUR, OUR):
            french_side = owned.french[owner.column]
            phrases.append(
                NounPhrase(
                    f"{owner.english} {owned.english}", french_side, french_side, noun.feminine, plural
                )
            )
    return phrases


def possessed_family() -> tuple[PossessedNoun, ...]:
    """Return 'sister', 'uncles' for a possessive of the subject."""
    return tuple(possessed_noun(noun, None, plural) for noun, plural in _kin())


def name_phrases() -> list[NounPhrase]:
    """Return the first names as noun phrases."""
    women = [NounPhrase(name, name, name, True, False) for name in lexicon.WOMENS_NAMES.split()]
    return women + [NounPhrase(name, name, name, False, False) for name in lexicon.MENS_NAMES.split()]


def as_subjects(things: Iterable[NounPhrase]) -> tuple[Subject, ...]:
    """Turn noun phrases into subjects."""
    return tuple(_subject(x.english, x.french, _third_person_agreement(x.feminine, x.plural)) for x in things)


def countable_phrases(
    nouns: Iterable[Noun], adjectives: Iterable[Adjective | None]
) -> tuple[NounPhrase, ...]:
    """Return countable nouns with 'the', 'a', 'this' and 'these', with each adjective."""
    nouns, phrases = list(nouns), []
    for adjective in adjectives:
        for noun in nouns:
            for plural in (False, True):
                phrases += (
                    _definite_phrase(noun, adjective, plural),
                    _indefinite_phrase(noun, adjective, plural),
                    _demonstrative_phrase(noun, adjective, plural),
                )
    return tuple(phrases)


def indefinite_phrases(
    nouns: Iterable[Noun], adjectives: Iterable[Adjective | None]
) -> tuple[NounPhrase, ...]:
    """Return indefinite phrases: 'a red cup', 'cups'."""
    nouns = list(nouns)
    return tuple(
        _indefinite_phrase(n, a, plural) for a in adjectives for n in nouns for plural in (False, True)
    )


def fixed_phrase(left: str, right: str) -> NounPhrase:
    """Return a phrase that a negation does not change, and with which nothing agrees."""
    return NounPhrase(left, right, right, False, False)


def mass_noun_phrases(
    nouns: Iterable[Noun], adjectives: Iterable[Adjective | None]
) -> tuple[NounPhrase, ...]:
    """Return mass nouns with 'the', with 'this' and bare; French uses du, de la, de l' for the bare form."""
    nouns, phrases = list(nouns), []
    for adjective in adjectives:
        for noun in nouns:
            phrases += (
                _definite_phrase(noun, adjective, False),
                _partitive_phrase(noun, adjective),
                _demonstrative_phrase(noun, adjective, False),
            )
    return tuple(phrases)


def counted_phrases(
    nouns: Iterable[Noun], adjectives: Iterable[Adjective | None], numbers: Iterable[int]
) -> tuple[NounPhrase, ...]:
    """Return phrases like 'three red chairs', 'many books' and 'several books'."""
    nouns, numbers, phrases = list(nouns), list(numbers), []
    for adjective in adjectives:
        for noun in nouns:
            left, right = english_phrase(noun, adjective, True), french_phrase(noun, adjective, True)
            pairs = [
                (f"{english.english_number(n)} {left}", f"{french.french_number(n)} {right}") for n in numbers
            ]
            pairs += [(f"several {left}", f"plusieurs {right}")]
            pairs += [(f"many {left}", f"beaucoup {french.join_with_elision('de', right)}")]
            phrases += [NounPhrase(one, other, other, noun.feminine, True) for one, other in pairs]
    return tuple(phrases)


def possessed_noun(noun: Noun, adjective: Adjective | None, plural: bool) -> PossessedNoun:
    """Return a noun for a possessive; 'ma' and 'sa' become 'mon' and 'son' before a vowel."""
    phrase = french_phrase(noun, adjective, plural)
    feminine = noun.feminine and not french.elides(phrase)
    forms = _POSSESSIVES["plural" if plural else "feminine" if feminine else "masculine"]
    return PossessedNoun(english_phrase(noun, adjective, plural), tuple(f"{form} {phrase}" for form in forms))


def english_phrase(noun: Noun, adjective: Adjective | None, plural: bool) -> str:
    """Join an adjective and a noun: red cars."""
    word = noun.english[plural]
    return f"{adjective.english} {word}" if adjective else word


def french_phrase(noun: Noun, adjective: Adjective | None, plural: bool) -> str:
    """Join a noun and its adjective with agreement and in French order: voitures rouges, vieil arbre."""
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
    """Put le, la, l' or les before a phrase."""
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
    negated = french.join_with_elision("de", phrase)
    if not plural:
        one = f"{'une' if noun.feminine else 'un'} {phrase}"
        return NounPhrase(english.with_indefinite_article(left), one, negated, noun.feminine, False)
    some = negated if adjective and adjective.precedes else f"des {phrase}"
    return NounPhrase(left, some, negated, noun.feminine, True)


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
    nouns: list[tuple[Noun, bool]] = []
    for left, right in table:
        (noun,) = entries.read_nouns(f"{left.removesuffix(' 1')} | {right}")
        nouns += [(noun, False)] if left.endswith(" 1") else [(noun, False), (noun, True)]
    return nouns


def _other_pronouns() -> tuple[Subject, ...]:
    rows = (("we", "nous", NOUS), ("he", "il", IL), ("she", "elle", ELLE), ("they", "ils", ILS))
    return tuple(_subject(*row) for row in rows)


def _subject(left: str, right: str, agreement: int) -> Subject:
    return Subject(left, f"{right} ", f"{french.join_with_elision('que', right)} ", agreement)


def _third_person_agreement(feminine: bool, plural: bool) -> int:
    return (IL, ELLE, ILS, ELLES)[2 * plural + feminine]
