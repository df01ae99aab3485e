import pytest
import torch

from regard.model.dropout import Dropout


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.9])
def test_about_a_share_p_is_dropped_and_the_rest_scaled_so_that_the_mean_stays(p):
    torch.manual_seed(0)
    out = Dropout(p)(torch.ones(1000, 1001))
    dropped = (out == 0).float().mean()
    assert float(dropped) == pytest.approx(p, abs=3 * (p * (1 - p) / 1e6) ** 0.5 + 1 / 65536)
    kept = out[out != 0]
    assert torch.equal(kept, kept[:1].expand_as(kept))
    assert float(kept[0]) == pytest.approx(1 / (1 - p), rel=2e-4)


def test_neighbours_are_dropped_independently_of_one_another():
    """Four numbers share one throw; none may tell of another."""
    torch.manual_seed(0)
    gone = (Dropout(0.5)(torch.ones(250_000, 4)) == 0).double()
    assert torch.corrcoef(gone.T).sub(torch.eye(4)).abs().max() < 0.01
    assert (gone.mean(dim=0) - 0.5).abs().max() < 0.005


def test_the_same_seed_drops_the_same():
    module, x = Dropout(0.3), torch.randn(7, 5)
    runs = []
    for _ in range(2):
        torch.manual_seed(5)
        runs.append(module(x))
    assert torch.equal(*runs)


def test_gradients_flow_through_what_stays():
    torch.manual_seed(0)
    x = torch.randn(50, requires_grad=True)
    out = Dropout(0.4)(x)
    (grad,) = torch.autograd.grad(out.sum(), x)
    assert torch.equal(grad == 0, out == 0)


def test_one_byte_a_number_is_kept_for_the_way_back():
    kept = []
    x = torch.randn(50, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda saved: kept.append(saved.nbytes), lambda _: None):
        Dropout(0.4)(x)
    assert sum(kept) == 50


def test_nothing_is_dropped_outside_training_or_with_p_zero():
    x = torch.randn(10)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0)(x) is x
