"""Whether one system is better than another, or only luckier: sacreBLEU's paired bootstrap."""

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest, Result


@dataclass(frozen=True)
class MetricComparison:
    """One metric of two systems on the same sentences."""

    score: float
    baseline: float
    p_value: float
    """How often sentences drawn at random would show as large a difference between equal systems."""
    signature: str


def compare_translations(
    hypotheses: Sequence[str], baseline: Sequence[str], references: Sequence[str]
) -> dict[str, MetricComparison]:
    """BLEU and chrF, cased, of both systems over a thousand draws of the test set (Koehn, 2004)."""
    systems: list[tuple[str, Sequence[str]]] = [
        ("baseline", list(baseline)),
        ("hypotheses", list(hypotheses)),
    ]
    metrics = {"bleu": BLEU(), "chrf": CHRF()}
    signatures, found = PairedTest(systems, metrics, [list(references)], test_type="bs")()
    return {
        name: _difference(found[theirs], str(signatures[theirs]))
        for name, theirs in zip(metrics, signatures, strict=True)
    }


def _difference(results: Sequence[str | Result], signature: str) -> MetricComparison:
    before, after = (result for result in results if isinstance(result, Result))
    assert after.p_value is not None
    return MetricComparison(float(after.score), float(before.score), float(after.p_value), signature)
