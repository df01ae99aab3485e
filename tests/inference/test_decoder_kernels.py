import pytest
import torch
from torch.nn import functional

pytestmark = pytest.mark.cuda


@pytest.mark.parametrize(
    ("sentences", "beam", "heads", "width", "position"),
    [(3, 2, 2, 16, 0), (2, 4, 3, 24, 37), (1, 1, 2, 64, 5)],
)
def test_self_attention_covers_the_row_itself_and_its_ancestors(sentences, beam, heads, width, position):
    from regard.inference.decoder_kernels import self_attention_step

    kv_cache = torch.randn(2, sentences, heads, 64 * beam, width, device="cuda")
    ancestors = torch.randint(0, beam, (sentences, beam, 64), device="cuda")
    projected = torch.randn(sentences * beam, 3 * heads * width, device="cuda")
    before = kv_cache.clone()
    out = self_attention_step(projected, kv_cache, ancestors, torch.tensor(position, device="cuda"), 0.3)
    query, key, value = projected.view(sentences, beam, 3, heads, width).unbind(2)
    for s in range(sentences):
        for b in range(beam):
            slots = torch.arange(position, device="cuda") * beam + ancestors[s, b, :position]
            keys = torch.cat([before[0, s][:, slots], key[s, b][:, None]], dim=1)
            values = torch.cat([before[1, s][:, slots], value[s, b][:, None]], dim=1)
            weights = (0.3 * torch.einsum("hd,htd->ht", query[s, b], keys)).softmax(dim=1)
            expected = torch.einsum("ht,htd->hd", weights, values).flatten()
            torch.testing.assert_close(out[s * beam + b], expected, rtol=1e-4, atol=1e-5)
    written = torch.stack([key, value]).transpose(2, 3)
    assert torch.equal(kv_cache[:, :, :, position * beam : (position + 1) * beam], written)
    kv_cache[:, :, :, position * beam : (position + 1) * beam] = before[
        :, :, :, position * beam : (position + 1) * beam
    ]
    assert torch.equal(kv_cache, before)


def test_cross_attention_ignores_source_padding():
    from regard.inference.decoder_kernels import cross_attention_step

    lengths = torch.tensor([1, 40, 33], device="cuda")
    source, query = torch.randn(2, 3, 2, 40, 24, device="cuda"), torch.randn(6, 48, device="cuda")
    mask = torch.arange(40, device="cuda") < lengths[:, None, None, None]
    projected = query.view(3, 2, 2, 24).transpose(1, 2)
    expected = functional.scaled_dot_product_attention(projected, *source, attn_mask=mask, scale=0.3)
    out = cross_attention_step(query, source, lengths, 0.3)
    torch.testing.assert_close(out, expected.transpose(1, 2).reshape(6, 48), rtol=1e-4, atol=1e-5)


def test_fused_addition_and_layer_norm_equal_separate_ones():
    from regard.inference.decoder_kernels import add_layer_norm

    x, y = torch.randn(5, 24, device="cuda"), torch.randn(5, 24, device="cuda")
    weight, bias = torch.randn(24, device="cuda"), torch.randn(24, device="cuda")
    expected = functional.layer_norm(x + y, [24], weight, bias, 1e-5)
    torch.testing.assert_close(add_layer_norm(x, y, weight, bias, 1e-5), expected, rtol=1e-5, atol=1e-5)
