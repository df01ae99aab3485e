"""The model on a GPU equals the model on a CPU, with every fused kernel."""

from contextlib import nullcontext
from dataclasses import replace

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from regard.inference.eager import EagerEngine
from regard.model.attention import attention, attention_weights
from regard.model.config import ModelConfig
from regard.model.masks import CAUSAL_MASK, AttentionMask
from regard.model.transformer import Transformer

pytestmark = pytest.mark.cuda

CONFIG = ModelConfig(
    vocab_size=97,
    d_model=64,
    heads=4,
    d_ff=128,
    encoder_layers=3,
    decoder_layers=3,
    dropout=0.0,
    max_length=40,
)
TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 0.15}


def inputs(rows: int = 4, source: int = 9, target: int = 7):
    keep = torch.arange(source)[None] < torch.randint(1, source + 1, (rows, 1))
    return torch.randint(3, 97, (rows, source)), keep, torch.randint(3, 97, (rows, target))


def to_gpu(arguments):
    return [argument.cuda() for argument in arguments]


@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_gpu_equals_the_cpu(precision, norm):
    torch.manual_seed(0)
    model, arguments = Transformer(replace(CONFIG, norm=norm)).eval(), inputs()
    with torch.no_grad():
        exact = model(*arguments)
        logits = model.to("cuda", precision)(*to_gpu(arguments)).float().cpu()
    torch.testing.assert_close(logits, exact, atol=TOLERANCE[precision], rtol=TOLERANCE[precision])


@pytest.mark.parametrize("precision", TOLERANCE)
def test_incremental_decoding_equals_one_forward_pass_on_the_gpu(precision):
    torch.manual_seed(0)
    model = Transformer(CONFIG).eval().to("cuda", precision)
    source, keep, target = to_gpu(inputs())
    with torch.no_grad():
        at_once = model(source, keep, target)
        state = model.start_decoding(source, keep)
        for i in range(target.shape[1]):
            logits, state = model.step(state, target[:, i])
            torch.testing.assert_close(
                logits.float(), at_once[:, i].float(), atol=TOLERANCE[precision], rtol=TOLERANCE[precision]
            )


@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize("kernel", [None, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH])
@pytest.mark.parametrize("length", [1, 5, 64, 300])
def test_a_query_without_keys_gets_zeros_and_finite_gradients_on_the_gpu(precision, kernel, length):
    torch.manual_seed(0)
    query, key, value = (
        torch.randn(2, 4, length, 64, device="cuda", dtype=precision, requires_grad=True) for _ in range(3)
    )
    keep = torch.rand(2, length, length, device="cuda") > 0.5
    keep[0, 0] = False
    keep[1] = False
    with sdpa_kernel(kernel) if kernel else nullcontext():
        out = attention(query, key, value, AttentionMask(keep))
        out.float().sum().backward()
    assert (out[0, :, 0] == 0).all()
    assert (out[1] == 0).all()
    assert all(x.grad.isfinite().all() for x in (query, key, value))


def test_weights_times_values_equal_the_fused_kernel_on_the_gpu():
    torch.manual_seed(0)
    query, key, value = (torch.randn(2, 4, 33, 64, device="cuda") for _ in range(3))
    for mask in (CAUSAL_MASK, AttentionMask(torch.rand(2, 33, 33, device="cuda") > 0.5)):
        weights = attention_weights(query, key, mask)
        torch.testing.assert_close(weights @ value, attention(query, key, value, mask), atol=1e-4, rtol=1e-4)


def test_beam_search_gives_the_same_result_on_the_gpu():
    torch.manual_seed(0)
    model = Transformer(CONFIG).eval()
    sources = [torch.randint(3, 97, (length,)).tolist() for length in (1, 4, 7, 8)]
    expected = [best.tokens for best, *_ in EagerEngine(model).translate(sources)]
    assert [best.tokens for best, *_ in EagerEngine(model.cuda()).translate(sources)] == expected


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # raised by the compiler
def test_the_compiled_model_learns_on_the_gpu_in_bf16():
    torch.manual_seed(0)
    model = Transformer(CONFIG).cuda()
    compiled = torch.compile(model, fullgraph=True)
    adam = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    source, keep, target = to_gpu(inputs(rows=64))
    losses = []
    for _ in range(30):
        with torch.autocast("cuda", torch.bfloat16):
            logits = compiled(source, keep, target)
        loss = torch.nn.functional.cross_entropy(
            logits[:, :-1].flatten(0, 1).float(), target[:, 1:].flatten()
        )
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
