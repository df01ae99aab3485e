import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from regard.metrics.compare import compare_translations
from regard.metrics.translation import corpus_bleu

REFERENCES = [f"the cat number {n} sleeps under the old table" for n in range(40)]
WORSE = [text.replace("sleeps", "sleep") for text in REFERENCES]
AS_GOOD = [text if n % 2 else WORSE[n] for n, text in enumerate(REFERENCES)]
MIRROR = [WORSE[n] if n % 2 else text for n, text in enumerate(REFERENCES)]


def test_a_clear_difference_is_significant():
    comparisons = compare_translations(REFERENCES, WORSE, [REFERENCES])
    assert list(comparisons) == ["bleu", "chrf", "ter"]
    assert comparisons["bleu"].score == pytest.approx(100)
    assert comparisons["bleu"].baseline == pytest.approx(corpus_bleu(WORSE, REFERENCES).score)
    assert all(comparison.p_value < 0.01 for comparison in comparisons.values())
    assert "bs:1000" in comparisons["bleu"].signature


def test_systems_with_equally_many_errors_do_not_differ_significantly():
    comparisons = compare_translations(AS_GOOD, MIRROR, [REFERENCES])
    assert all(comparison.p_value > 0.2 for comparison in comparisons.values())


def test_a_system_does_not_differ_significantly_from_itself():
    comparisons = compare_translations(WORSE, WORSE, [REFERENCES])
    assert [comparison.p_value for comparison in comparisons.values()] == [1.0, 1.0, 1.0]


def test_scores_of_several_references_are_those_of_sacrebleu():
    references = [REFERENCES, AS_GOOD[::-1]]
    comparisons = compare_translations(AS_GOOD, WORSE, references)
    for name, metric in (("bleu", BLEU()), ("chrf", CHRF()), ("ter", TER())):
        assert comparisons[name].score == metric.corpus_score(AS_GOOD, references).score
        assert comparisons[name].baseline == metric.corpus_score(WORSE, references).score
        assert "nrefs:2" in comparisons[name].signature
