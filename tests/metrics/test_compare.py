import pytest

from regard.metrics.compare import compare_translations
from regard.metrics.translation import corpus_bleu

REFERENCES = [f"the cat number {n} sleeps under the old table" for n in range(40)]
WORSE = [text.replace("sleeps", "sleep") for text in REFERENCES]
AS_GOOD = [text if n % 2 else WORSE[n] for n, text in enumerate(REFERENCES)]
MIRROR = [WORSE[n] if n % 2 else text for n, text in enumerate(REFERENCES)]


def test_a_clear_difference_is_significant():
    comparisons = compare_translations(REFERENCES, WORSE, [REFERENCES])
    assert list(comparisons) == ["bleu", "chrf"]
    assert comparisons["bleu"].score == pytest.approx(100)
    assert comparisons["bleu"].baseline == pytest.approx(corpus_bleu(WORSE, REFERENCES).score)
    assert all(comparison.p_value < 0.01 for comparison in comparisons.values())
    assert "bs:1000" in comparisons["bleu"].signature


def test_systems_with_equally_many_errors_do_not_differ_significantly():
    comparisons = compare_translations(AS_GOOD, MIRROR, [REFERENCES])
    assert all(comparison.p_value > 0.2 for comparison in comparisons.values())
