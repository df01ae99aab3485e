"""The model under torch.compile and torch.export; run separately: the shape check cannot be traced."""

import shutil
from dataclasses import replace

import pytest
import torch
from torch.export import Dim

from regard.model.config import ModelConfig
from regard.model.transformer import Transformer

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # raised by the tracer
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

CONFIG = ModelConfig(
    vocab_size=23,
    d_model=16,
    heads=4,
    d_ff=32,
    encoder_layers=2,
    decoder_layers=2,
    dropout=0.0,
    max_length=40,
)


def make_model(**changes) -> Transformer:
    torch.manual_seed(0)
    return Transformer(replace(CONFIG, **changes)).eval()


def random_inputs(rows: int, source: int, target: int):
    keep = torch.arange(source)[None] < torch.randint(1, source + 1, (rows, 1))
    return torch.randint(3, 23, (rows, source)), keep, torch.randint(3, 23, (rows, target))


@pytest.mark.parametrize("norm", ["post", "pre", "literal"])
def test_the_forward_pass_compiles_to_one_graph_with_equal_logits(norm):
    plain = make_model(norm=norm)
    compiled = torch.compile(plain, fullgraph=True, dynamic=True, backend="aot_eager")
    for shape in ((2, 5, 6), (3, 7, 4)):
        arguments = random_inputs(*shape)
        torch.testing.assert_close(compiled(*arguments), plain(*arguments), atol=1e-5, rtol=1e-5)


def test_compiled_gradients_are_equal():
    plain, arguments = make_model().train(), random_inputs(2, 5, 6)
    plain(*arguments).square().mean().backward()
    expected = [parameter.grad.clone() for parameter in plain.parameters()]
    plain.zero_grad()
    torch.compile(plain, fullgraph=True, backend="aot_eager")(*arguments).square().mean().backward()
    for parameter, gradient in zip(plain.parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, atol=1e-5, rtol=1e-4)


@torch.no_grad()
def test_a_decoding_step_compiles_to_one_graph():
    plain = make_model()
    source, keep, target = random_inputs(2, 5, 3)
    step = torch.compile(plain.step, fullgraph=True, dynamic=True, backend="aot_eager")
    state = compiled_state = plain.start_decoding(source, keep)
    for i in range(3):
        expected, state = plain.step(state, target[:, i])
        logits, compiled_state = step(compiled_state, target[:, i])
        torch.testing.assert_close(logits, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.skipif(shutil.which("g++") is None, reason="inductor needs a C++ compiler")
def test_inductor_gives_equal_logits():
    plain, arguments = make_model(), random_inputs(2, 5, 6)
    with torch.no_grad():
        logits = torch.compile(plain, fullgraph=True)(*arguments)
        torch.testing.assert_close(logits, plain(*arguments), atol=1e-5, rtol=1e-5)


def test_an_exported_model_accepts_any_length():
    plain = make_model()
    rows, source, target = Dim("rows", max=64), Dim("source", max=40), Dim("target", max=40)
    exported = torch.export.export(
        plain,
        random_inputs(2, 5, 6),
        dynamic_shapes=({0: rows, 1: source}, {0: rows, 1: source}, {0: rows, 1: target}),
    ).module()
    for shape in ((2, 5, 6), (3, 11, 4), (7, 2, 9)):
        arguments = random_inputs(*shape)
        torch.testing.assert_close(exported(*arguments), plain(*arguments), atol=1e-5, rtol=1e-5)
