from dataclasses import replace

import pytest
import torch

from oracles import make_packed_sequences
from regard.errors import ConfigError
from regard.model.classifier import ClassifierConfig, TransformerClassifier
from regard.model.stacks import Encoder
from regard.model.transformer import Transformer

MICRO = ClassifierConfig(
    vocab_size=23, d_model=16, heads=4, d_ff=32, encoder_layers=2, dropout=0.0, max_length=40
)
CLASS_TOKEN, HIDDEN = 1, 0


def model(classes: int = 3, **changed) -> TransformerClassifier:
    torch.manual_seed(0)
    return TransformerClassifier(replace(MICRO, **changed), classes, HIDDEN).eval()


def read(classifier: TransformerClassifier, *texts: list[int]):
    tokens = torch.tensor([[token for text in texts for token in (CLASS_TOKEN, *text)]])
    return classifier.class_token_states(tokens, make_packed_sequences([len(text) + 1 for text in texts]))


@pytest.mark.parametrize("position", ["none", "paper", "tensor2tensor", "halves", "learned"])
def test_qian_kill_you_and_you_kill_qian_differ_only_by_position(position):
    """T1 T2 T3 against T3 T2 T1, read at the class token: without positions, the same."""
    qian, kill, you = 4, 5, 6
    one, other = read(model(position=position), [qian, kill, you], [you, kill, qian])
    if position == "none":
        torch.testing.assert_close(one, other, atol=1e-6, rtol=0)
    else:
        assert (one - other).abs().max() > 1e-3


def test_texts_end_to_end_are_read_as_each_alone():
    classifier, texts = model(), [[4, 5, 6], [7], [8, 9, 10, 11, 12]]
    together = read(classifier, *texts)
    for text, found in zip(texts, together, strict=True):
        torch.testing.assert_close(read(classifier, text)[0], found, atol=1e-6, rtol=1e-5)


def test_scores_are_a_linear_map_of_the_class_token():
    classifier = model()
    tokens, texts = torch.tensor([[1, 4, 5, 1, 6]]), make_packed_sequences([3, 2])
    weight, bias = classifier.output.weight, classifier.output.bias
    expected = read(classifier, [4, 5], [6]) @ weight.T + bias
    torch.testing.assert_close(classifier(tokens, texts), expected)


def test_the_class_token_sees_every_piece_and_is_learned():
    classifier = model()
    table = classifier.embedding.tokens.weight
    (gradient,) = torch.autograd.grad(read(classifier, [4, 5, 6]).square().sum(), table)
    touched = gradient.abs().sum(dim=1).nonzero()[:, 0].tolist()
    assert touched == [CLASS_TOKEN, 4, 5, 6]


def test_the_encoder_is_the_transformers_own(micro):
    assert type(model().encoder) is type(Transformer(micro).encoder) is Encoder


def test_hidden_pieces_are_hidden_in_training_alone_and_never_the_class_token():
    classifier = model(piece_dropout=0.5)
    tokens, texts = torch.tensor([[1, *range(3, 23), 1, *range(3, 23)]]), make_packed_sequences([21, 21])
    assert classifier._drop_tokens(tokens, texts).equal(tokens)
    seen = classifier.train()._drop_tokens(tokens, texts)
    assert seen[0, [0, 21]].tolist() == [CLASS_TOKEN, CLASS_TOKEN]
    hidden = seen == HIDDEN
    assert seen[~hidden].equal(tokens[~hidden])
    assert 8 <= int(hidden.sum()) <= 32


@pytest.mark.parametrize("share", [-0.1, 1.0])
def test_a_share_of_hidden_pieces_that_cannot_be_is_refused(share):
    with pytest.raises(ConfigError, match="model.piece_dropout = .* cannot work"):
        replace(MICRO, piece_dropout=share)
