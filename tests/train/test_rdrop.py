import math

import pytest
import torch

from regard.train import loss as module
from regard.train.loss import rdrop_cross_entropy, smoothed_cross_entropy


def drawn(tokens=6, width=5, vocab=7, dtype=torch.float64):
    torch.manual_seed(0)
    target = torch.randint(0, vocab, (tokens,))
    target[2] = 0  # padding
    shapes = ((tokens, width), (tokens, width), (vocab, width))
    return *(torch.randn(shape, dtype=dtype, requires_grad=True) for shape in shapes), target


def agreeing_one_by_one(p, q, output, target, smoothing, alpha):
    """Liang et al., equation 4, halved: a token and a piece at a time."""
    total = 0.0
    for scores_p, scores_q, true in zip(p @ output.T, q @ output.T, target.tolist(), strict=True):
        if true == 0:
            continue
        pairs = list(zip(scores_p.softmax(0).tolist(), scores_q.softmax(0).tolist(), strict=True))
        for piece, (a, b) in enumerate(pairs):
            wanted = smoothing / len(pairs) + (1 - smoothing) * (piece == true)
            total -= wanted * (math.log(a) + math.log(b)) / 2
            total += alpha / 4 * (a * math.log(a / b) + b * math.log(b / a))
    return total


@pytest.mark.parametrize("rows", [1, 4, 100])
@pytest.mark.parametrize(("smoothing", "alpha"), [(0.0, 1.0), (0.1, 5.0)])
def test_the_loss_is_the_articles_however_the_tokens_are_cut(monkeypatch, rows, smoothing, alpha):
    monkeypatch.setitem(module.SCORES_PER_CHUNK, "cpu", rows * 2 * 7)
    *tensors, target = drawn()
    found = rdrop_cross_entropy(*tensors, target, smoothing, alpha, 0)
    assert found.item() == pytest.approx(agreeing_one_by_one(*tensors, target, smoothing, alpha))


def test_its_gradient_is_right(monkeypatch):
    monkeypatch.setitem(module.SCORES_PER_CHUNK, "cpu", 4 * 2 * 7)
    *tensors, target = drawn()
    assert torch.autograd.gradcheck(lambda *x: rdrop_cross_entropy(*x, target, 0.1, 3.0, 0), tensors)


@pytest.mark.parametrize("alpha", [0.0, 5.0])
def test_two_equal_passes_cost_what_one_does(alpha):
    p, _, output, target = drawn(dtype=torch.float32)
    torch.testing.assert_close(
        rdrop_cross_entropy(p, p, output, target, 0.1, alpha, 0),
        smoothed_cross_entropy(p, output, target, 0.1, 0),
    )


def test_padding_never_counts():
    p, q, output, target = drawn()
    other = p.detach().clone()
    other[target == 0] += 100
    loss = rdrop_cross_entropy(p, q, output, target, 0.1, 5.0, 0)
    assert torch.equal(loss, rdrop_cross_entropy(other, q, output, target, 0.1, 5.0, 0))
    for gradient in torch.autograd.grad(loss, (p, q)):
        assert not gradient[target == 0].any()


def test_in_bf16_the_gradient_of_the_matrix_is_summed_in_fp32(monkeypatch):
    monkeypatch.setitem(module.SCORES_PER_CHUNK, "cpu", 2 * 7)
    *tensors, target = drawn(tokens=400, dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        found = rdrop_cross_entropy(*tensors, target, 0.1, 1.0, 0)
    exact = rdrop_cross_entropy(*tensors, target, 0.1, 1.0, 0)
    assert found.item() == pytest.approx(exact.item(), rel=1e-2)
    for one, other in zip(*(torch.autograd.grad(loss, tensors) for loss in (found, exact)), strict=True):
        assert one.dtype == torch.float32
        assert (one - other).norm() < 2e-2 * other.norm()
