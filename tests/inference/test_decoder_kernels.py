import pytest
import torch
from torch.nn import functional

pytestmark = pytest.mark.cuda


@pytest.mark.parametrize(
    ("sentences", "beam", "heads", "width", "at"), [(3, 2, 2, 16, 0), (2, 4, 3, 24, 37), (1, 1, 2, 64, 5)]
)
def test_a_row_sees_itself_and_what_its_ancestors_wrote(sentences, beam, heads, width, at):
    from regard.inference.decoder_kernels import self_attention_step

    past = torch.randn(2, sentences, heads, 64 * beam, width, device="cuda")
    ancestors = torch.randint(0, beam, (sentences, beam, 64), device="cuda")
    asked = torch.randn(sentences * beam, 3 * heads * width, device="cuda")
    before = past.clone()
    found = self_attention_step(asked, past, ancestors, torch.tensor(at, device="cuda"), 0.3)
    query, key, value = asked.view(sentences, beam, 3, heads, width).unbind(2)
    for s in range(sentences):
        for b in range(beam):
            slots = torch.arange(at, device="cuda") * beam + ancestors[s, b, :at]
            keys = torch.cat([before[0, s][:, slots], key[s, b][:, None]], dim=1)
            values = torch.cat([before[1, s][:, slots], value[s, b][:, None]], dim=1)
            weights = (0.3 * torch.einsum("hd,htd->ht", query[s, b], keys)).softmax(dim=1)
            expected = torch.einsum("ht,htd->hd", weights, values).flatten()
            torch.testing.assert_close(found[s * beam + b], expected, rtol=1e-4, atol=1e-5)
    written = torch.stack([key, value]).transpose(2, 3)
    assert torch.equal(past[:, :, :, at * beam : (at + 1) * beam], written)
    past[:, :, :, at * beam : (at + 1) * beam] = before[:, :, :, at * beam : (at + 1) * beam]
    assert torch.equal(past, before)


def test_of_the_source_a_row_sees_what_its_sentence_has():
    from regard.inference.decoder_kernels import cross_attention_step

    lengths = torch.tensor([1, 40, 33], device="cuda")
    source, query = torch.randn(2, 3, 2, 40, 24, device="cuda"), torch.randn(6, 48, device="cuda")
    mask = torch.arange(40, device="cuda") < lengths[:, None, None, None]
    asked = query.view(3, 2, 2, 24).transpose(1, 2)
    expected = functional.scaled_dot_product_attention(asked, *source, attn_mask=mask, scale=0.3)
    found = cross_attention_step(query, source, lengths, 0.3)
    torch.testing.assert_close(found, expected.transpose(1, 2).reshape(6, 48), rtol=1e-4, atol=1e-5)


def test_sum_and_norm_in_one():
    from regard.inference.decoder_kernels import add_layer_norm

    x, y = torch.randn(5, 24, device="cuda"), torch.randn(5, 24, device="cuda")
    weight, bias = torch.randn(24, device="cuda"), torch.randn(24, device="cuda")
    expected = functional.layer_norm(x + y, [24], weight, bias, 1e-5)
    torch.testing.assert_close(add_layer_norm(x, y, weight, bias, 1e-5), expected, rtol=1e-5, atol=1e-5)
