import pytest
from sacrebleu.metrics.bleu import BLEU

from regard.errors import RegardError
from regard.metrics.translation import moses_languages, moses_tokenizer, tokenised_bleu

REFERENCES = ["Ein Mann „liest“ ein Buch.", "Zwei Hunde spielen im Schnee."]
HYPOTHESES = ["ein mann liest ein Buch .", "Zwei Hunde laufen im Schnee."]


@pytest.fixture
def sacremoses():
    return pytest.importorskip("sacremoses")


@pytest.mark.usefixtures("sacremoses")
def test_text_is_lower_cased_normalised_tokenised_and_escaped_as_in_multi30k():
    assert moses_tokenizer("de")("Ein Mann, „groß“,  geht.") == "ein mann , &quot; groß &quot; , geht ."
    assert (
        moses_tokenizer("en")("Don't [stop] & go|on…")
        == "don &apos;t &#91; stop &#93; &amp; go &#124; on ..."
    )
    assert moses_tokenizer("fr")("L’homme à l'eau !") == "l&apos; homme à l&apos; eau !"
    assert moses_tokenizer("de")("") == ""


@pytest.mark.usefixtures("sacremoses")
def test_the_figure_is_bleu_of_those_tokens_without_smoothing():
    found = tokenised_bleu(HYPOTHESES, REFERENCES, "de")
    tokens = [[moses_tokenizer("de")(text) for text in side] for side in (HYPOTHESES, REFERENCES)]
    expected = BLEU(tokenize="none", smooth_method="none", force=True).corpus_score(tokens[0], [tokens[1]])
    assert found.score == pytest.approx(expected.score)
    assert found.reference_length == sum(len(line.split()) for line in tokens[1])
    for part in ("case:lc", "tok:none", "smooth:none", "moses:de+norm+escape", "sacremoses:"):
        assert part in found.signature


@pytest.mark.usefixtures("sacremoses")
def test_spacing_and_case_do_not_count():
    assert tokenised_bleu(["ZWEI Hunde spielen im Schnee ."], REFERENCES[1:], "de").score == pytest.approx(
        100
    )


@pytest.mark.usefixtures("sacremoses")
def test_a_language_that_moses_does_not_know_is_refused_with_those_it_does():
    with pytest.raises(RegardError, match=r"no rules for the language 'xx'; it has: .*de, .*fr"):
        moses_tokenizer("xx")


def test_without_sacremoses_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sacremoses", None)
    with pytest.raises(RegardError, match=r'needs sacremoses: pip install "regard\[moses\]"'):
        tokenised_bleu(HYPOTHESES, REFERENCES, "de")
    assert not moses_languages()
