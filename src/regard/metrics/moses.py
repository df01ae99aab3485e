"""Tokenised lower-case BLEU, the figure that papers on Multi30k publish."""

import importlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from sacrebleu.metrics.bleu import BLEU

from regard.errors import RegardError
from regard.metrics.bleu import Bleu, bleu_by

MISSING = 'tokenised BLEU needs sacremoses: pip install "regard[moses]"'


def tokenised_bleu(hypotheses: Sequence[str], references: Sequence[str], language: str) -> Bleu:
    """BLEU-4, not smoothed, of what `moses` makes of both sides.

    Whoever tokenises otherwise gets another number, so the signature says how it was done.
    """
    tokenize = moses(language)
    metric = BLEU(lowercase=True, tokenize="none", smooth_method="none", force=True)
    found = bleu_by(metric, list(map(tokenize, hypotheses)), list(map(tokenize, references)))
    how = f"moses:{language}+norm+escape|sacremoses:{_sacremoses().__version__}"
    return replace(found, signature=f"{found.signature}|{how}")


def moses(language: str) -> Callable[[str], str]:
    """Text to tokens with blanks between: lower case, plain punctuation, then Moses' rules and entities."""
    package = _sacremoses()
    if language not in languages():
        known = ", ".join(sorted(languages()))
        raise RegardError(f"Moses has no rules for the language {language!r}; it has: {known}")
    normalizer, tokenizer = package.MosesPunctNormalizer(language), package.MosesTokenizer(language)
    return lambda text: tokenizer.tokenize(normalizer.normalize(text.lower()), escape=True, return_str=True)


def languages() -> Collection[str]:
    """Codes of the languages that Moses has rules for, such as de; none where sacremoses is missing."""
    try:
        return set(_sacremoses().corpus.NonbreakingPrefixes().available_langs.values())
    except RegardError:
        return set()


def _sacremoses() -> Any:
    try:
        return importlib.import_module("sacremoses")  # optional: only this figure needs it
    except ImportError:
        raise RegardError(MISSING) from None
