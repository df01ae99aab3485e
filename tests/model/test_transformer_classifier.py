from dataclasses import replace

import pytest
import torch

from oracles import make_packed_sequences
from regard.errors import ConfigError
from regard.model.stacks import Encoder
from regard.model.transformer import Transformer
from regard.model.transformer_classifier import ClassifierConfig, TransformerClassifier

MICRO = ClassifierConfig(
    vocab_size=23, d_model=16, heads=4, d_ff=32, encoder_layers=2, dropout=0.0, max_length=40
)
CLASS_TOKEN, MASK_TOKEN = 1, 0


def make_classifier(classes: int = 3, **changed) -> TransformerClassifier:
    torch.manual_seed(0)
    return TransformerClassifier(replace(MICRO, **changed), classes, MASK_TOKEN).eval()


def class_token_states(classifier: TransformerClassifier, *texts: list[int]):
    tokens = torch.tensor([[token for text in texts for token in (CLASS_TOKEN, *text)]])
    return classifier.class_token_states(tokens, make_packed_sequences([len(text) + 1 for text in texts]))


@pytest.mark.parametrize("position", ["none", "paper", "tensor2tensor", "halves", "learned"])
def test_word_order_matters_only_with_positions(position):
    """The class token's state before T1 T2 T3 and T3 T2 T1 is equal without positions."""
    one, other = class_token_states(make_classifier(position=position), [4, 5, 6], [6, 5, 4])
    if position == "none":
        torch.testing.assert_close(one, other, atol=1e-6, rtol=0)
    else:
        assert (one - other).abs().max() > 1e-3


def test_packed_texts_equal_separate_texts():
    classifier, texts = make_classifier(), [[4, 5, 6], [7], [8, 9, 10, 11, 12]]
    states = class_token_states(classifier, *texts)
    for text, packed in zip(texts, states, strict=True):
        torch.testing.assert_close(class_token_states(classifier, text)[0], packed, atol=1e-6, rtol=1e-5)


def test_logits_are_a_linear_map_of_the_class_token():
    classifier = make_classifier()
    tokens, texts = torch.tensor([[1, 4, 5, 1, 6]]), make_packed_sequences([3, 2])
    weight, bias = classifier.output.weight, classifier.output.bias
    expected = class_token_states(classifier, [4, 5], [6]) @ weight.T + bias
    torch.testing.assert_close(classifier(tokens, texts), expected)


def test_the_class_token_attends_to_every_token_and_is_learned():
    classifier = make_classifier()
    table = classifier.embedding.tokens.weight
    (gradient,) = torch.autograd.grad(class_token_states(classifier, [4, 5, 6]).square().sum(), table)
    touched = gradient.abs().sum(dim=1).nonzero()[:, 0].tolist()
    assert touched == [CLASS_TOKEN, 4, 5, 6]


def test_the_encoder_is_that_of_the_transformer(micro):
    assert type(make_classifier().encoder) is type(Transformer(micro).encoder) is Encoder


def test_tokens_are_masked_in_training_only_and_never_the_class_token():
    classifier = make_classifier(piece_dropout=0.5)
    tokens, texts = torch.tensor([[1, *range(3, 23), 1, *range(3, 23)]]), make_packed_sequences([21, 21])
    assert classifier._drop_tokens(tokens, texts).equal(tokens)
    dropped = classifier.train()._drop_tokens(tokens, texts)
    assert dropped[0, [0, 21]].tolist() == [CLASS_TOKEN, CLASS_TOKEN]
    masked = dropped == MASK_TOKEN
    assert dropped[~masked].equal(tokens[~masked])
    assert 8 <= int(masked.sum()) <= 32


@pytest.mark.parametrize("share", [-0.1, 1.0])
def test_an_invalid_piece_dropout_is_refused(share):
    with pytest.raises(ConfigError, match="model.piece_dropout = .* cannot work"):
        replace(MICRO, piece_dropout=share)
