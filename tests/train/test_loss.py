import math

import pytest
import torch
from torch.nn import functional

from regard.errors import ConfigError
from regard.train import loss as module
from regard.train.loss import LossConfig, label_smoothing_floor, smoothed_cross_entropy


def drawn(tokens: int = 6, width: int = 5, vocab: int = 7) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    target = torch.randint(0, vocab, (tokens,))
    return (
        torch.randn(tokens, width, requires_grad=True),
        torch.randn(vocab, width, requires_grad=True),
        target,
    )


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.3])
def test_the_loss_is_the_cross_entropy_with_the_smoothed_distribution(smoothing):
    hidden, output, target = drawn()
    expected = 0.0
    for row, true in zip((hidden @ output.t()).detach(), target, strict=True):
        if true == 0:
            continue
        wanted = torch.full((7,), smoothing / 7)
        wanted[true] += 1 - smoothing
        expected -= float((wanted * row.log_softmax(-1)).sum())
    found = smoothed_cross_entropy(hidden, output, target, smoothing, 0).detach()
    assert float(found) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("rows", [1, 4, 6, 100])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_loss_and_gradients_are_torchs_however_the_tokens_are_cut(monkeypatch, rows, smoothing):
    monkeypatch.setitem(module.SCORES_PER_CHUNK, "cpu", rows * 7)
    hidden, output, target = drawn()
    found = smoothed_cross_entropy(hidden, output, target, smoothing, 0)
    expected = functional.cross_entropy(
        hidden @ output.t(), target, ignore_index=0, label_smoothing=smoothing, reduction="sum"
    )
    torch.testing.assert_close(found, expected)
    for one, other in zip(
        *(torch.autograd.grad(loss / 3, (hidden, output)) for loss in (found, expected)), strict=True
    ):
        torch.testing.assert_close(one, other)


def test_scores_far_from_zero_and_from_one_another_cost_what_torch_says():
    hidden, output, target = drawn()
    far = (hidden.detach() * 100, output.detach() * 100 + 1000)
    found = smoothed_cross_entropy(*far, target, 0.1, 0)
    scores = far[0] @ far[1].t()
    assert scores.abs().max() > 1e5  # exp of which is infinite
    expected = functional.cross_entropy(scores, target, ignore_index=0, label_smoothing=0.1, reduction="sum")
    torch.testing.assert_close(found, expected)


def test_the_fused_way_of_the_gpu_is_the_same():
    hidden, output, target = drawn()
    scores = (hidden @ output.t()).detach()
    assert (target == 0).any()  # padding
    ways = (
        module._loss_and_grad_fused(scores, target, 0.1, 0),
        module._loss_and_grad_in_place(scores, target, 0.1, 0),
    )
    for one, other in zip(*ways, strict=True):
        torch.testing.assert_close(one, other)


def test_in_bf16_the_gradient_of_the_matrix_is_summed_in_fp32(monkeypatch):
    monkeypatch.setitem(module.SCORES_PER_CHUNK, "cpu", 7)
    hidden, output, target = drawn(tokens=400)
    with torch.autocast("cpu", torch.bfloat16):
        found = smoothed_cross_entropy(hidden, output, target, 0.1, 0)
    exact = smoothed_cross_entropy(hidden, output, target, 0.1, 0)
    assert float(found.detach()) == pytest.approx(float(exact.detach()), rel=1e-2)
    for one, other in zip(
        *(torch.autograd.grad(loss, (hidden, output)) for loss in (found, exact)), strict=True
    ):
        assert one.dtype == torch.float32
        assert (one - other).norm() < 1e-2 * other.norm()


def test_nothing_is_computed_for_gradients_that_nobody_wants():
    hidden, output, target = drawn()
    with torch.no_grad():
        assert not smoothed_cross_entropy(hidden, output, target, 0.1, 0).requires_grad


def test_smoothing_is_the_papers_by_default_and_refused_where_it_cannot_work():
    assert LossConfig().label_smoothing == 0.1
    with pytest.raises(ConfigError, match="loss.label_smoothing = 1.0 cannot work"):
        LossConfig(label_smoothing=1.0)


def test_padding_never_counts():
    hidden, output, _ = drawn()
    target = torch.tensor([3, 4, 0, 0, 2, 0])
    other = hidden.detach().clone()
    other[target == 0] += 100
    assert torch.equal(
        smoothed_cross_entropy(hidden, output, target, 0.1, 0),
        smoothed_cross_entropy(other, output, target, 0.1, 0),
    )
    loss = smoothed_cross_entropy(hidden, output, target, 0.1, 0)
    assert not torch.autograd.grad(loss, hidden)[0][target == 0].any()


def test_a_uniform_guess_costs_the_logarithm_of_the_vocabulary():
    loss = smoothed_cross_entropy(torch.zeros(1, 3), torch.zeros(8, 3), torch.tensor([5]), 0.1, 0)
    assert float(loss) == pytest.approx(math.log(8))


def test_a_weight_of_rdrop_below_zero_is_refused():
    with pytest.raises(ConfigError, match="loss.rdrop = -1.0 cannot work"):
        LossConfig(rdrop=-1.0)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.4])
def test_a_perfect_model_reaches_the_floor_and_a_surer_one_does_not(smoothing):
    wanted = torch.full((50,), smoothing / 50)
    wanted[7] += 1 - smoothing
    target, one = torch.tensor([7]), torch.ones(1, 1)
    perfect = smoothed_cross_entropy(one, wanted.clamp(min=1e-30).log()[:, None], target, smoothing, pad_id=0)
    assert float(perfect) == pytest.approx(label_smoothing_floor(smoothing, 50), abs=1e-5)
    surer = torch.full((50, 1), -30.0).index_fill(0, target, 0.0)
    assert float(smoothed_cross_entropy(one, surer, target, smoothing, pad_id=0)) > perfect or smoothing == 0
