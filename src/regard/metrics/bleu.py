"""BLEU by sacreBLEU, never without the signature that says which BLEU it is."""

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics.bleu import BLEU


@dataclass(frozen=True)
class Bleu:
    """A corpus score from 0 to 100."""

    score: float
    signature: str


def bleu(hypotheses: Sequence[str], references: Sequence[str], lowercase: bool = False) -> Bleu:
    """Corpus BLEU of detokenised text against one reference each; capitals count unless `lowercase`."""
    metric = BLEU(lowercase=lowercase)
    result = metric.corpus_score(list(hypotheses), [list(references)])
    return Bleu(result.score, str(metric.get_signature()))
