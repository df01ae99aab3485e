"""The packed attention kernels against attention with an explicit mask, on a GPU."""

import pytest
import torch

from oracles import make_packed_sequences
from regard.model.attention import attention
from regard.model.masks import AttentionMask, make_packed_mask

pytestmark = pytest.mark.cuda

LENGTHS = [3, 40, 70, 1, 0, 5, 130, 32, 64]
OTHERS = [5, 20, 90, 33, 7, 0, 60, 32, 65]


@pytest.mark.parametrize("width", [16, 32, 64])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_the_kernels_equal_attention_and_its_gradients(width, causal, dtype):
    from regard.model.packed_attention import packed_attention

    torch.manual_seed(0)
    queries = make_packed_sequences(LENGTHS)
    keys = queries if causal else make_packed_sequences(OTHERS)
    wide = torch.randn(sum(LENGTHS), 5 * width, device="cuda", dtype=dtype)
    query = wide[:, : 2 * width].unflatten(1, (2, width)).requires_grad_()  # rows with a stride
    key, value = (
        torch.randn(keys.positions.shape[1], 2, width, device="cuda", dtype=dtype, requires_grad=True)
        for _ in "kv"
    )
    out = packed_attention(query, key, value, queries.starts.cuda(), keys.starts.cuda(), causal, 0.2)
    keep = make_packed_mask(queries, keys, causal).to_matrix(
        query.shape[0], key.shape[0], torch.device("cpu")
    )
    exact = [x.detach().float().cpu().requires_grad_() for x in (query, key, value)]
    expected = attention(*(x.transpose(0, 1)[None] for x in exact), AttentionMask(keep), 0.2)[0].transpose(
        0, 1
    )
    closeness = {"atol": 0.04, "rtol": 0.02} if dtype == torch.bfloat16 else {"atol": 0.01, "rtol": 0.01}
    torch.testing.assert_close(out.float().cpu(), expected, **closeness)
    grad = torch.randn_like(expected)
    gradients = torch.autograd.grad(out, (query, key, value), grad.to(out))
    for one, other in zip(gradients, torch.autograd.grad(expected, exact, grad), strict=True):
        torch.testing.assert_close(one.float().cpu(), other, **closeness)


def test_the_kernels_are_deterministic():
    from regard.model.packed_attention import packed_attention

    starts = make_packed_sequences(LENGTHS).starts.cuda()
    query, key, value, grad = (
        torch.randn(sum(LENGTHS), 4, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
        for _ in range(4)
    )
    runs = []
    for _ in range(5):
        out = packed_attention(query, key, value, starts, starts, True, 0.125)
        runs.append((out, *torch.autograd.grad(out, (query, key, value), grad)))
    for again in runs[1:]:
        assert all(torch.equal(one, other) for one, other in zip(runs[0], again, strict=True))
