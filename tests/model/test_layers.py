from dataclasses import replace

import pytest
import torch

from regard.model.layers import DecoderLayer, EncoderLayer, FeedForward, KVCache, ResidualConnection
from regard.model.masks import CAUSAL_MASK, NO_MASK


def test_feed_forward_is_equation_2(micro):
    torch.manual_seed(0)
    layer = FeedForward(micro)
    x = torch.randn(2, 3, micro.d_model)
    inner = (x @ layer.inner.weight.T + layer.inner.bias).clamp_min(0)
    torch.testing.assert_close(layer(x), inner @ layer.outer.weight.T + layer.outer.bias)


def test_feed_forward_may_use_gelu(micro):
    layer = FeedForward(replace(micro, activation="gelu"))
    x = torch.randn(1, 2, micro.d_model)
    expected = layer.outer(torch.nn.functional.gelu(layer.inner(x)))
    torch.testing.assert_close(layer(x), expected)


def test_feed_forward_treats_each_position_separately(micro):
    layer = FeedForward(micro)
    x = torch.randn(1, 5, micro.d_model)
    changed = x.clone()
    changed[0, 2] += 1
    difference = (layer(changed) - layer(x)).abs().sum(dim=-1)[0]
    assert difference[2] > 0
    torch.testing.assert_close(difference[[0, 1, 3, 4]], torch.zeros(4), atol=1e-6, rtol=0)


def test_under_autocast_query_key_and_value_share_one_copy_of_their_input(micro):
    torch.manual_seed(0)
    x, saved_tensors = torch.randn(2, 3, micro.d_model), []
    hooks = torch.autograd.graph.saved_tensors_hooks(
        lambda tensor: saved_tensors.append(tensor) or tensor, lambda _: None
    )
    with torch.autocast("cpu", torch.bfloat16), hooks:
        EncoderLayer(micro).self_attention.project_keys_values(x)
        EncoderLayer(micro)(x, NO_MASK)
    copies = {
        each.data_ptr() for each in saved_tensors if torch.equal(each.flatten(), x.bfloat16().flatten())
    }
    assert len(copies) == 2  # one per call


def test_layer_norm_uses_population_variance_and_epsilon_inside_the_root(micro):
    norm = ResidualConnection(micro).norm
    torch.nn.init.normal_(norm.weight)
    torch.nn.init.normal_(norm.bias)
    x = torch.randn(2, 3, micro.d_model)
    mean = x.mean(-1, keepdim=True)
    variance = ((x - mean) ** 2).mean(-1, keepdim=True)
    expected = norm.weight * (x - mean) / (variance + micro.norm_epsilon).sqrt() + norm.bias
    torch.testing.assert_close(norm(x), expected)


@pytest.mark.parametrize("placement", ["post", "pre", "literal"])
def test_the_norm_is_placed_as_configured(micro, placement):
    residual = ResidualConnection(replace(micro, norm=placement))
    x = torch.randn(2, 3, micro.d_model)

    def double(y):
        return 2 * y

    expected = {
        "post": residual.norm(x + 2 * x),
        "pre": x + 2 * residual.norm(x),
        "literal": x + residual.norm(2 * x),
    }
    torch.testing.assert_close(residual(x, double), expected[placement])


def test_residual_dropout_applies_to_the_sublayer_only(micro):
    torch.manual_seed(0)
    residual = ResidualConnection(replace(micro, norm="pre", dropout=0.5))
    x = torch.randn(4, 5, micro.d_model)
    dropped = residual(x, lambda _: torch.full_like(x, 1e6)) - x
    assert {round(value) for value in dropped.flatten().tolist()} == {0, 2_000_000}


def test_an_encoder_layer_is_self_attention_then_feed_forward(micro):
    torch.manual_seed(0)
    layer = EncoderLayer(micro)
    x = torch.randn(2, 4, micro.d_model)
    attend = layer.self_attention
    x1 = layer.around_attention.norm(x + attend(x, attend.project_keys_values(x), NO_MASK))
    x2 = layer.around_feed_forward.norm(x1 + layer.feed_forward(x1))
    torch.testing.assert_close(layer(x, NO_MASK), x2)


def test_a_decoder_layer_is_self_attention_cross_attention_feed_forward(micro):
    torch.manual_seed(0)
    layer = DecoderLayer(micro)
    x, encoded = torch.randn(2, 4, micro.d_model), torch.randn(2, 3, micro.d_model)
    source = layer.cross_attention.project_keys_values(encoded)
    x1 = layer.around_self_attention.norm(
        x + layer.self_attention(x, layer.self_attention.project_keys_values(x), CAUSAL_MASK)
    )
    x2 = layer.around_cross_attention.norm(x1 + layer.cross_attention(x1, source, NO_MASK))
    x3 = layer.around_feed_forward.norm(x2 + layer.feed_forward(x2))
    out, cache = layer(x, KVCache(source, None), CAUSAL_MASK, NO_MASK)
    torch.testing.assert_close(out, x3)
    assert cache.source is source
    torch.testing.assert_close(cache.target.key, layer.self_attention.project_keys_values(x).key)


def zero_weights(*layers):
    for layer in layers:
        torch.nn.init.zeros_(layer.weight)
        torch.nn.init.zeros_(layer.bias)


def test_every_encoder_sublayer_has_a_residual_connection(micro):
    """With sublayers that return zero, a pre-norm layer is the identity, and so is its gradient."""
    layer = EncoderLayer(replace(micro, norm="pre"))
    zero_weights(layer.self_attention.output, layer.feed_forward.outer)
    x = torch.randn(1, 3, micro.d_model, requires_grad=True)
    out = layer(x, NO_MASK)
    out.sum().backward()
    assert torch.equal(out, x)
    assert torch.equal(x.grad, torch.ones_like(x))


def test_every_decoder_sublayer_has_a_residual_connection(micro):
    layer = DecoderLayer(replace(micro, norm="pre"))
    zero_weights(layer.self_attention.output, layer.cross_attention.output, layer.feed_forward.outer)
    x = torch.randn(1, 3, micro.d_model, requires_grad=True)
    cache = KVCache(layer.cross_attention.project_keys_values(torch.randn(1, 2, micro.d_model)), None)
    out, _ = layer(x, cache, CAUSAL_MASK, NO_MASK)
    out.sum().backward()
    assert torch.equal(out, x)
    assert torch.equal(x.grad, torch.ones_like(x))
