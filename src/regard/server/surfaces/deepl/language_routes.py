"""Languages as DeepL's clients write them: upper case, targets with a region, English and Portuguese too."""

from collections.abc import Iterable, Mapping
from typing import Any

from regard.server.surfaces.deepl.request_values import invalid_value
from regard.server.translation.language_codes import language_name, match_language
from regard.server.translation.requests import TranslationService

REGIONS: Mapping[str, Mapping[str, str]] = {
    "en": {"EN-GB": "English (British)", "EN-US": "English (American)"},
    "pt": {"PT-BR": "Portuguese (Brazilian)", "PT-PT": "Portuguese (European)"},
}
"""Targets that stand for a language: clients send no plain EN or PT as target."""


def source_languages(service: TranslationService) -> list[dict[str, Any]]:
    """Return the source languages, without regions."""
    codes = dict.fromkeys(base_code(each.code) for each in service.languages())
    return [{"language": code, "name": language_name(code)} for code in codes]


def target_languages(service: TranslationService) -> list[dict[str, Any]]:
    """Return the target languages; none knows formality."""
    names: dict[str, str] = {}
    for code in target_codes(service):
        names |= REGIONS.get(code.lower(), {code.upper(): language_name(code)})
    return [{"language": code, "name": name, "supports_formality": False} for code, name in names.items()]


def target_codes(service: TranslationService) -> list[str]:
    """Return the languages that something is translated to."""
    pairs = ((each.code, target) for each in service.languages() for target in each.targets)
    return list(dict.fromkeys(target for source, target in pairs if target != source))


def resolve_language(code: str, name: str, service: TranslationService) -> str:
    """Return the served language that a client means by the field `name`; any region will do."""
    languages = service.languages()
    served = [*(each.code for each in languages), *(target for each in languages for target in each.targets)]
    base = code.replace("_", "-").partition("-")[0]
    found = match_language(code, served) or match_language(base, dict.fromkeys(served))
    if found is None:
        raise invalid_value(name, f"{code[:40]} is not supported; there are {_in_words(served)}")
    return found


def _in_words(codes: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(code.upper() for code in codes))


def base_code(code: str) -> str:
    """Return a language without its region, as DeepL names what it translates from."""
    return code.replace("_", "-").partition("-")[0].upper()


def glossary_pairs(service: TranslationService) -> list[tuple[str, str]]:
    """Return the pairs, without regions, that one model translates: a glossary is for one model."""
    models = service.models()
    return list(
        dict.fromkeys((base_code(each.source_language), base_code(each.target_language)) for each in models)
    )
