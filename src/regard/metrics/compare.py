"""Significance of the difference between two systems: sacreBLEU's paired bootstrap resampling."""

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest, Result

from regard.metrics.translation import References


@dataclass(frozen=True)
class MetricComparison:
    """One metric of two systems on the same sentences."""

    score: float
    baseline: float
    p_value: float
    """Probability of a difference at least this large between equal systems."""
    signature: str


def compare_translations(
    hypotheses: Sequence[str], baseline: Sequence[str], references: References
) -> dict[str, MetricComparison]:
    """Compare BLEU and chrF of two systems over a thousand resampled test sets (Koehn, 2004)."""
    systems: list[tuple[str, Sequence[str]]] = [
        ("baseline", list(baseline)),
        ("hypotheses", list(hypotheses)),
    ]
    metrics = {"bleu": BLEU(), "chrf": CHRF()}
    signatures, results = PairedTest(systems, metrics, list(map(list, references)), test_type="bs")()
    return {
        name: _comparison(results[key], str(signatures[key]))
        for name, key in zip(metrics, signatures, strict=True)
    }


def _comparison(results: Sequence[str | Result], signature: str) -> MetricComparison:
    baseline, system = (result for result in results if isinstance(result, Result))
    assert system.p_value is not None
    score, baseline_score = float(system.score), float(baseline.score)
    # sacreBLEU counts resampled differences that are larger than the real one: none where systems are equal
    p_value = 1.0 if score == baseline_score else float(system.p_value)
    return MetricComparison(score, baseline_score, p_value, signature)
