"""BLEU, chrF and TER by sacreBLEU with their signatures, tokenised BLEU with Moses, BLEU by source length."""

import importlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from regard.errors import RegardError

MetricName = Literal["bleu", "chrf", "ter"]
ALL_METRICS: tuple[MetricName, ...] = get_args(MetricName)


@dataclass(frozen=True)
class BleuScore:
    """Corpus BLEU, from 0 to 100."""

    score: float
    signature: str
    """The sacreBLEU signature, which names the tokenization and all other options."""
    brevity_penalty: float
    """Factor of the score for hypotheses that are too short; 1 where they are not."""
    hypothesis_length: int
    """In tokens."""
    reference_length: int
    """In tokens."""


References = Sequence[Sequence[str]]
"""Reference translations of a test set, several of each sentence: one sequence for each translator."""


def corpus_bleu(hypotheses: Sequence[str], references: Sequence[str], lowercase: bool = False) -> BleuScore:
    """Return corpus BLEU of detokenised text against one reference each."""
    return corpus_bleu_with(BLEU(lowercase=lowercase), hypotheses, [references])


def corpus_bleu_with(metric: BLEU, hypotheses: Sequence[str], references: References) -> BleuScore:
    """Return corpus BLEU with the options of `metric`."""
    result = metric.corpus_score(list(hypotheses), list(map(list, references)))
    return BleuScore(result.score, str(metric.get_signature()), result.bp, result.sys_len, result.ref_len)


@dataclass(frozen=True)
class ChrfScore:
    """Corpus chrF2, from 0 to 100."""

    score: float
    signature: str


def corpus_chrf(hypotheses: Sequence[str], references: Sequence[str], lowercase: bool = False) -> ChrfScore:
    """Return corpus chrF2 of detokenised text against one reference each."""
    return corpus_chrf_with(CHRF(lowercase=lowercase), hypotheses, [references])


def corpus_chrf_with(metric: CHRF, hypotheses: Sequence[str], references: References) -> ChrfScore:
    """Return corpus chrF2 with the options of `metric`; of several references, the most similar counts."""
    result = metric.corpus_score(list(hypotheses), list(map(list, references)))
    return ChrfScore(result.score, str(metric.get_signature()))


@dataclass(frozen=True)
class TerScore:
    """Translation edit rate: edits per hundred reference words; lower is better, and it can exceed 100."""

    score: float
    signature: str
    edits: int
    reference_length: float
    """In words; with several references the mean of them."""


class SentenceTer(TER):
    """TER that counts the edits of a sentence once, however often the test set is scored or resampled.

    Finding moved phrases takes longer than all other metrics together, so it reports its progress.
    """

    def __init__(self, on_done: Callable[[int], object] | None = None) -> None:
        super().__init__()
        self._on_done = on_done
        self._known: dict[tuple[str, ...], list[Any]] = {}

    def _compute_segment_statistics(self, hypothesis: str, ref_kwargs: dict[str, Any]) -> list[Any]:
        key = (hypothesis, *(" ".join(words) for words in ref_kwargs["ref_words"]))
        if key not in self._known:
            self._known[key] = super()._compute_segment_statistics(hypothesis, ref_kwargs)
            if self._on_done is not None:
                self._on_done(1)
        return self._known[key]


def corpus_ter_with(metric: TER, hypotheses: Sequence[str], references: References) -> TerScore:
    """Return corpus TER with the options of `metric`; of several references, the nearest counts."""
    result = metric.corpus_score(list(hypotheses), list(map(list, references)))
    return TerScore(result.score, str(metric.get_signature()), int(result.num_edits), result.ref_length)


TranslationScore = BleuScore | ChrfScore | TerScore

SACREMOSES_MISSING = 'tokenised BLEU needs sacremoses: pip install "regard[moses]"'


def tokenised_bleu(hypotheses: Sequence[str], references: References, language: str) -> BleuScore:
    """Return BLEU-4 without smoothing of both sides in lower case, tokenised by Moses.

    This is the figure that papers on Multi30k report. The tokenization is added to the signature, since the
    score depends on it.
    """
    tokenize = moses_tokenizer(language)
    metric = BLEU(lowercase=True, tokenize="none", smooth_method="none", force=True)
    tokenised = [list(map(tokenize, texts)) for texts in references]
    score = corpus_bleu_with(metric, list(map(tokenize, hypotheses)), tokenised)
    tokenization = f"moses:{language}+norm+escape|sacremoses:{_sacremoses().__version__}"
    return replace(score, signature=f"{score.signature}|{tokenization}")


def moses_tokenizer(language: str) -> Callable[[str], str]:
    """Return a function that lower-cases, normalizes, tokenises and escapes a text as Moses does."""
    package = _sacremoses()
    if language not in moses_languages():
        known = ", ".join(sorted(moses_languages()))
        raise RegardError(f"Moses has no rules for the language {language!r}; it has: {known}")
    normalizer, tokenizer = package.MosesPunctNormalizer(language), package.MosesTokenizer(language)
    return lambda text: tokenizer.tokenize(normalizer.normalize(text.lower()), escape=True, return_str=True)


def moses_languages() -> Collection[str]:
    """Return the codes of the languages that Moses has rules for; none if sacremoses is not installed."""
    try:
        return set(_sacremoses().corpus.NonbreakingPrefixes().available_langs.values())
    except RegardError:
        return set()


def _sacremoses() -> Any:
    try:
        return importlib.import_module("sacremoses")  # an optional dependency
    except ImportError:
        raise RegardError(SACREMOSES_MISSING) from None


MAX_LENGTH_GROUPS, MIN_GROUP_SENTENCES = 5, 10
"""At most so many groups with at least so many sentences each: BLEU of fewer sentences is too noisy."""


@dataclass(frozen=True)
class BleuByLength:
    """BLEU by source length; group i has the lengths from bins[i] up to bins[i + 1], exclusive."""

    bins: tuple[int, ...]
    bleu: tuple[float, ...]
    pairs: tuple[int, ...]


def bleu_by_length(
    lengths: Sequence[int], hypotheses: Sequence[str], references: Sequence[str], lowercase: bool = False
) -> BleuByLength:
    """Return BLEU of groups of about equal size; sentences of one length are in one group."""
    lengths_array = np.array(lengths, np.int64)
    count = max(1, min(MAX_LENGTH_GROUPS, len(lengths_array) // MIN_GROUP_SENTENCES))
    cuts = np.unique(np.quantile(lengths_array, np.arange(count) / count, method="higher"))
    group_index = np.searchsorted(cuts, lengths_array, side="right") - 1
    groups = [np.flatnonzero(group_index == number).tolist() for number in range(len(cuts))]
    scores = [
        corpus_bleu([hypotheses[i] for i in group], [references[i] for i in group], lowercase).score
        for group in groups
    ]
    return BleuByLength(
        (*cuts.tolist(), int(lengths_array.max()) + 1),
        tuple(round(score, 2) for score in scores),
        tuple(map(len, groups)),
    )


def score_translations(
    hypotheses: Sequence[str],
    references: References,
    language: str | None,
    metrics: Collection[MetricName] = ALL_METRICS,
    ter: TER | None = None,
) -> Mapping[str, TranslationScore]:
    """Return the metrics: BLEU and chrF cased and in lower case, TER, tokenised BLEU if a language is given.

    `ter` is a metric that has scored sentences of this test set before, or that reports its progress.
    """
    scores: dict[str, TranslationScore] = {}
    if "bleu" in metrics:
        scores["bleu"] = corpus_bleu_with(BLEU(), hypotheses, references)
        scores["bleu_lower"] = corpus_bleu_with(BLEU(lowercase=True), hypotheses, references)
    if "chrf" in metrics:
        scores["chrf"] = corpus_chrf_with(CHRF(), hypotheses, references)
        scores["chrf_lower"] = corpus_chrf_with(CHRF(lowercase=True), hypotheses, references)
    if "ter" in metrics:
        scores["ter"] = corpus_ter_with(ter or TER(), hypotheses, references)
    if "bleu" in metrics and language is not None:
        scores["bleu_tokenised_lower"] = tokenised_bleu(hypotheses, references, language)
    return scores
