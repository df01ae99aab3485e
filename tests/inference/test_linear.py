import pytest
import torch
from torch import nn

from regard.inference.linear import Int8Linear, fuse_linears


def layers(*outputs, bias=True):
    torch.manual_seed(0)
    return [nn.Linear(24, size, bias=bias) for size in outputs]


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-6), ("bf16", 2e-2), ("int8", 3e-2)])
def test_a_fused_product_equals_separate_products(precision, tolerance, bias, relu):
    parts, x = layers(7, 16, bias=bias), torch.randn(5, 24)
    expected = torch.cat([part(x) for part in parts], dim=1)
    with torch.inference_mode():
        linear = fuse_linears(parts, precision)
        out = linear(x.bfloat16() if precision == "bf16" else x, relu).float()
    expected = expected.relu() if relu else expected
    torch.testing.assert_close(out, expected, rtol=tolerance, atol=tolerance)


def test_an_int8_row_depends_on_no_other_row():
    (part,), x = layers(33), torch.randn(40, 24) * torch.logspace(-3, 3, 40)[:, None]
    with torch.inference_mode():
        linear = Int8Linear(part.weight.detach(), part.bias.detach())
        batch = linear(x)
        assert all(torch.equal(linear(x[i : i + 1])[0], batch[i]) for i in range(len(x)))


def test_zero_rows_and_columns_stay_zero_in_int8():
    weight = torch.randn(6, 24)
    weight[2] = 0.0
    with torch.inference_mode():
        out = Int8Linear(weight, None)(torch.stack([torch.zeros(24), torch.randn(24)]))
    assert not out[0].any()
    assert out[1, 2] == 0.0
    assert out[1].isfinite().all()
