"""BLEU by sacreBLEU, never without the signature that says which BLEU it is."""

import importlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from regard.errors import RegardError


@dataclass(frozen=True)
class BleuScore:
    """A corpus score from 0 to 100."""

    score: float
    signature: str
    brevity_penalty: float
    """What the score was multiplied by because the hypotheses are short; 1 where they are not."""
    hypothesis_length: int
    """In tokens, as is the next."""
    reference_length: int


def corpus_bleu(hypotheses: Sequence[str], references: Sequence[str], lowercase: bool = False) -> BleuScore:
    """Corpus BLEU of detokenised text against one reference each."""
    return corpus_bleu_with(BLEU(lowercase=lowercase), hypotheses, references)


def corpus_bleu_with(metric: BLEU, hypotheses: Sequence[str], references: Sequence[str]) -> BleuScore:
    """What this of sacreBLEU's many BLEUs finds."""
    found = metric.corpus_score(list(hypotheses), [list(references)])
    return BleuScore(found.score, str(metric.get_signature()), found.bp, found.sys_len, found.ref_len)


@dataclass(frozen=True)
class ChrfScore:
    """A corpus score from 0 to 100."""

    score: float
    signature: str


def corpus_chrf(hypotheses: Sequence[str], references: Sequence[str], lowercase: bool = False) -> ChrfScore:
    """Corpus chrF2 of detokenised text against one reference each."""
    metric = CHRF(lowercase=lowercase)
    found = metric.corpus_score(list(hypotheses), [list(references)])
    return ChrfScore(found.score, str(metric.get_signature()))


SACREMOSES_MISSING = 'tokenised BLEU needs sacremoses: pip install "regard[moses]"'


def tokenised_bleu(hypotheses: Sequence[str], references: Sequence[str], language: str) -> BleuScore:
    """BLEU-4, not smoothed, of what `moses` makes of both sides.

    Whoever tokenises otherwise gets another number, so the signature says how it was done.
    """
    tokenize = moses_tokenizer(language)
    metric = BLEU(lowercase=True, tokenize="none", smooth_method="none", force=True)
    found = corpus_bleu_with(metric, list(map(tokenize, hypotheses)), list(map(tokenize, references)))
    how = f"moses:{language}+norm+escape|sacremoses:{_sacremoses().__version__}"
    return replace(found, signature=f"{found.signature}|{how}")


def moses_tokenizer(language: str) -> Callable[[str], str]:
    """Text to tokens with blanks between: lower case, plain punctuation, then Moses' rules and entities."""
    package = _sacremoses()
    if language not in moses_languages():
        known = ", ".join(sorted(moses_languages()))
        raise RegardError(f"Moses has no rules for the language {language!r}; it has: {known}")
    normalizer, tokenizer = package.MosesPunctNormalizer(language), package.MosesTokenizer(language)
    return lambda text: tokenizer.tokenize(normalizer.normalize(text.lower()), escape=True, return_str=True)


def moses_languages() -> Collection[str]:
    """Codes of the languages that Moses has rules for, such as de; none where sacremoses is missing."""
    try:
        return set(_sacremoses().corpus.NonbreakingPrefixes().available_langs.values())
    except RegardError:
        return set()


def _sacremoses() -> Any:
    try:
        return importlib.import_module("sacremoses")  # optional: only this figure needs it
    except ImportError:
        raise RegardError(SACREMOSES_MISSING) from None


MAX_LENGTH_GROUPS, MIN_GROUP_SENTENCES = 5, 10
"""Groups at most, and sentences in each at least: the BLEU of fewer says little."""


@dataclass(frozen=True)
class BleuByLength:
    """Group i has the lengths from bins[i] up to, not with, bins[i + 1]."""

    bins: tuple[int, ...]
    bleu: tuple[float, ...]
    pairs: tuple[int, ...]


def bleu_by_length(
    lengths: Sequence[int], hypotheses: Sequence[str], references: Sequence[str], lowercase: bool = False
) -> BleuByLength:
    """The scores of groups of about as many sentences each; sentences of one length stay together."""
    sizes = np.array(lengths, np.int64)
    count = max(1, min(MAX_LENGTH_GROUPS, len(sizes) // MIN_GROUP_SENTENCES))
    cuts = np.unique(np.quantile(sizes, np.arange(count) / count, method="higher"))
    group = np.searchsorted(cuts, sizes, side="right") - 1
    members = [np.flatnonzero(group == place).tolist() for place in range(len(cuts))]
    scores = [
        corpus_bleu([hypotheses[i] for i in each], [references[i] for i in each], lowercase).score
        for each in members
    ]
    return BleuByLength(
        (*cuts.tolist(), int(sizes.max()) + 1),
        tuple(round(score, 2) for score in scores),
        tuple(map(len, members)),
    )


def score_translations(
    hypotheses: Sequence[str], references: Sequence[str], language: str | None
) -> Mapping[str, BleuScore | ChrfScore]:
    """BLEU and chrF, cased and in lower case; tokenised BLEU too, if the language of the text is given."""
    scores: dict[str, BleuScore | ChrfScore] = {
        "bleu": corpus_bleu(hypotheses, references),
        "bleu_lower": corpus_bleu(hypotheses, references, lowercase=True),
        "chrf": corpus_chrf(hypotheses, references),
        "chrf_lower": corpus_chrf(hypotheses, references, lowercase=True),
    }
    if language is not None:
        scores["bleu_tokenised_lower"] = tokenised_bleu(hypotheses, references, language)
    return scores
