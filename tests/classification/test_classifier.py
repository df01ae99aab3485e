import pytest
import torch

from labelled_corpus import labelled_sentences
from regard.classification.classifier import Classifier
from regard.classification.evaluation import evaluate_classifier
from regard.errors import DataError
from regard.model.classifier import ClassifierConfig
from regard.model.classifier import TransformerClassifier as Network
from regard.text.tokenizer import PAD, learn_word_tokenizer

LABELS = ("animal", "colour", "number")
TEXTS = [text for text, _ in labelled_sentences()]


@pytest.fixture
def classifier():
    tokenizer = learn_word_tokenizer(TEXTS, 400, lowercase=True)
    config = ClassifierConfig(
        d_model=16, heads=2, d_ff=16, encoder_layers=2, max_length=9, vocab_size=tokenizer.vocab_size
    )
    torch.manual_seed(0)
    return Classifier(Network(config, len(LABELS), PAD).eval(), tokenizer, LABELS, temperature=2.0)


def test_probabilities_sum_to_one_and_the_likeliest_is_the_label(classifier):
    for answer in classifier.classify(TEXTS):
        assert sum(answer.probabilities.values()) == pytest.approx(1)
        assert answer.probability == max(answer.probabilities.values()) == answer.probabilities[answer.label]
        assert next(iter(answer.probabilities)) == answer.label


def test_neither_batch_nor_neighbours_change_an_answer(classifier):
    together = classifier.classify([*TEXTS, "one"])
    for text, answer in zip(TEXTS[:10], together, strict=False):
        [alone] = classifier.classify([text])
        assert alone.label == answer.label
        assert alone.probabilities == pytest.approx(answer.probabilities, abs=1e-6)


def test_order_follows_the_texts(classifier):
    backwards = classifier.classify(TEXTS[::-1])[::-1]
    labels = [answer.label for answer in classifier.classify(TEXTS)]
    assert [answer.label for answer in backwards] == labels


def test_whatever_is_in_a_text_it_has_an_answer(classifier):
    found = classifier.classify(["", "  ", "\u2028", "你好 🙂", "\x00", "cat " * 100])
    assert [answer.truncated for answer in found] == [False] * 5 + [True]


def test_a_higher_temperature_is_less_sure_and_changes_no_label(classifier):
    hotter = Classifier(classifier.network, classifier.tokenizer, LABELS, temperature=5.0)
    for one, other in zip(classifier.classify(TEXTS), hotter.classify(TEXTS), strict=True):
        assert (one.label, one.probability >= other.probability) == (other.label, True)


def test_one_text_must_be_a_list_and_half_a_character_is_refused(classifier):
    with pytest.raises(TypeError, match="give \\[text\\]"):
        classifier.classify("a cat")
    with pytest.raises(DataError, match="text 2 has half a character"):
        classifier.classify(["a", "\ud800"])


def test_the_scores_of_a_test_set_count_every_text_once(classifier):
    scores = evaluate_classifier(classifier, labelled_sentences())
    right = sum(
        answer.label == label
        for answer, (_, label) in zip(classifier.classify(TEXTS), labelled_sentences(), strict=True)
    )
    assert int(scores.confusion_matrix.sum()) == len(TEXTS)
    assert scores.accuracy.accuracy == right / len(TEXTS)
    assert scores.to_dict()["labels"]["animal"]["texts"] == 25
