import pytest

from regard.metrics.translation import all_scores, bleu, chrf, tokenised_bleu

REFERENCES = ["Jane visite l'Afrique en septembre.", "Il fait beau aujourd'hui."]
HYPOTHESES = ["Jane visite l'afrique en octobre.", "Il fait beau."]


def test_each_figure_stands_under_its_own_name():
    assert all_scores(HYPOTHESES, REFERENCES, None) == {
        "bleu": bleu(HYPOTHESES, REFERENCES),
        "bleu_lower": bleu(HYPOTHESES, REFERENCES, lowercase=True),
        "chrf": chrf(HYPOTHESES, REFERENCES),
        "chrf_lower": chrf(HYPOTHESES, REFERENCES, lowercase=True),
    }


def test_a_language_adds_tokenised_bleu():
    pytest.importorskip("sacremoses")
    found = all_scores(HYPOTHESES, REFERENCES, "fr")
    assert found["bleu_tokenised_lower"] == tokenised_bleu(HYPOTHESES, REFERENCES, "fr")
