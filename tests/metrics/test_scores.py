import pytest

from regard.metrics.translation import corpus_bleu, corpus_chrf, score_translations, tokenised_bleu

REFERENCES = ["Jane visite l'Afrique en septembre.", "Il fait beau aujourd'hui."]
HYPOTHESES = ["Jane visite l'afrique en octobre.", "Il fait beau."]


def test_each_figure_stands_under_its_own_name():
    assert score_translations(HYPOTHESES, REFERENCES, None) == {
        "bleu": corpus_bleu(HYPOTHESES, REFERENCES),
        "bleu_lower": corpus_bleu(HYPOTHESES, REFERENCES, lowercase=True),
        "chrf": corpus_chrf(HYPOTHESES, REFERENCES),
        "chrf_lower": corpus_chrf(HYPOTHESES, REFERENCES, lowercase=True),
    }


def test_a_language_adds_tokenised_bleu():
    pytest.importorskip("sacremoses")
    found = score_translations(HYPOTHESES, REFERENCES, "fr")
    assert found["bleu_tokenised_lower"] == tokenised_bleu(HYPOTHESES, REFERENCES, "fr")
