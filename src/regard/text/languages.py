"""Language codes: comparing them, and finding them in headers and in the names of files (train.en)."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

Direction = tuple[str | None, str | None]
"""Codes of the source and the target language; None: not known."""

LANGUAGE_CODES = (
    " "
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da "
    "de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz "
    "ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln "
    "lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi "
    "pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti "
    "tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu "
)
"""Languages of ISO 639-1, which a header or a file name may have with a country: de, de-AT, pt_BR."""
LANGUAGE_TAG = re.compile("[A-Za-z0-9]{2,8}([-_][A-Za-z0-9]{1,8})*")
"""What may be the code of a language: fr, pt-BR, zh_Hans."""
LANGUAGE_SUFFIX = re.compile(r"\.([a-z]{2,3}(?:[-_][A-Za-z]{2,4})?)(?:\.txt)?(?:\.(?:gz|xz|zst))?$")
"""Language code at the end of a file name: train.en, train.de.gz, test.fr.txt."""
WORDS_OF_THREE_LETTERS = frozenset(
    [
        "bak",
        "bpe",
        "csv",
        "dat",
        "dec",
        "dev",
        "enc",
        "gold",
        "hyp",
        "inp",
        "lab",
        "log",
        "low",
        "new",
        "old",
        "org",
        "orig",
        "out",
        "raw",
        "ref",
        "row",
        "sgm",
        "sig",
        "sp",
        "spm",
        "src",
        "tag",
        "tgt",
        "tmp",
        "tok",
        "trg",
        "trn",
        "tsv",
        "tst",
        "txt",
        "val",
    ]
)
"""Endings of file names that are no language, though they are as long as the code of one."""


def normalize_language(code: str) -> str:
    """Return a language code in lower case with a hyphen before the country."""
    return code.strip().lower().replace("_", "-")


def is_language_code(name: str) -> bool:
    """Return whether a normalized text is the code of a language, perhaps with a country: de, de-at."""
    language, *rest = name.split("-")
    return f" {language} " in LANGUAGE_CODES and all(part.isalnum() and 2 <= len(part) <= 4 for part in rest)


def is_same_language(code: str, requested: str) -> bool:
    """Return whether a code is the language asked for, or a country's form of it."""
    code, requested = normalize_language(code), normalize_language(requested)
    return code == requested or code.startswith(f"{requested}-")


def base_language(code: str) -> str:
    """Return the language without its country or script: pt for pt-BR."""
    return normalize_language(code).partition("-")[0]


def language_of_file_name(files: object) -> str | None:
    """Return the language code in the names of files; None if one has none, or if they differ."""
    names = list(files) if isinstance(files, Sequence) and not isinstance(files, str) else [files]
    codes = {_language_suffix(name) for name in names}
    return codes.pop() if len(codes) == 1 else None


def languages_of_file_names(source: object, target: object) -> Direction:
    """Return the languages in the names of source and target files, unless both are the same."""
    languages = language_of_file_name(source), language_of_file_name(target)
    return (None, None) if languages[0] == languages[1] else languages


def languages_of_model(data: Mapping[str, Any]) -> Direction:
    """Return the languages in the section `data` of a model's settings, or in the names of its files."""
    by_name = languages_of_file_names(data.get("source"), data.get("target"))
    source, target = (data.get(f"{side}_language") for side in ("source", "target"))
    return (
        source if isinstance(source, str) and source else by_name[0],
        target if isinstance(target, str) and target else by_name[1],
    )


def _language_suffix(name: object) -> str | None:
    found = LANGUAGE_SUFFIX.search(name) if isinstance(name, str) else None
    if found is None:
        return None
    language = re.split("[-_]", found[1])[0]
    known = (
        f" {language} " in LANGUAGE_CODES if len(language) == 2 else language not in WORDS_OF_THREE_LETTERS
    )
    return found[1] if known else None
