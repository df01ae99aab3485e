"""English inflection by rule: plurals, the third person, the past, and 'a' or 'an'."""

VOWELS = "aeiou"
SIBILANTS = ("s", "x", "z", "ch", "sh")


def english_plural(noun: str) -> str:
    """Return the plural of a regular noun: books, boxes, stories."""
    return _with_s(noun)


def english_third_person(verb: str) -> str:
    """Return the third person singular; of a phrasal verb only the first word changes: looks for."""
    head, _, tail = verb.partition(" ")
    head = "has" if head == "have" else f"{head}es" if head in ("go", "do") else _with_s(head)
    return f"{head} {tail}".rstrip()


def english_past(verb: str) -> str:
    """Return the past of a regular verb: visited, closed, studied, looked for."""
    head, _, tail = verb.partition(" ")
    if head.endswith("e"):
        head = f"{head}d"
    elif head.endswith("y") and head[-2] not in VOWELS:
        head = f"{head[:-1]}ied"
    else:
        head = f"{head}ed"
    return f"{head} {tail}".rstrip()


def with_indefinite_article(phrase: str) -> str:
    """Put 'a' before a phrase, or 'an' if its first sound is a vowel (a useful book, an hour)."""
    consonant_sound = phrase.startswith(("use", "uni", "one"))
    silent_h = phrase.startswith(("hour", "honest"))
    vowel_sound = phrase[0].lower() in VOWELS and not consonant_sound
    return f"an {phrase}" if vowel_sound or silent_h else f"a {phrase}"


def without_indefinite_article(phrase: str) -> str:
    """Remove the article that `with_indefinite_article` added."""
    return phrase.removeprefix("a ").removeprefix("an ")


def english_number(value: int) -> str:
    """Return a number from 1 to 100 in words."""
    if value <= 20:
        return _TO_TWENTY[value]
    if value == 100:
        return "one hundred"
    tens, units = divmod(value, 10)
    return f"{_TENS[tens]}-{_TO_TWENTY[units]}" if units else _TENS[tens]


def _with_s(word: str) -> str:
    if word.endswith(SIBILANTS):
        return f"{word}es"
    if word.endswith("y") and word[-2] not in VOWELS:
        return f"{word[:-1]}ies"
    return f"{word}s"


_TO_TWENTY = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
]
_TENS = [".", ".", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
