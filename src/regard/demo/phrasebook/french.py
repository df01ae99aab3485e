"""French spelling by rule: elision, contraction, agreement, conjugation, numbers."""

import re

VOWELS = "aeiouàâéèêëîïôœùû"
# Words that begin with h or a vowel and do not cause elision.
ASPIRATED = ("héros", "haricot", "hibou", "hamac", "hamster", "harpe", "hockey", "Hongrie", "huit", "onze")


def elides(phrase: str) -> bool:
    """Return whether a word such as 'le' loses its vowel before a phrase."""
    first = phrase[0].lower()
    return (first in VOWELS or first == "h") and not phrase.startswith(ASPIRATED)


def join_with_elision(word: str, phrase: str) -> str:
    """Join le, la, de, ne, que, je or me with a phrase, with elision before a vowel."""
    return f"{word[:-1]}'{phrase}" if elides(phrase) else f"{word} {phrase}"


def with_a(phrase: str) -> str:
    """Put 'à' before a noun phrase: au marché, aux enfants, à la gare, à Paris."""
    return _contract(phrase, "au", "aux") or f"à {phrase}"


def with_de(phrase: str) -> str:
    """Put 'de' before a noun phrase: du Japon, des États-Unis, de la gare, d'Italie."""
    return _contract(phrase, "du", "des") or join_with_elision("de", phrase)


def french_plural(word: str) -> str:
    """Return the plural of a regular noun or masculine adjective: livres, gâteaux, chevaux, fils."""
    if word[-1] in "sxz":
        return word
    if word.endswith(("eau", "eu")) and word != "bleu":
        return f"{word}x"
    if word.endswith("al"):
        return f"{word[:-2]}aux"
    return f"{word}s"


def french_feminine(adjective: str) -> str:
    """Return the feminine of a regular adjective: rouge, légère, heureuse, italienne, verte."""
    for ending, changed in (("e", "e"), ("er", "ère"), ("eux", "euse"), ("ien", "ienne")):
        if adjective.endswith(ending):
            return adjective.removesuffix(ending) + changed
    return f"{adjective}e"


def french_present(infinitive: str) -> tuple[str, ...]:
    """Return the present of a regular verb for je, il, nous, vous, ils."""
    stem, group = infinitive[:-2], infinitive[-2:]
    if group == "ir":
        return tuple(stem + ending for ending in ("is", "it", "issons", "issez", "issent"))
    if group == "re":
        return tuple(stem + ending for ending in ("s", "", "ons", "ez", "ent"))
    soft = stem + "e" if stem.endswith("g") else stem[:-1] + "ç" if stem.endswith("c") else stem
    silent = _before_silent_e(stem)
    return f"{silent}e", f"{silent}e", f"{soft}ons", f"{stem}ez", f"{silent}ent"


def french_participle(infinitive: str) -> str:
    """Return the past participle of a regular verb: visité, fini, vendu."""
    return infinitive[:-2] + {"er": "é", "ir": "i", "re": "u"}[infinitive[-2:]]


def french_future_stem(infinitive: str) -> str:
    """Return the stem of the future tense: visiter, finir, vendr, achèter, préférer."""
    if infinitive.endswith("re"):
        return infinitive[:-1]
    if infinitive.endswith("er") and not re.search("é[^aeiou]+er$", infinitive):
        return f"{_before_silent_e(infinitive[:-2])}er"
    return infinitive


def french_number(value: int, feminine: bool = False) -> str:
    """Return a number from 1 to 100 in words, with hyphens except around 'et' (spelling before 1990)."""
    if value == 100:
        return "cent"
    tens, units = divmod(value, 10)
    if tens in (7, 9):
        tens, units = tens - 1, units + 10
    one = "une" if feminine else "un"
    small = one if units == 1 else _TO_NINETEEN[units]
    if tens < 2:
        return one if value == 1 else _TO_NINETEEN[value]
    if units == 0:
        return "quatre-vingts" if tens == 8 else _TENS[tens]
    if units in (1, 11) and tens != 8:
        return f"{_TENS[tens]} et {small}"
    return f"{_TENS[tens]}-{small}"


def _contract(phrase: str, masculine: str, plural: str) -> str | None:
    article, _, rest = phrase.partition(" ")
    match article:
        case "le":
            return f"{masculine} {rest}"
        case "les":
            return f"{plural} {rest}"
        case _:
            return None


def _before_silent_e(stem: str) -> str:
    """Return the stem of an -er verb before a silent e: achèt-, préfèr-, nettoi-."""
    if stem.endswith(("ay", "oy", "uy")):
        return f"{stem[:-1]}i"
    return re.sub("[eé]([bcdfglmnprstv])$", r"è\1", stem)


_TO_NINETEEN = [
    "zéro",
    "un",
    "deux",
    "trois",
    "quatre",
    "cinq",
    "six",
    "sept",
    "huit",
    "neuf",
    "dix",
    "onze",
    "douze",
    "treize",
    "quatorze",
    "quinze",
    "seize",
    "dix-sept",
    "dix-huit",
    "dix-neuf",
]
_TENS = [".", "dix", "vingt", "trente", "quarante", "cinquante", "soixante", ".", "quatre-vingt"]
