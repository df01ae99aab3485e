import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import attend_head_by_head, attend_one_by_one
from regard.model.attention import KeyValues, MultiHeadAttention, attention, attention_weights
from regard.model.masks import CAUSAL_MASK, NO_MASK, AttentionMask, make_padding_mask


def heads(*rows):
    """Return one batch with one head."""
    return torch.tensor(rows, dtype=torch.float32)[None, None]


def random_mask(batch: int, queries: int, keys: int) -> AttentionMask:
    return AttentionMask(torch.rand(batch, queries, keys) > 0.4)


def test_a_worked_example_agrees_to_four_digits():
    x = torch.tensor([[1.0, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]])
    w_query = torch.tensor([[1.0, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 1]])
    w_key = torch.tensor([[0.0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 0]])
    w_value = torch.tensor([[0.0, 2, 0], [0, 3, 0], [1, 0, 3], [1, 1, 0]])
    query, key, value = (x @ w for w in (w_query, w_key, w_value))
    assert (query @ key.T).tolist() == [[2, 4, 4], [4, 16, 12], [4, 12, 10]]
    out = attention(query[None, None], key[None, None], value[None, None], NO_MASK, scale=1.0)
    expected = [[1.9366, 6.6831, 1.5951], [2.0000, 7.9640, 0.0540], [1.9997, 7.7599, 0.3584]]
    torch.testing.assert_close(out[0, 0], torch.tensor(expected), atol=5e-5, rtol=0)


@given(
    queries=st.integers(1, 6), keys=st.integers(1, 6), width=st.integers(1, 9), seed=st.integers(0, 10_000)
)
@settings(max_examples=40)
def test_attention_equals_a_loop_over_queries(queries, keys, width, seed):
    torch.manual_seed(seed)
    query, key, value = (torch.randn(1, 1, n, width) for n in (queries, keys, keys))
    mask = random_mask(1, queries, keys)
    scale = 1 / math.sqrt(width)
    expected = attend_one_by_one(query[0, 0], key[0, 0], value[0, 0], mask.keep[0], scale)
    torch.testing.assert_close(attention(query, key, value, mask)[0, 0], expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("mask", [NO_MASK, CAUSAL_MASK, "random"])
def test_weights_times_values_equal_the_fused_kernel(mask):
    torch.manual_seed(0)
    query, key, value = (torch.randn(2, 3, 7, 8) for _ in range(3))
    mask = random_mask(2, 7, 7) if mask == "random" else mask
    weights = attention_weights(query, key, mask)
    torch.testing.assert_close(weights @ value, attention(query, key, value, mask))


def test_weights_are_a_distribution_over_unmasked_keys():
    torch.manual_seed(0)
    mask = random_mask(2, 5, 6)
    weights = attention_weights(torch.randn(2, 3, 5, 8), torch.randn(2, 3, 6, 8), mask)
    has_keys = mask.keep.any(dim=-1)[:, None].expand(2, 3, 5)
    assert (weights >= 0).all()
    torch.testing.assert_close(weights.sum(dim=-1), has_keys.float())
    assert (weights[~mask.keep[:, None].expand_as(weights)] == 0).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])  # computed differently
def test_a_query_without_keys_gets_zeros_and_finite_gradients(dtype):
    torch.manual_seed(0)
    query, key, value = (torch.randn(2, 3, 4, 8, dtype=dtype, requires_grad=True) for _ in range(3))
    keep = torch.rand(2, 4, 4) > 0.5
    keep[0, 2] = False
    keep[1] = False
    out = attention(query, key, value, AttentionMask(keep))
    out.sum().backward()
    assert (out[0, :, 2] == 0).all()
    assert (out[1] == 0).all()
    assert all(x.grad.isfinite().all() for x in (query, key, value))
    assert attention_weights(query, key, AttentionMask(keep)).isfinite().all()


def test_a_query_attends_to_itself():
    torch.manual_seed(0)
    x = torch.randn(1, 1, 4, 8)
    for mask in (NO_MASK, CAUSAL_MASK):
        assert (attention_weights(x, x, mask)[0, 0].diagonal() > 0).all()


def test_the_default_scale_is_one_over_root_d_k():
    torch.manual_seed(0)
    query, key, value = (torch.randn(1, 1, 3, 64) for _ in range(3))
    by_default = attention(query, key, value, NO_MASK)
    torch.testing.assert_close(by_default, attention(query, key, value, NO_MASK, scale=1 / 8))
    unscaled = (query @ key.mT).softmax(-1) @ value
    torch.testing.assert_close(attention(query, key, value, NO_MASK, scale=1.0), unscaled)


def test_without_the_scale_wide_heads_saturate_the_softmax():
    torch.manual_seed(0)
    query, key = torch.randn(1, 1, 200, 512), torch.randn(1, 1, 20, 512)

    def entropy(scale):
        weights = attention_weights(query, key, NO_MASK, scale)
        return -(weights * weights.clamp_min(1e-30).log()).sum(-1).mean()

    assert entropy(1.0) < 0.2
    assert entropy(None) > 2.0


def test_without_the_scale_the_softmax_has_almost_no_gradient():
    torch.manual_seed(0)
    query, key = torch.randn(1, 1, 200, 512), torch.randn(1, 1, 20, 512)

    def slope(scale):
        weights = attention_weights(query, key, NO_MASK, scale)
        return (weights * (1 - weights)).sum(-1).median()

    assert slope(1.0) < 0.1 * slope(None)


def test_the_mask_may_be_added_before_or_after_scaling():
    torch.manual_seed(0)
    query, key, value = (torch.randn(1, 1, 5, 16) for _ in range(3))
    mask = torch.full((5, 5), -math.inf).triu(1)
    scores = query @ key.mT
    expected = attention(query, key, value, CAUSAL_MASK)
    torch.testing.assert_close(((scores + mask) / 4).softmax(-1) @ value, expected)
    torch.testing.assert_close((scores / 4 + mask).softmax(-1) @ value, expected)


@given(count=st.integers(1, 4), queries=st.integers(1, 5), keys=st.integers(1, 5), seed=st.integers(0, 9999))
@settings(max_examples=25)
def test_all_heads_at_once_equal_a_loop_over_heads(count, queries, keys, seed):
    torch.manual_seed(seed)
    attend = MultiHeadAttention(d_model=12, heads=count, d_k=5)
    x, other = torch.randn(1, queries, 12), torch.randn(1, keys, 12)
    mask = random_mask(1, queries, keys)
    expected = attend_head_by_head(attend, x[0], other[0], mask.keep[0])
    out = attend(x, attend.project_keys_values(other), mask)[0]
    torch.testing.assert_close(out, expected, atol=1e-5, rtol=1e-5)


def test_multi_head_attention_applies_its_weights_to_the_values():
    torch.manual_seed(0)
    attend = MultiHeadAttention(d_model=16, heads=4, d_k=4, scale=0.3)
    x, other = torch.randn(2, 5, 16), torch.randn(2, 7, 16)
    mask = make_padding_mask(torch.rand(2, 7) > 0.3)
    keys_values = attend.project_keys_values(other)
    joined = (attend.weights(x, keys_values, mask) @ keys_values.value).transpose(1, 2).flatten(2)
    torch.testing.assert_close(attend.output(joined), attend(x, keys_values, mask))


def test_appending_keys_and_values_step_by_step_equals_all_at_once():
    torch.manual_seed(0)
    attend = MultiHeadAttention(d_model=16, heads=4, d_k=4)
    x = torch.randn(2, 6, 16)
    at_once = attend(x, attend.project_keys_values(x), CAUSAL_MASK)
    cache = attend.project_keys_values(x[:, :1])
    steps = [attend(x[:, :1], cache, NO_MASK)]
    for i in range(1, 6):
        cache = cache.append(attend.project_keys_values(x[:, i : i + 1]))
        steps.append(attend(x[:, i : i + 1], cache, NO_MASK))
    torch.testing.assert_close(torch.cat(steps, dim=1), at_once)


def test_keys_and_values_have_h_heads_of_width_d_k():
    attend = MultiHeadAttention(d_model=512, heads=8, d_k=64)
    keys_values = attend.project_keys_values(torch.randn(2, 5, 512))
    assert keys_values.key.shape == keys_values.value.shape == (2, 8, 5, 64)


def test_keys_and_values_select_rows_in_order():
    keys_values = KeyValues(torch.arange(3.0).view(3, 1, 1, 1), -torch.arange(3.0).view(3, 1, 1, 1))
    chosen = keys_values.select(torch.tensor([2, 0]))
    assert chosen.key.flatten().tolist() == [2, 0]
    assert chosen.value.flatten().tolist() == [-2, 0]


def test_attention_dropout_acts_in_training_only():
    torch.manual_seed(0)
    attend = MultiHeadAttention(d_model=16, heads=4, d_k=4, dropout=0.5)
    x = torch.randn(1, 6, 16)
    keys_values = attend.project_keys_values(x)
    assert not torch.equal(attend(x, keys_values, NO_MASK), attend(x, keys_values, NO_MASK))
    attend.eval()
    assert torch.equal(attend(x, keys_values, NO_MASK), attend(x, keys_values, NO_MASK))
