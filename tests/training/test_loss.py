import math

import pytest
import torch
from torch.nn import functional

from regard.errors import ConfigError
from regard.training import loss as module
from regard.training.loss import (
    LossConfig,
    label_smoothing_floor,
    rdrop_cross_entropy,
    smoothed_cross_entropy,
)


def sample_inputs(
    tokens: int = 6, width: int = 5, vocab: int = 7
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    target = torch.randint(0, vocab, (tokens,))
    return (
        torch.randn(tokens, width, requires_grad=True),
        torch.randn(vocab, width, requires_grad=True),
        target,
    )


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.3])
def test_the_loss_is_the_cross_entropy_with_the_smoothed_distribution(smoothing):
    hidden, output, target = sample_inputs()
    expected = 0.0
    for row, true in zip((hidden @ output.t()).detach(), target, strict=True):
        if true == 0:
            continue
        smoothed = torch.full((7,), smoothing / 7)
        smoothed[true] += 1 - smoothing
        expected -= float((smoothed * row.log_softmax(-1)).sum())
    loss = smoothed_cross_entropy(hidden, output, target, smoothing, 0).detach()
    assert float(loss) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("rows", [1, 4, 6, 100])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_loss_and_gradients_equal_those_of_torch_for_any_chunk_size(monkeypatch, rows, smoothing):
    monkeypatch.setitem(module.SCORES_PER_CHUNK, "cpu", rows * 7)
    hidden, output, target = sample_inputs()
    loss = smoothed_cross_entropy(hidden, output, target, smoothing, 0)
    expected = functional.cross_entropy(
        hidden @ output.t(), target, ignore_index=0, label_smoothing=smoothing, reduction="sum"
    )
    torch.testing.assert_close(loss, expected)
    for one, other in zip(
        *(torch.autograd.grad(value / 3, (hidden, output)) for value in (loss, expected)), strict=True
    ):
        torch.testing.assert_close(one, other)


def test_the_loss_of_very_large_scores_equals_that_of_torch():
    hidden, output, target = sample_inputs()
    far = (hidden.detach() * 100, output.detach() * 100 + 1000)
    loss = smoothed_cross_entropy(*far, target, 0.1, 0)
    scores = far[0] @ far[1].t()
    assert scores.abs().max() > 1e5  # exp of which is infinite
    expected = functional.cross_entropy(scores, target, ignore_index=0, label_smoothing=0.1, reduction="sum")
    torch.testing.assert_close(loss, expected)


def test_the_fused_form_for_gpus_is_the_same():
    hidden, output, target = sample_inputs()
    scores = (hidden @ output.t()).detach()
    assert (target == 0).any()  # padding
    forms = (
        module._loss_and_grad_fused(scores, target, 0.1, 0),
        module._loss_and_grad_in_place(scores, target, 0.1, 0),
    )
    for one, other in zip(*forms, strict=True):
        torch.testing.assert_close(one, other)


def test_in_bf16_the_gradient_of_the_output_matrix_is_summed_in_fp32(monkeypatch):
    monkeypatch.setitem(module.SCORES_PER_CHUNK, "cpu", 7)
    hidden, output, target = sample_inputs(tokens=400)
    with torch.autocast("cpu", torch.bfloat16):
        loss = smoothed_cross_entropy(hidden, output, target, 0.1, 0)
    exact = smoothed_cross_entropy(hidden, output, target, 0.1, 0)
    assert float(loss.detach()) == pytest.approx(float(exact.detach()), rel=1e-2)
    for one, other in zip(
        *(torch.autograd.grad(value, (hidden, output)) for value in (loss, exact)), strict=True
    ):
        assert one.dtype == torch.float32
        assert (one - other).norm() < 1e-2 * other.norm()


def test_without_grad_the_loss_requires_no_gradient():
    hidden, output, target = sample_inputs()
    with torch.no_grad():
        assert not smoothed_cross_entropy(hidden, output, target, 0.1, 0).requires_grad


def test_label_smoothing_defaults_to_the_paper_and_is_checked():
    assert LossConfig().label_smoothing == 0.1
    with pytest.raises(ConfigError, match="loss.label_smoothing = 1.0 cannot work"):
        LossConfig(label_smoothing=1.0)


def test_padding_is_ignored():
    hidden, output, _ = sample_inputs()
    target = torch.tensor([3, 4, 0, 0, 2, 0])
    other = hidden.detach().clone()
    other[target == 0] += 100
    assert torch.equal(
        smoothed_cross_entropy(hidden, output, target, 0.1, 0),
        smoothed_cross_entropy(other, output, target, 0.1, 0),
    )
    loss = smoothed_cross_entropy(hidden, output, target, 0.1, 0)
    assert not torch.autograd.grad(loss, hidden)[0][target == 0].any()


def test_uniform_scores_cost_the_logarithm_of_the_vocabulary():
    loss = smoothed_cross_entropy(torch.zeros(1, 3), torch.zeros(8, 3), torch.tensor([5]), 0.1, 0)
    assert float(loss) == pytest.approx(math.log(8))


def test_a_negative_rdrop_weight_is_refused():
    with pytest.raises(ConfigError, match="loss.rdrop = -1.0 cannot work"):
        LossConfig(rdrop=-1.0)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.4])
def test_a_perfect_model_reaches_the_floor_and_an_overconfident_one_does_not(smoothing):
    smoothed = torch.full((50,), smoothing / 50)
    smoothed[7] += 1 - smoothing
    target, one = torch.tensor([7]), torch.ones(1, 1)
    perfect = smoothed_cross_entropy(
        one, smoothed.clamp(min=1e-30).log()[:, None], target, smoothing, pad_id=0
    )
    assert float(perfect) == pytest.approx(label_smoothing_floor(smoothing, 50), abs=1e-5)
    overconfident = torch.full((50, 1), -30.0).index_fill(0, target, 0.0)
    assert (
        float(smoothed_cross_entropy(one, overconfident, target, smoothing, pad_id=0)) > perfect
        or smoothing == 0
    )


def sample_two_passes(tokens=6, width=5, vocab=7, dtype=torch.float64):
    torch.manual_seed(0)
    target = torch.randint(0, vocab, (tokens,))
    target[2] = 0  # padding
    shapes = ((tokens, width), (tokens, width), (vocab, width))
    return *(torch.randn(shape, dtype=dtype, requires_grad=True) for shape in shapes), target


def rdrop_one_by_one(p, q, output, target, smoothing, alpha):
    """Half of equation 4 of Liang et al. (2021), one position and one token at a time."""
    total = 0.0
    for scores_p, scores_q, true in zip(p @ output.T, q @ output.T, target.tolist(), strict=True):
        if true == 0:
            continue
        pairs = list(zip(scores_p.softmax(0).tolist(), scores_q.softmax(0).tolist(), strict=True))
        for token, (a, b) in enumerate(pairs):
            smoothed = smoothing / len(pairs) + (1 - smoothing) * (token == true)
            total -= smoothed * (math.log(a) + math.log(b)) / 2
            total += alpha / 4 * (a * math.log(a / b) + b * math.log(b / a))
    return total


@pytest.mark.parametrize("rows", [1, 4, 100])
@pytest.mark.parametrize(("smoothing", "alpha"), [(0.0, 1.0), (0.1, 5.0)])
def test_rdrop_is_equation_4_of_its_article_for_any_chunk_size(monkeypatch, rows, smoothing, alpha):
    monkeypatch.setitem(module.SCORES_PER_CHUNK, "cpu", rows * 2 * 7)
    *tensors, target = sample_two_passes()
    loss = rdrop_cross_entropy(*tensors, target, smoothing, alpha, 0)
    assert loss.item() == pytest.approx(rdrop_one_by_one(*tensors, target, smoothing, alpha))


def test_the_gradient_of_rdrop_is_right(monkeypatch):
    monkeypatch.setitem(module.SCORES_PER_CHUNK, "cpu", 4 * 2 * 7)
    *tensors, target = sample_two_passes()
    assert torch.autograd.gradcheck(lambda *x: rdrop_cross_entropy(*x, target, 0.1, 3.0, 0), tensors)


@pytest.mark.parametrize("alpha", [0.0, 5.0])
def test_two_equal_passes_have_the_loss_of_one(alpha):
    p, _, output, target = sample_two_passes(dtype=torch.float32)
    torch.testing.assert_close(
        rdrop_cross_entropy(p, p, output, target, 0.1, alpha, 0),
        smoothed_cross_entropy(p, output, target, 0.1, 0),
    )


def test_padding_is_ignored_by_rdrop():
    p, q, output, target = sample_two_passes()
    other = p.detach().clone()
    other[target == 0] += 100
    loss = rdrop_cross_entropy(p, q, output, target, 0.1, 5.0, 0)
    assert torch.equal(loss, rdrop_cross_entropy(other, q, output, target, 0.1, 5.0, 0))
    for gradient in torch.autograd.grad(loss, (p, q)):
        assert not gradient[target == 0].any()


def test_in_bf16_the_gradients_of_rdrop_are_summed_in_fp32(monkeypatch):
    monkeypatch.setitem(module.SCORES_PER_CHUNK, "cpu", 2 * 7)
    *tensors, target = sample_two_passes(tokens=400, dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        loss = rdrop_cross_entropy(*tensors, target, 0.1, 1.0, 0)
    exact = rdrop_cross_entropy(*tensors, target, 0.1, 1.0, 0)
    assert loss.item() == pytest.approx(exact.item(), rel=1e-2)
    for one, other in zip(*(torch.autograd.grad(value, tensors) for value in (loss, exact)), strict=True):
        assert one.dtype == torch.float32
        assert (one - other).norm() < 2e-2 * other.norm()
