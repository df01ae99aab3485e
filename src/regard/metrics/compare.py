"""Significance of the difference between two systems: sacreBLEU's paired bootstrap resampling."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest, Result

from regard.metrics.translation import ALL_METRICS, MetricName, References


@dataclass(frozen=True)
class MetricComparison:
    """One metric of two systems on the same sentences."""

    score: float
    baseline: float
    p_value: float
    """Probability of a difference at least this large between equal systems."""
    signature: str


def compare_translations(
    hypotheses: Sequence[str],
    baseline: Sequence[str],
    references: References,
    metrics: Collection[MetricName] = ALL_METRICS,
    ter: TER | None = None,
) -> dict[str, MetricComparison]:
    """Compare BLEU, chrF and TER of two systems over a thousand resampled test sets (Koehn, 2004)."""
    return compare_systems([baseline, hypotheses], references, metrics, ter)[0]


def compare_systems(
    translations: Sequence[Sequence[str]],
    references: References,
    metrics: Collection[MetricName] = ALL_METRICS,
    ter: TER | None = None,
) -> list[dict[str, MetricComparison]]:
    """Compare each system after the first with the first, over the same resampled test sets."""
    systems: list[tuple[str, Sequence[str]]] = [
        ("baseline" if number == 0 else f"system {number}", list(texts))
        for number, texts in enumerate(translations)
    ]
    known: dict[MetricName, Metric] = {"bleu": BLEU(), "chrf": CHRF(), "ter": ter or TER()}
    compared = {name: metric for name, metric in known.items() if name in metrics}
    signatures, results = PairedTest(systems, compared, list(map(list, references)), test_type="bs")()
    return [
        {
            name: _comparison(results[key], number, str(signatures[key]))
            for name, key in zip(compared, signatures, strict=True)
        }
        for number in range(1, len(systems))
    ]


def _comparison(results: Sequence[str | Result], number: int, signature: str) -> MetricComparison:
    scores = [result for result in results if isinstance(result, Result)]
    baseline, system = scores[0], scores[number]
    assert system.p_value is not None
    score, baseline_score = float(system.score), float(baseline.score)
    # sacreBLEU counts resampled differences that are larger than the real one: none where systems are equal
    p_value = 1.0 if score == baseline_score else float(system.p_value)
    return MetricComparison(score, baseline_score, p_value, signature)
