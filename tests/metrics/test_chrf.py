import pytest
import sacrebleu

from regard.metrics.translation import corpus_chrf

REFERENCES = ["Jane visite l'Afrique en septembre.", "Il fait beau aujourd'hui."]
HYPOTHESES = ["Jane visite l'afrique en septembre.", "Il fait beau."]


def test_it_is_sacrebleus_and_says_which():
    found = corpus_chrf(HYPOTHESES, REFERENCES)
    assert found.score == pytest.approx(sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES]).score)
    assert "case:mixed" in found.signature
    assert "nc:6" in found.signature


def test_lower_case_forgives_capitals_and_says_so():
    found = corpus_chrf(HYPOTHESES[:1], REFERENCES[:1], lowercase=True)
    assert found.score == pytest.approx(100)
    assert "case:lc" in found.signature
