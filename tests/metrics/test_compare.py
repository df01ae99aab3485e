import pytest

from regard.metrics.compare import compare_translations
from regard.metrics.translation import corpus_bleu

REFERENCES = [f"the cat number {n} sleeps under the old table" for n in range(40)]
WORSE = [text.replace("sleeps", "sleep") for text in REFERENCES]
AS_GOOD = [text if n % 2 else WORSE[n] for n, text in enumerate(REFERENCES)]
MIRROR = [WORSE[n] if n % 2 else text for n, text in enumerate(REFERENCES)]


def test_a_clear_difference_is_more_than_luck():
    found = compare_translations(REFERENCES, WORSE, REFERENCES)
    assert list(found) == ["bleu", "chrf"]
    assert found["bleu"].score == pytest.approx(100)
    assert found["bleu"].baseline == pytest.approx(corpus_bleu(WORSE, REFERENCES).score)
    assert all(difference.p_value < 0.01 for difference in found.values())
    assert "bs:1000" in found["bleu"].signature


def test_two_systems_that_are_wrong_equally_often_do_not_differ():
    assert all(found.p_value > 0.2 for found in compare_translations(AS_GOOD, MIRROR, REFERENCES).values())
