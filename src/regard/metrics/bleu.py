"""BLEU by sacreBLEU, never without the signature that says which BLEU it is."""

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics.bleu import BLEU


@dataclass(frozen=True)
class Bleu:
    """A corpus score from 0 to 100."""

    score: float
    signature: str
    brevity_penalty: float
    """What the score was multiplied by because the hypotheses are short; 1 where they are not."""
    hypothesis_length: int
    """In tokens, as is the next."""
    reference_length: int


def bleu(hypotheses: Sequence[str], references: Sequence[str], lowercase: bool = False) -> Bleu:
    """Corpus BLEU of detokenised text against one reference each."""
    return bleu_by(BLEU(lowercase=lowercase), hypotheses, references)


def bleu_by(metric: BLEU, hypotheses: Sequence[str], references: Sequence[str]) -> Bleu:
    """What this of sacreBLEU's many BLEUs finds."""
    found = metric.corpus_score(list(hypotheses), [list(references)])
    return Bleu(found.score, str(metric.get_signature()), found.bp, found.sys_len, found.ref_len)
