import pytest
import torch

from regard.model.dropout import Dropout


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.9])
def test_a_share_p_is_dropped_and_the_rest_scaled_by_its_inverse(p):
    torch.manual_seed(0)
    out = Dropout(p)(torch.ones(1000, 1001))
    dropped = (out == 0).float().mean()
    assert float(dropped) == pytest.approx(p, abs=3 * (p * (1 - p) / 1e6) ** 0.5 + 1 / 65536)
    remaining = out[out != 0]
    assert torch.equal(remaining, remaining[:1].expand_as(remaining))
    assert float(remaining[0]) == pytest.approx(1 / (1 - p), rel=2e-4)


def test_neighbouring_numbers_are_dropped_independently():
    """Four numbers share 64 random bits."""
    torch.manual_seed(0)
    dropped = (Dropout(0.5)(torch.ones(250_000, 4)) == 0).double()
    assert torch.corrcoef(dropped.T).sub(torch.eye(4)).abs().max() < 0.01
    assert (dropped.mean(dim=0) - 0.5).abs().max() < 0.005


def test_the_same_seed_gives_the_same_mask():
    module, x = Dropout(0.3), torch.randn(7, 5)
    runs = []
    for _ in range(2):
        torch.manual_seed(5)
        runs.append(module(x))
    assert torch.equal(*runs)


def test_gradients_are_zero_exactly_where_numbers_are_dropped():
    torch.manual_seed(0)
    x = torch.randn(50, requires_grad=True)
    out = Dropout(0.4)(x)
    (grad,) = torch.autograd.grad(out.sum(), x)
    assert torch.equal(grad == 0, out == 0)


def test_the_backward_pass_keeps_one_byte_per_number():
    saved_bytes = []
    x = torch.randn(50, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(
        lambda tensor: saved_bytes.append(tensor.nbytes), lambda _: None
    ):
        Dropout(0.4)(x)
    assert sum(saved_bytes) == 50


def test_evaluation_and_p_zero_are_the_identity():
    x = torch.randn(10)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0)(x) is x
