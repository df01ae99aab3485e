"""Plain keywords of `Translator.translate` for the fields of its settings objects; no torch."""

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypedDict

from regard.search.config import Sampling, SearchConfig
from regard.text.glossary import Glossary
from regard.translation.options import LongTextMode, TranslateOptions

GlossaryKeyword = Glossary | Mapping[str, str | Iterable[str]] | str | Path
"""A glossary, its phrases with one or several translations, or the file that has them."""


OnDone = Callable[[int], None]
"""Called after each batch with the number of texts finished in it."""


class TranslateKeywords(TypedDict, total=False):
    """Settings of a translation; those that are not given come from `search` and `options`."""

    beam: int
    alpha: float
    min_length: int
    max_length: int | None
    no_repeat_ngram: int | None
    allow_unknown: bool
    temperature: float
    """This keyword and the next three sample instead of searching with a beam."""
    top_k: int | None
    top_p: float | None
    seed: int
    long_text: LongTextMode
    prefix: str
    required: str | Iterable[str]
    forbidden: str | Iterable[str]
    require: str | Iterable[str]
    """As `required`: the name of the flag."""
    forbid: str | Iterable[str]
    """As `forbidden`: the name of the flag."""
    glossary: GlossaryKeyword | None
    alignments: bool
    confidences: bool
    deterministic: bool


class AllTranslateKeywords(TranslateKeywords, total=False):
    """The keywords of `translate`, which takes only the texts by position."""

    search: SearchConfig
    options: TranslateOptions
    on_done: OnDone | None


SAMPLING_KEYWORDS = {field.name for field in fields(Sampling)}
OPTION_KEYWORDS = {field.name for field in fields(TranslateOptions)} - {"ensemble"}
SEARCH_KEYWORDS = {field.name for field in fields(SearchConfig)} - {"sampling", "n_best"}
FLAG_NAMES = {"require": "required", "forbid": "forbidden"}
KNOWN_KEYWORDS = {
    *SEARCH_KEYWORDS,
    *SAMPLING_KEYWORDS,
    *OPTION_KEYWORDS,
    *FLAG_NAMES,
    *("n_best", "search", "options", "on_done"),
}
NAMES_ELSEWHERE = {
    "num_beams": "beam",
    "beam_size": "beam",
    "length_penalty": "alpha",
    "num_return_sequences": "n_best",
    "max_new_tokens": "max_length",
    "no_repeat_ngram_size": "no_repeat_ngram",
    "do_sample": "temperature",
    "return_alignments": "alignments",
}
"""Names that other libraries give to these settings."""


def build_translate_settings(
    search: SearchConfig, options: TranslateOptions, n_best: int | None, keywords: Mapping[str, Any]
) -> tuple[SearchConfig, TranslateOptions]:
    """Return search settings and options with the keywords in place of their fields.

    `n_best` raises the beam where `beam` is not given, since a beam finds no more translations than its size.
    """
    reject_unknown_keywords("translate", keywords, KNOWN_KEYWORDS, NAMES_ELSEWHERE)
    changed = {name: value for name, value in keywords.items() if name in SEARCH_KEYWORDS}
    sampling = {name: value for name, value in keywords.items() if name in SAMPLING_KEYWORDS}
    if sampling:
        if "beam" in keywords:
            raise TypeError(f"translate() got both beam and {min(sampling)}, and a sample has no beam")
        changed["sampling"] = replace(search.sampling or Sampling(), **sampling)
    if n_best is not None:
        changed["n_best"] = n_best
        if "beam" not in keywords and n_best > search.beam:
            changed["beam"] = n_best
    return replace(search, **changed), _replace_options(options, keywords)


def reject_unknown_keywords(
    function: str,
    keywords: Iterable[str],
    known: Iterable[str],
    names_elsewhere: Mapping[str, str] | None = None,
) -> None:
    """Raise a `TypeError` about a keyword that the function does not have, with the nearest ones."""
    for name in set(keywords).difference(known):
        elsewhere = (names_elsewhere or {}).get(name)
        close = [elsewhere] if elsewhere else difflib.get_close_matches(name, sorted(known), n=3, cutoff=0.6)
        advice = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(sorted(known))}"
        raise TypeError(f"{function}() has no keyword {name!r}; {advice}")


def _replace_options(options: TranslateOptions, keywords: Mapping[str, Any]) -> TranslateOptions:
    for flag, name in FLAG_NAMES.items():
        if flag in keywords and name in keywords:
            raise TypeError(f"translate() got both {flag} and {name}, which are one option")
    named = {FLAG_NAMES.get(name, name): value for name, value in keywords.items()}
    changed = {name: value for name, value in named.items() if name in OPTION_KEYWORDS}
    for name in set(FLAG_NAMES.values()).intersection(changed):
        phrases = changed[name]
        changed[name] = (phrases,) if isinstance(phrases, str) else tuple(phrases)
    if "glossary" in changed:
        changed["glossary"] = build_glossary(changed["glossary"])
    return replace(options, **changed)


def build_glossary(glossary: object) -> Glossary:
    """Return the glossary of a mapping or of a file; None has no entries."""
    match glossary:
        case None:
            return Glossary()
        case Glossary():
            return glossary
        case str() | Path():
            return Glossary.read(Path(glossary))
        case Mapping():
            return Glossary(tuple(_glossary_entries(glossary)))
        case _:
            kind = type(glossary).__name__
            raise TypeError(f"glossary takes a Glossary, a dict, or the path of a file, not {kind}")


def _glossary_entries(phrases: Mapping[Any, Any]) -> Iterator[tuple[str, str]]:
    for source, targets in phrases.items():
        for target in (targets,) if isinstance(targets, str) else targets:
            for text in (source, target):
                if not isinstance(text, str) or not text.strip():
                    raise TypeError(f"glossary has {source!r}: {target!r}; both must be text, and not blank")
            yield source, target
