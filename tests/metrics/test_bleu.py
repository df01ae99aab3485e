import pytest
import sacrebleu

from regard.metrics.translation import corpus_bleu

REFERENCES = ["Jane visite l'Afrique en septembre.", "Il fait beau aujourd'hui."]
HYPOTHESES = ["Jane visite l'afrique en octobre.", "Il fait beau."]


def test_it_is_sacrebleus_and_says_which():
    found = corpus_bleu(HYPOTHESES, REFERENCES)
    assert found.score == pytest.approx(sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES]).score)
    assert "tok:13a" in found.signature
    assert "case:mixed" in found.signature


def test_lower_case_is_another_figure_with_another_signature():
    found = corpus_bleu(HYPOTHESES, REFERENCES, lowercase=True)
    expected = sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES], lowercase=True)
    assert found.score == pytest.approx(expected.score)
    assert found.score > corpus_bleu(HYPOTHESES, REFERENCES).score
    assert "case:lc" in found.signature


def test_short_translations_are_seen_in_the_lengths():
    found = corpus_bleu(HYPOTHESES, REFERENCES)
    assert (found.hypothesis_length, found.reference_length) == (10, 11)
    assert found.brevity_penalty == pytest.approx(2.718281828 ** (1 - 11 / 10))


def test_a_perfect_translation_scores_a_hundred():
    assert corpus_bleu(REFERENCES, REFERENCES).score == pytest.approx(100)


def test_capitals_count_unless_they_are_asked_not_to():
    small = [text.lower() for text in REFERENCES]
    assert corpus_bleu(small, REFERENCES).score < 99
    found = corpus_bleu(small, REFERENCES, lowercase=True)
    assert found.score == pytest.approx(100)
    assert "case:lc" in found.signature
