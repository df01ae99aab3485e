"""chrF by sacreBLEU: character n-grams, kinder than BLEU to a wrong ending; with its signature."""

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics.chrf import CHRF


@dataclass(frozen=True)
class Chrf:
    """A corpus score from 0 to 100."""

    score: float
    signature: str


def chrf(hypotheses: Sequence[str], references: Sequence[str], lowercase: bool = False) -> Chrf:
    """Corpus chrF2 of detokenised text against one reference each."""
    metric = CHRF(lowercase=lowercase)
    found = metric.corpus_score(list(hypotheses), [list(references)])
    return Chrf(found.score, str(metric.get_signature()))
