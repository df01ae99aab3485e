"""Language codes: their names, the aliases that clients use, and matching against the served ones."""

import re
from collections.abc import Collection

from regard.text.languages import LANGUAGE_TAG, normalize_language

ALIASES = {
    "pb": "pt-br",
    "zt": "zh-hant",
    "zh-cn": "zh-hans",
    "zh-sg": "zh-hans",
    "zh-tw": "zh-hant",
    "zh-hk": "zh-hant",
    "nb": "no",
    "no": "nb",
    "iw": "he",
    "in": "id",
}
"""Other codes for the same language, in lower case."""
NAME_TABLE = """
af=Afrikaans; am=Amharic; ar=Arabic; az=Azerbaijani; be=Belarusian; bg=Bulgarian; bn=Bengali; br=Breton;
bs=Bosnian; ca=Catalan; cs=Czech; cy=Welsh; da=Danish; de=German; el=Greek; en=English; eo=Esperanto;
es=Spanish; et=Estonian; eu=Basque; fa=Persian; fi=Finnish; fo=Faroese; fr=French; ga=Irish; gl=Galician;
gu=Gujarati; he=Hebrew; hi=Hindi; hr=Croatian; ht=Haitian Creole; hu=Hungarian; hy=Armenian; id=Indonesian;
is=Icelandic; it=Italian; ja=Japanese; jv=Javanese; ka=Georgian; kk=Kazakh; km=Khmer; kn=Kannada; ko=Korean;
ku=Kurdish; ky=Kyrgyz; la=Latin; lb=Luxembourgish; lo=Lao; lt=Lithuanian; lv=Latvian; mg=Malagasy;
mk=Macedonian; ml=Malayalam; mn=Mongolian; mr=Marathi; ms=Malay; mt=Maltese; nb=Norwegian Bokmål; ne=Nepali;
nl=Dutch; nn=Norwegian Nynorsk; no=Norwegian; oc=Occitan; or=Odia; pa=Punjabi; pl=Polish; ps=Pashto;
pt=Portuguese; qu=Quechua; ro=Romanian; ru=Russian; rw=Kinyarwanda; se=Northern Sami; si=Sinhala; sk=Slovak;
sl=Slovenian; sq=Albanian; sr=Serbian; sv=Swedish; sw=Swahili; ta=Tamil; te=Telugu; th=Thai; tl=Tagalog;
tr=Turkish; ug=Uyghur; uk=Ukrainian; ur=Urdu; uz=Uzbek; vi=Vietnamese; vo=Volapük; wa=Walloon; xh=Xhosa;
yo=Yoruba; zh=Chinese; zu=Zulu; pt-br=Portuguese (Brazil); zh-hans=Chinese (simplified);
zh-hant=Chinese (traditional);
"""
NAMES: dict[str, str] = dict(re.findall(r"([a-z-]+)=([^;]+);", NAME_TABLE))
"""English names by code in lower case."""


def has_language_code_form(code: str) -> bool:
    """Return whether a text has the form of a language code."""
    return LANGUAGE_TAG.fullmatch(code) is not None


def language_name(code: str) -> str:
    """Return the English name of a language, or its code."""
    name = NAMES.get(normalize_language(code))
    base, _, region = code.partition("-")
    if name is None and region and base.lower() in NAMES:
        return f"{NAMES[base.lower()]} ({region})"
    return name or code


def match_language(code: str, served: Collection[str]) -> str | None:
    """Return the served language that a client means: the same code, an alias, or without its region.

    en-US is en where only that is served, and pt is pt-BR where that is the only Portuguese.
    """
    wanted = normalize_language(code)
    by_code = {normalize_language(each): each for each in served}
    for candidate in (wanted, ALIASES.get(wanted, wanted)):
        if candidate in by_code:
            return by_code[candidate]
    base = wanted.partition("-")[0]
    if base in by_code:
        return by_code[base]
    regional = [each for each in by_code if each.partition("-")[0] == base]
    return by_code[regional[0]] if len(regional) == 1 and wanted == base else None
