"""BLEU by sacreBLEU, never without the signature that says which BLEU it is."""

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics.bleu import BLEU


@dataclass(frozen=True)
class Bleu:
    """A corpus score from 0 to 100."""

    score: float
    signature: str


def bleu(hypotheses: Sequence[str], references: Sequence[str]) -> Bleu:
    """Corpus BLEU of detokenised, cased text against one reference each."""
    metric = BLEU()
    result = metric.corpus_score(list(hypotheses), [list(references)])
    return Bleu(result.score, str(metric.get_signature()))
