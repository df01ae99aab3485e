"""Nouns, adjectives and verbs with their inflected forms, parsed from the tables of the lexicon."""

from dataclasses import dataclass
from functools import cache

from regard.demo.phrasebook import english, french, lexicon


@dataclass(frozen=True)
class Noun:
    """A noun; a mass noun has its singular form in both places."""

    english: tuple[str, str]  # singular, plural
    french: tuple[str, str]
    feminine: bool


@dataclass(frozen=True)
class Adjective:
    """An adjective with its French forms: masculine and feminine, singular and plural, before a vowel."""

    english: str
    masculine: tuple[str, str]
    feminine: tuple[str, str]
    before_vowel: str
    precedes: bool

    def agree(self, feminine: bool, plural: bool) -> str:
        """Return the form for a noun of this gender and number."""
        return (self.feminine if feminine else self.masculine)[plural]


@dataclass(frozen=True)
class Verb:
    """A verb with the forms of its three tenses."""

    english: str
    third_person: str
    past: str
    french: str
    present: tuple[str, ...]  # je, il, nous, vous, ils
    participle: str
    future_stem: str
    with_etre: bool


def table_rows(table: str) -> list[tuple[str, str]]:
    """Return the two sides of each line of a table."""
    lines = (line.split(" | ") for line in table.splitlines() if line.strip())
    return [(left.strip(), right.strip()) for left, right in lines]


def split_listing(listing: str) -> list[str]:
    """Split a comma-separated list of words."""
    return [name.strip() for name in listing.split(",")]


def split_forms(listing: str) -> tuple[str, ...]:
    """Split the forms of one word."""
    return tuple(listing.split())


def read_nouns(table: str) -> list[Noun]:
    """Parse the nouns of a table."""
    return [_noun(left, right) for left, right in table_rows(table)]


def look_up_adjectives(listing: str) -> list[Adjective]:
    """Look up adjectives by a list of their English forms."""
    return [_adjectives()[name] for name in split_listing(listing)]


def look_up_verbs(listing: str) -> list[Verb]:
    """Look up verbs by a list of their English forms."""
    return [_verbs()[name] for name in split_listing(listing)]


def look_up_verb(name: str) -> Verb:
    """Look up a verb by its English form."""
    return _verbs()[name]


def _noun(left: str, right: str) -> Noun:
    one, _, many = left.partition("/")
    forms, _, gender = right.rpartition(" ")
    un, _, des = forms.partition("/")
    return Noun(
        (one, many or english.english_plural(one)), (un, des or french.french_plural(un)), gender == "f"
    )


@cache
def _adjectives() -> dict[str, Adjective]:
    return {left: _adjective(left, right) for left, right in table_rows(lexicon.ADJECTIVES)}


def _adjective(left: str, right: str) -> Adjective:
    precedes, fixed = right.startswith("<"), right.startswith("=")
    masculine, *rest = right.lstrip("<=").split()
    if fixed:
        return Adjective(left, (masculine, masculine), (masculine, masculine), masculine, False)
    feminine = rest[0] if rest else french.french_feminine(masculine)
    before_vowel = rest[1] if len(rest) > 1 else masculine
    return Adjective(
        left, (masculine, french.french_plural(masculine)), (feminine, f"{feminine}s"), before_vowel, precedes
    )


@cache
def _verbs() -> dict[str, Verb]:
    parsed = (_verb(left, right) for left, right in table_rows(lexicon.VERBS))
    return {verb.english: verb for verb in parsed}


def _verb(left: str, right: str) -> Verb:
    base, _, past = left.partition("/")
    infinitive, _, irregular = right.partition(":")
    with_etre, infinitive = infinitive.endswith("*"), infinitive.rstrip("*")
    if irregular:
        *present, participle, future_stem = irregular.split()
    else:
        present, participle = french.french_present(infinitive), french.french_participle(infinitive)
        future_stem = french.french_future_stem(infinitive)
    return Verb(
        english=base,
        third_person=english.english_third_person(base),
        past=past or english.english_past(base),
        french=infinitive,
        present=tuple(present),
        participle=participle,
        future_stem=future_stem,
        with_etre=with_etre,
    )
