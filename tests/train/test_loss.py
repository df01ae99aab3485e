import math

import pytest
import torch

from regard.errors import ConfigError
from regard.train.loss import LossConfig, smoothed_cross_entropy


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.3])
def test_the_loss_is_the_cross_entropy_with_the_smoothed_distribution(smoothing):
    torch.manual_seed(0)
    logits, target = torch.randn(2, 3, 7), torch.tensor([[3, 4, 0], [6, 0, 0]])
    expected = 0.0
    for row in range(2):
        for place in range(3):
            if target[row, place] == 0:
                continue
            log_p = logits[row, place].log_softmax(-1)
            wanted = torch.full((7,), smoothing / 7)
            wanted[target[row, place]] += 1 - smoothing
            expected -= float((wanted * log_p).sum())
    found = smoothed_cross_entropy(logits, target, smoothing, pad=0)
    assert float(found) == pytest.approx(expected, rel=1e-5)


def test_smoothing_is_the_papers_by_default_and_refused_where_it_cannot_work():
    assert LossConfig().label_smoothing == 0.1
    with pytest.raises(ConfigError, match="loss.label_smoothing = 1.0 cannot work"):
        LossConfig(label_smoothing=1.0)


def test_padding_never_counts():
    logits = torch.randn(1, 4, 7)
    target = torch.tensor([[3, 4, 0, 0]])
    other = logits.clone()
    other[:, 2:] += 100 * torch.randn(1, 2, 7)
    assert torch.equal(
        smoothed_cross_entropy(logits, target, 0.1, 0), smoothed_cross_entropy(other, target, 0.1, 0)
    )


def test_a_uniform_guess_costs_the_logarithm_of_the_vocabulary():
    loss = smoothed_cross_entropy(torch.zeros(1, 1, 8), torch.tensor([[5]]), 0.1, 0)
    assert float(loss) == pytest.approx(math.log(8))
