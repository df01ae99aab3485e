import pytest
import torch

from labelled_corpus import labelled_sentences
from regard.classification.label_predictor import LabelPredictor
from regard.errors import DataError
from regard.model.transformer_classifier import ClassifierConfig, TransformerClassifier
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
    network = TransformerClassifier(config, len(LABELS), PAD).eval()
    return LabelPredictor(network, tokenizer, LABELS, temperature=2.0)


def test_probabilities_sum_to_one_and_the_most_probable_is_the_label(classifier):
    for prediction in classifier.classify(TEXTS):
        assert sum(prediction.probabilities.values()) == pytest.approx(1)
        assert prediction.probability == max(prediction.probabilities.values())
        assert prediction.probability == prediction.probabilities[prediction.label]
        assert next(iter(prediction.probabilities)) == prediction.label


def test_a_prediction_does_not_depend_on_the_batch(classifier):
    batched = classifier.classify([*TEXTS, "one"])
    for text, in_batch in zip(TEXTS[:10], batched, strict=False):
        [alone] = classifier.classify([text])
        assert alone.label == in_batch.label
        assert alone.probabilities == pytest.approx(in_batch.probabilities, abs=1e-6)


def test_predictions_are_in_the_order_of_the_texts(classifier):
    reversed_twice = classifier.classify(TEXTS[::-1])[::-1]
    labels = [prediction.label for prediction in classifier.classify(TEXTS)]
    assert [prediction.label for prediction in reversed_twice] == labels


def test_unusual_texts_are_classified(classifier):
    predictions = classifier.classify(["", "  ", "\u2028", "你好 🙂", "\x00", "cat " * 100])
    assert [prediction.truncated for prediction in predictions] == [False] * 5 + [True]


def test_a_higher_temperature_lowers_the_probability_and_keeps_the_label(classifier):
    hotter = LabelPredictor(classifier.network, classifier.tokenizer, LABELS, temperature=5.0)
    for one, other in zip(classifier.classify(TEXTS), hotter.classify(TEXTS), strict=True):
        assert (one.label, one.probability >= other.probability) == (other.label, True)


def test_a_single_string_and_a_lone_surrogate_are_refused(classifier):
    with pytest.raises(TypeError, match="give \\[text\\]"):
        classifier.classify("a cat")
    with pytest.raises(DataError, match="text 2 "):
        classifier.classify(["a", "\ud800"])
