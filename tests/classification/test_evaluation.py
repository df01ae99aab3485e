import pytest
import torch

from labelled_corpus import labelled_sentences
from regard.classification.evaluation import evaluate_classifier
from regard.classification.label_predictor import LabelPredictor
from regard.model.transformer_classifier import ClassifierConfig, TransformerClassifier
from regard.text.tokenizer import PAD, learn_word_tokenizer

LABELS = ("animal", "colour", "number")


@pytest.fixture
def classifier():
    tokenizer = learn_word_tokenizer([text for text, _ in labelled_sentences()], 400, lowercase=True)
    config = ClassifierConfig(
        d_model=16, heads=2, d_ff=16, encoder_layers=1, max_length=9, vocab_size=tokenizer.vocab_size
    )
    torch.manual_seed(0)
    return LabelPredictor(TransformerClassifier(config, len(LABELS), PAD).eval(), tokenizer, LABELS, 2.0)


def test_the_report_counts_every_text_once(classifier):
    texts = labelled_sentences()
    report = evaluate_classifier(classifier, texts)
    predictions = classifier.classify([text for text, _ in texts])
    correct = sum(
        prediction.label == label for prediction, (_, label) in zip(predictions, texts, strict=True)
    )
    assert int(report.confusion_matrix.sum()) == len(texts)
    assert report.scores.accuracy == correct / len(texts)
    assert report.to_dict()["labels"]["animal"]["texts"] == 25
