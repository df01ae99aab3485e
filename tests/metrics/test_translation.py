import sys

import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.ter import TER

from regard.errors import RegardError
from regard.metrics.translation import (
    MAX_LENGTH_GROUPS,
    MIN_GROUP_SENTENCES,
    SentenceTer,
    bleu_by_length,
    corpus_bleu,
    corpus_chrf,
    corpus_ter_with,
    moses_languages,
    moses_tokenizer,
    score_translations,
    tokenised_bleu,
)

REFERENCES = ["Jane visite l'Afrique en septembre.", "Il fait beau aujourd'hui."]
HYPOTHESES = ["Jane visite l'afrique en octobre.", "Il fait beau."]
GERMAN_REFERENCES = ["Ein Mann „liest“ ein Buch.", "Zwei Hunde spielen im Schnee."]
GERMAN_HYPOTHESES = ["ein mann liest ein Buch .", "Zwei Hunde laufen im Schnee."]


def test_bleu_is_that_of_sacrebleu_with_its_signature():
    bleu = corpus_bleu(HYPOTHESES, REFERENCES)
    assert bleu.score == pytest.approx(sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES]).score)
    assert "tok:13a" in bleu.signature
    assert "case:mixed" in bleu.signature


def test_lower_case_bleu_has_another_score_and_signature():
    bleu = corpus_bleu(HYPOTHESES, REFERENCES, lowercase=True)
    expected = sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES], lowercase=True)
    assert bleu.score == pytest.approx(expected.score)
    assert bleu.score > corpus_bleu(HYPOTHESES, REFERENCES).score
    assert "case:lc" in bleu.signature


def test_short_translations_have_a_brevity_penalty():
    bleu = corpus_bleu(HYPOTHESES, REFERENCES)
    assert (bleu.hypothesis_length, bleu.reference_length) == (10, 11)
    assert bleu.brevity_penalty == pytest.approx(2.718281828 ** (1 - 11 / 10))


def test_a_perfect_translation_has_a_bleu_of_100():
    assert corpus_bleu(REFERENCES, REFERENCES).score == pytest.approx(100)


def test_case_counts_only_in_cased_bleu():
    lower = [text.lower() for text in REFERENCES]
    assert corpus_bleu(lower, REFERENCES).score < 99
    bleu = corpus_bleu(lower, REFERENCES, lowercase=True)
    assert bleu.score == pytest.approx(100)
    assert "case:lc" in bleu.signature


def test_chrf_is_that_of_sacrebleu_with_its_signature():
    chrf = corpus_chrf(HYPOTHESES, REFERENCES)
    assert chrf.score == pytest.approx(sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES]).score)
    assert "case:mixed" in chrf.signature
    assert "nc:6" in chrf.signature


def test_case_does_not_count_in_lower_case_chrf():
    chrf = corpus_chrf([REFERENCES[0].lower()], REFERENCES[:1], lowercase=True)
    assert chrf.score == pytest.approx(100)
    assert "case:lc" in chrf.signature


@pytest.fixture
def sacremoses():
    return pytest.importorskip("sacremoses")


@pytest.mark.usefixtures("sacremoses")
def test_moses_lower_cases_normalizes_tokenises_and_escapes_as_in_multi30k():
    assert moses_tokenizer("de")("Ein Mann, „groß“,  geht.") == "ein mann , &quot; groß &quot; , geht ."
    assert (
        moses_tokenizer("en")("Don't [stop] & go|on…")
        == "don &apos;t &#91; stop &#93; &amp; go &#124; on ..."
    )
    assert moses_tokenizer("fr")("L’homme à l'eau !") == "l&apos; homme à l&apos; eau !"
    assert moses_tokenizer("de")("") == ""


@pytest.mark.usefixtures("sacremoses")
def test_tokenised_bleu_is_bleu_of_moses_tokens_without_smoothing():
    bleu = tokenised_bleu(GERMAN_HYPOTHESES, [GERMAN_REFERENCES], "de")
    sides = (GERMAN_HYPOTHESES, GERMAN_REFERENCES)
    tokens = [[moses_tokenizer("de")(text) for text in side] for side in sides]
    expected = BLEU(tokenize="none", smooth_method="none", force=True).corpus_score(tokens[0], [tokens[1]])
    assert bleu.score == pytest.approx(expected.score)
    assert bleu.reference_length == sum(len(line.split()) for line in tokens[1])
    for part in ("case:lc", "tok:none", "smooth:none", "moses:de+norm+escape", "sacremoses:"):
        assert part in bleu.signature


@pytest.mark.usefixtures("sacremoses")
def test_spacing_and_case_do_not_count_in_tokenised_bleu():
    hypothesis = "ZWEI Hunde spielen im Schnee ."
    assert tokenised_bleu([hypothesis], [GERMAN_REFERENCES[1:]], "de").score == pytest.approx(100)


@pytest.mark.usefixtures("sacremoses")
def test_a_language_unknown_to_moses_is_refused_with_the_known_ones():
    with pytest.raises(RegardError, match=r"no rules for the language 'xx'; it has: .*de, .*fr"):
        moses_tokenizer("xx")


def test_without_sacremoses_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    with pytest.raises(RegardError, match=r'needs sacremoses: pip install "regard\[moses\]"'):
        tokenised_bleu(GERMAN_HYPOTHESES, [GERMAN_REFERENCES], "de")
    assert not moses_languages()


def test_all_scores_have_the_key_of_their_metric():
    assert score_translations(HYPOTHESES, [REFERENCES], None) == {
        "bleu": corpus_bleu(HYPOTHESES, REFERENCES),
        "bleu_lower": corpus_bleu(HYPOTHESES, REFERENCES, lowercase=True),
        "chrf": corpus_chrf(HYPOTHESES, REFERENCES),
        "chrf_lower": corpus_chrf(HYPOTHESES, REFERENCES, lowercase=True),
        "ter": corpus_ter_with(TER(), HYPOTHESES, [REFERENCES]),
    }
    assert list(score_translations(HYPOTHESES, [REFERENCES], None, ["ter"])) == ["ter"]


def test_ter_is_that_of_sacrebleu_with_its_signature():
    references = [REFERENCES, HYPOTHESES[::-1]]
    ter = corpus_ter_with(SentenceTer(), HYPOTHESES, references)
    expected = TER().corpus_score(HYPOTHESES, references)
    assert (ter.score, ter.edits, ter.reference_length) == (
        expected.score,
        expected.num_edits,
        expected.ref_length,
    )
    assert ter.score == pytest.approx(
        100 * 3 / 8.5
    )  # of 5 or 3 and 4 or 5 words: octobre., and beau. for two words
    assert "nrefs:2|case:lc|tok:tercom" in ter.signature


def test_ter_counts_the_edits_of_a_sentence_once():
    counted = []
    metric = SentenceTer(counted.append)
    first = corpus_ter_with(metric, HYPOTHESES, [REFERENCES])
    assert corpus_ter_with(metric, HYPOTHESES, [REFERENCES]) == first
    assert counted == [1, 1]
    corpus_ter_with(metric, HYPOTHESES, [HYPOTHESES])
    assert counted == [1, 1, 1, 1]


@pytest.mark.usefixtures("sacremoses")
def test_a_language_adds_tokenised_bleu():
    scores = score_translations(HYPOTHESES, [REFERENCES], "fr")
    assert scores["bleu_tokenised_lower"] == tokenised_bleu(HYPOTHESES, [REFERENCES], "fr")


@given(st.lists(st.integers(1, 60), min_size=1, max_size=150))
def test_every_sentence_is_in_one_length_group_and_no_group_is_empty(lengths):
    texts = ["a b c d e"] * len(lengths)
    groups = bleu_by_length(lengths, texts, texts)
    assert list(groups.pairs) == np.histogram(lengths, groups.bins)[0].tolist()
    assert sum(groups.pairs) == len(lengths)
    assert min(groups.pairs) >= 1
    assert len(groups.bins) == len(groups.bleu) + 1 <= MAX_LENGTH_GROUPS + 1
    assert groups.bins[0] == min(lengths)


def test_a_length_group_has_the_bleu_of_its_own_sentences():
    size = MIN_GROUP_SENTENCES
    lengths = [5] * size + [50] * size
    references = ["the cat sat on the mat"] * 2 * size
    hypotheses = references[:size] + ["the dog sat on the mat"] * size
    groups = bleu_by_length(lengths, hypotheses, references)
    assert groups.bins == (5, 50, 51)
    expected = [
        corpus_bleu(hypotheses[part], references[part]).score for part in (slice(0, size), slice(size, None))
    ]
    assert groups.bleu == pytest.approx(expected, abs=0.005)
    assert groups.bleu[0] > groups.bleu[1]
