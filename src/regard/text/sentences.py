"""Sentence splitting, cutting of over-long sentences, and joining of translated parts.

The rules hold for all languages at once, since the language of a text is not known. They are measured on the
labelled boundaries of tests/text/boundaries.json.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from regard.text.unicode import UNSPACED_LETTERS, is_cjk

TokenCounter = Callable[[list[str]], list[int]]
"""Returns the number of tokens of each text."""

MAX_CHARACTERS_PER_TOKEN = 64
"""More than any tokenizer reaches: a text longer than this times the limit is too long without counting."""

TERMINATOR = re.compile(
    r"""
      (?<![.!?…]) [.!?…]++ (?: ["'»›«“”‘’)\]] | [ \u00a0\u202f]? [»›] (?=\s|$) )*+ \s++
    | (?<![。！？｡]) [。！？｡]++ [」』）】”’]*+ (?![》〉，、；：]) \s*+
    | (?<![।॥؟۔։።។]) [।॥؟۔։።។]++ \s++
    | \n\s*+
    """,
    re.VERBOSE,
)
"""Where a sentence may end. Each run is read once, from its start, so that time is linear in the text."""


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


TITLES = _word_set(
    """
    adm bros capt cmdr cpl cpt dipl dr drs fr frl ft gen gov herr hon hr hrn hrsg ing lic lt ltn m maj me
    messrs mgr mlle mlles mm mme mmes mr mrs ms mt pfr pr pres prof rep rev sen sgt sr sra st ste supt
    univ
    """
)
"""Abbreviations that stand before a name, written with a capital."""
NEVER_FINAL = _word_set(
    """
    approx bzw c.-à-d ca cf cp d.h e.g env esp evtl excl exkl ggf i.d.r i.e incl inkl lt m.a.w m.e n.b o.ä
    p.ex p.s resp sog u.a u.u usf v.a vgl viz vs z.b z.t z.zt zit zw zzgl
    """
)
"""Abbreviations that never end a sentence."""
SELDOM_FINAL = _word_set(
    """
    abb abs acad al allg amerik asst aufl av ave bayr bd blvd boul brit cap chap co col corp dept dt ed
    eds ehem engl eq ev fa fig figs franz geb gebr gest hg hss hwy ital jap jg jur kap kath kl med mill
    mio mrd nat nr nrn op phil pp rd rer rn rnr röm rs russ sec secs sect sects span std str tel theol tsd
    türk urt verf vol vols ziff éd österr
    """
)
"""Abbreviations that end a sentence only before one of `STARTERS`."""
BEFORE_NUMBER = _word_set(
    """
    al ann annex anm app apr art arts aug août avr bull ch cir cl dec dez di déc ep ex ext ff fn fr fevr
    févr jan janv jul juil jun lit livr mar max mi min mo mrz no nos nov nº oct okt p par para paras rdnr
    ref réf s sep sept suppl tab taf teil tit v
    """
)
"""Abbreviations, and words spelt like them, that end a sentence except before a number."""
SOMETIMES_FINAL = frozenset({"a.d", "a.m", "inc", "j.-c", "ltd", "p.m"})
"""Abbreviations that end a sentence except before a bracket or a small letter."""

STARTERS = _word_set(
    """
    a after all although an and another as at because before but by everything for from he her here his
    how however i if in it its my no nobody not nothing now on one our she since so some that the their
    then there these they this those to today we what when where which while who why with yet you your
    aber alle als am an auch auf aus bei bis da damit danach dann das davon dem den denn der des die dies
    diese dieser dieses doch dort ein eine einem einen einer er es für hier ich ihr ihre im in ist jetzt
    kein keine man mit nach nicht noch nun nur ob oder sein seine seit sie so und unser vom vor wann warum
    was weil wenn wer wie wir zu zum zur alors après au aucun aussi aux avant avec beaucoup car ce ceci
    cela ces cet cette comme comment dans depuis des donc elle elles en et il ils je jusqu la le les leur
    leurs lorsque mais même nous on ou où par parce pendant personne plus pour pourquoi puis quand que qui
    sa sans selon ses si son sous sur tous tout toutes un une vers voici voilà vous el ella ellos esta
    este la las los para pero por se una y che gli lo non questa questo è él
    """
)
"""Words that begin sentences and no names."""

ORDINAL_NOUNS = _word_set(
    """
    januar februar märz april mai juni juli august september oktober november dezember jan feb febr mrz
    apr jun jul aug sep sept okt nov dez jh jhd jahrhundert jahrtausend weltkrieg bundesliga liga auflage
    aufl klasse platz rang spieltag minute runde kapitel geburtstag lebensjahr sinfonie symphonie staffel
    saison
    """
)
"""Nouns that follow a German ordinal, as in "3. Oktober"."""
BEFORE_ORDINAL = re.compile(
    r"(?:^|[\s(])(?:ab|am|bis|beim|das|dem|den|der|deren|des|dessen|die|diese[rmns]?|ein(?:e[rmns]?)?|im|ins|jede[rmns]?"
    r"|(?:ih|uns|eu)re?[rmns]?|[msd]eine?[rmns]?|und|vom|zum|zur)\s$",
    re.IGNORECASE,
)
"""Words before a German ordinal, as in "am 6."."""
DATE_CONTINUES = re.compile(r"\d{1,2}\.\s?\d{2,4}\b")
DAY = re.compile(r"\d\.\s?$")
YEAR = re.compile(r"\d{2,4}\b")

LETTER = rf"[^\W\d_{UNSPACED_LETTERS}]"
TOKEN = re.compile(
    rf"(?<![^\W{UNSPACED_LETTERS}])(?:{LETTER}{{1,3}}\.[ \u00a0\u202f]?-?)*+[^\W_{UNSPACED_LETTERS}]+$"
)
"""The word before a full stop, with the letters abbreviated before it: "Dr", "z. B", "U.S", "12"."""
UNIT = re.compile(r"(?:°|\d[ \u00a0\u202f]?)[ACFJKLNVWghlmst]$")
"""A unit of one letter, as in "5 m"."""
ENUMERATOR = re.compile(r"[\W_]*(?:\d{1,3}|[^\W\d_]|[ivx]{1,4}|[IVX]{1,4})")
OPENING = r"""[\s"'«»‹›„“”‚‘’(\[¿¡–—-]*+"""
NEXT_WORD = re.compile(rf"{OPENING}(?![A-ZÀ-Þ]\.)((?:[CJLMNST]|Qu|Jusqu|Lorsqu|Puisqu)['’]|[^\W_]+)")
"""The next word, without the rest after an apostrophe, as in "L'art", and no initial, as in "L. Bloom"."""
NEXT_NUMBER = re.compile(rf"{OPENING}(?:[§°+]\s?)*(?:\d|[IVXLC]{{2,}}\b|[B-HJ-Z]\b)")
LOOKBACK = 24
"""Number of characters before a full stop that are examined."""

QUOTES = ("「」", "『』", "“”", "《》", "（）")
MAX_QUOTATION = 200
"""Longest quotation, in characters, inside one Chinese or Japanese sentence."""
CONTINUES_AFTER_QUOTE = re.compile(
    r"と(?![こきても])|って|だ(?!か)|です|でし|の|は(?![いじ])|が|を|に|など"  # 「はい。」と言った
    r"|[^\s，。！？：；、“”]{0,12}?[说說问問道答喊叫嚷骂吼][着了]?[，。：！]"  # “你好！”他说。
)
"""Text after a closing quotation mark that continues the sentence."""

CLAUSE_END = re.compile(r"[,;:)–—]\s+|[，；：、）。！？]")
WHITESPACE = re.compile(r"\s+")


def split_sentences(text: str) -> list[str]:
    """Return the sentences of the text, each with the white space after it; joined, they are the text."""
    sentences, start = [], 0
    for match in TERMINATOR.finditer(text):
        if _is_boundary(text, start, match):
            sentences.append(text[start : match.end()])
            start = match.end()
    return [*sentences, text[start:]] if start < len(text) else sentences


def split_to_length(text: str, max_tokens: int, count_tokens: TokenCounter) -> list[str]:
    """Split the text into parts of at most `max_tokens`: sentences, and halves of sentences that are longer.

    The parts are stripped and none is blank. A single character is never split.
    """
    parts = [part for part in map(str.strip, split_sentences(text)) if part]
    while True:
        fits = _fits(parts, max_tokens, count_tokens)
        if all(fits):
            return parts
        parts = [
            half
            for part, fit in zip(parts, fits, strict=True)
            for half in ((part,) if fit else map(str.strip, split_in_half(part)))
            if half
        ]


def split_in_half(text: str) -> tuple[str, str]:
    """Split the text as near to the middle as possible: after a clause, between words, or else anywhere."""
    middle, quarter = len(text) // 2, len(text) // 4
    for pattern in (CLAUSE_END, WHITESPACE):
        ends = [
            match.end()
            for match in pattern.finditer(text, quarter, len(text) - quarter)
            if match.end() < len(text)
        ]
        if ends:
            cut = min(ends, key=lambda end: abs(end - middle))
            return text[:cut], text[cut:]
    cut = next((i for i in range(middle, len(text)) if not unicodedata.combining(text[i])), middle)
    return text[:cut], text[cut:]


def join_sentences(parts: Sequence[str]) -> str:
    """Join translated parts with spaces, or without where the script puts none between sentences."""
    return "".join(_with_separators(part for part in parts if part))


def join_with_source_spacing(sources: Sequence[str], translations: Sequence[str]) -> str:
    """Join the translations of `split_sentences(...)` with the white space that followed each source.

    Where only one of the two scripts puts spaces between sentences, the spacing of the translation is used.
    """
    parts = [
        source.strip() and translation for source, translation in zip(sources, translations, strict=True)
    ]
    text = "".join(parts[:1])
    for (source, part), (next_source, next_part) in pairwise(zip(sources, parts, strict=True)):
        space = source[len(source.rstrip()) :]
        if part and next_part and "\n" not in space:
            separator = _separator(part, next_part)
            space = space if _separator(source.rstrip(), next_source) == separator else separator
        text += space + next_part
    return text


def _separator(before: str, after: str) -> str:
    return "" if is_cjk(before[-1]) or is_cjk(after[0]) else " "


def _with_separators(parts: Iterator[str]) -> Iterator[str]:
    last = ""
    for part in parts:
        if last:
            yield _separator(last, part)
        yield part
        last = part


def _is_boundary(text: str, start: int, match: re.Match[str]) -> bool:
    """Return whether the sentence that begins at `start` ends at the match."""
    mark, end = match[0].rstrip(), match.end()
    if "\n" in match[0]:
        return True
    if mark[0] in "。！？｡":
        return not _is_quoted(text, start, match)
    before = text[max(start, match.start() - LOOKBACK) : match.start()]
    if text[end : end + 1] in tuple(".,;:!?…)") or not any(map(str.isalnum, before)):
        return False
    word = _next_word(text, end)
    if word[:1].islower() and not word[1:2].isupper():  # an "iPhone" begins sentences
        informal = text[start].islower() and mark in ("?", "!", ".") and word in STARTERS
        return informal and (mark != "." or not _is_abbreviation(text, before, end))
    if mark[0] != "." or mark[1:2] in tuple(".!?…"):
        return True
    enumerator = match.start() - start < LOOKBACK and ENUMERATOR.fullmatch(text, start, match.start())
    return not enumerator and (mark != "." or not _is_abbreviation(text, before, end))


def _is_abbreviation(text: str, before: str, end: int) -> bool:
    """Return whether a full stop after `before` belongs to an abbreviation or a number."""
    match = TOKEN.search(before)
    if not match:
        return False
    token = "".join(match[0].split())
    last = re.split(r"[.-]", token)[-1]
    if last.isdecimal():
        return _is_ordinal(text, before.removesuffix(last), last, end)
    title = last[0].isupper() and last.casefold() in TITLES
    token, last = token.casefold(), last.casefold()
    numbered = last in BEFORE_NUMBER and NEXT_NUMBER.match(text, end)
    if title or numbered or token in NEVER_FINAL or last in NEVER_FINAL:
        return True
    if token in SOMETIMES_FINAL:
        return text[end : end + 1] in ("(", "[")
    initial = len(last) == 1 and not UNIT.search(before)
    return (initial or last in SELDOM_FINAL) and not _is_starter(_next_word(text, end))


def _is_ordinal(text: str, before: str, number: str, end: int) -> bool:
    """Return whether a number with a full stop is an ordinal, or the day or month of a date."""
    if len(number) > 2:
        return False
    if DATE_CONTINUES.match(text, end) or (DAY.search(before) and YEAR.match(text, end)):
        return True
    word = _next_word(text, end)
    if {word.casefold(), word.casefold().removesuffix("s")} & ORDINAL_NOUNS:
        return True
    return word[:1].isalpha() and bool(BEFORE_ORDINAL.search(before)) and not _is_starter(word)


def _next_word(text: str, start: int) -> str:
    match = NEXT_WORD.match(text, start)
    return match[1] if match else ""


def _is_starter(word: str) -> bool:
    return word.casefold() in STARTERS or word.endswith(("'", "’"))


def _is_quoted(text: str, start: int, match: re.Match[str]) -> bool:
    """Return whether a Chinese or Japanese sentence continues, inside quotation marks or after them."""
    last = match[0].rstrip()[-1]
    if last == "）":
        return not text.startswith("（", start)
    if last in "」』”" and CONTINUES_AFTER_QUOTE.match(text, match.end()):
        return True
    first = max(start, match.start() - MAX_QUOTATION)
    return any(
        text.rfind(opening, first, match.end()) > text.rfind(closing, first, match.end())
        and text.find(closing, match.end(), match.end() + MAX_QUOTATION) >= 0
        for opening, closing in QUOTES
    )


def _fits(parts: Sequence[str], max_tokens: int, count_tokens: TokenCounter) -> list[bool]:
    """Return which parts are within the limit or cannot be split further."""
    max_characters = MAX_CHARACTERS_PER_TOKEN * max_tokens
    counts = iter(count_tokens([part for part in parts if len(part) <= max_characters]))
    return [len(part) <= max_characters and (next(counts) <= max_tokens or len(part) == 1) for part in parts]
