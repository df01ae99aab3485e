from dataclasses import replace

import pytest
import torch

from numeric_tokens import NumericTokenRenderer
from regard.model.transformer import Transformer
from regard.trace.capture import capture_forward
from regard.trace.summary import (
    logit_lens,
    prediction_steps,
    residual_norms,
    stack_attention_weights,
    value_norms,
)

SOURCE = torch.tensor([[5, 6, 7, 9, 2]])
TARGET_IN = torch.tensor([[1, 8, 9, 3]])
TARGET = [8, 9, 3, 2]
KEEP = torch.ones(1, 5, dtype=torch.bool)
HIDDEN = torch.tensor([[True, True, False, True, True]])


def build_model(micro, norm, position="paper"):
    torch.manual_seed(0)
    model = Transformer(replace(micro, norm=norm, position=position)).eval()
    with torch.no_grad():
        for parameter in model.parameters():  # biases and norms that do something
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


@pytest.fixture(params=["post", "pre", "literal"])
def model(micro, request):
    return build_model(micro, request.param)


@pytest.mark.parametrize("keep", [KEEP, HIDDEN])
def test_captured_logits_are_those_of_the_model(model, keep):
    captured = capture_forward(model, SOURCE, keep, TARGET_IN)
    with torch.no_grad():
        assert torch.allclose(captured.logits, model(SOURCE, keep, TARGET_IN)[0], atol=1e-5)


def test_weights_values_and_projection_reproduce_each_attention_output(model):
    captured = capture_forward(model, SOURCE, HIDDEN, TARGET_IN)
    for kind, stack in (("encoder", "encoder"), ("decoder", "decoder"), ("cross", "decoder")):
        suffix = "cross" if kind == "cross" else "self"
        sublayers = [each for each in getattr(captured, stack) if each.name.endswith(suffix)]
        for layer, each, capture in zip(
            getattr(model, stack).layers, sublayers, captured.attention(kind), strict=True
        ):
            project = (layer.cross_attention if kind == "cross" else layer.self_attention).output
            joined = (capture.weights @ capture.value).transpose(0, 1).flatten(1)
            assert torch.allclose(project(joined), each.output, atol=1e-5)


def test_rows_sum_to_one_and_masked_weights_are_exactly_zero(model):
    weights = stack_attention_weights(capture_forward(model, SOURCE, HIDDEN, TARGET_IN))
    shapes = {kind: array.shape for kind, array in weights.items()}
    assert shapes == {"encoder": (2, 4, 5, 5), "decoder": (2, 4, 4, 4), "cross": (2, 4, 4, 5)}
    for array in weights.values():
        assert array.sum(axis=-1) == pytest.approx(1.0, abs=1e-5)
    assert (weights["encoder"][..., 2] == 0).all()
    assert (weights["cross"][..., 2] == 0).all()
    future = torch.ones(4, 4).triu(1).bool().numpy()
    assert (weights["decoder"][..., future] == 0).all()
    assert (weights["decoder"][..., ~future] > 0).all()


def test_value_norms_are_those_of_a_head_with_all_weight_on_one_key(model):
    norms = value_norms(capture_forward(model, SOURCE, KEEP, TARGET_IN))
    captured = capture_forward(model, SOURCE, KEEP, TARGET_IN)
    output = model.decoder.layers[1].cross_attention.output
    for head in range(4):
        joined = torch.zeros(5, 16)
        joined[:, 4 * head : 4 * head + 4] = captured.attention("cross")[1].value[head]
        expected = (joined @ output.weight.T).norm(dim=1)
        assert norms["cross"][1, head] == pytest.approx(expected.detach().numpy(), rel=1e-5)


def test_the_residual_stream_is_the_sum_of_its_updates(micro):
    for norm in ("pre", "literal"):  # post-norm normalises the sum
        captured = capture_forward(build_model(micro, norm), SOURCE, KEEP, TARGET_IN)
        total = captured.target_embedded + sum(each.update for each in captured.decoder)
        assert torch.allclose(total, captured.decoder[-1].stream, atol=1e-4)
    norms = residual_norms(captured)
    assert norms["encoder"].points == ("embed", "1.self", "1.ffn", "2.self", "2.ffn")
    assert norms["decoder"].points[:4] == ("embed", "1.self", "1.cross", "1.ffn")
    assert norms["decoder"].stream[-1] == pytest.approx(captured.decoder[-1].stream.norm(dim=1).numpy())
    assert norms["decoder"].update[2] == pytest.approx(captured.decoder[1].update.norm(dim=1).numpy())


def test_the_logit_lens_of_the_last_layer_is_the_prediction(model):
    captured = capture_forward(model, SOURCE, KEEP, TARGET_IN)
    steps, logprobs = prediction_steps(captured.logits, TARGET, 3, NumericTokenRenderer())
    layers = logit_lens(model, captured, TARGET, NumericTokenRenderer())
    assert len(layers) == 2
    for step, guess, log in zip(steps, layers[-1], logprobs, strict=True):
        assert guess.id == step.top[0].id
        assert guess.prob == pytest.approx(torch.tensor(step.top[0].logprob).exp().item(), rel=1e-4)
        assert guess.prob_final == pytest.approx(torch.tensor(log).exp().item(), rel=1e-4)


def test_steps_rank_the_target_token_in_the_distribution(model):
    captured = capture_forward(model, SOURCE, KEEP, TARGET_IN)
    steps, logprobs = prediction_steps(
        captured.logits, TARGET, 30, NumericTokenRenderer()
    )  # more than the vocabulary
    for t, (step, token, log) in enumerate(zip(steps, TARGET, logprobs, strict=True)):
        assert step.t == t
        assert len(step.top) == 23
        assert step.top[step.rank - 1].id == token
        assert step.top[step.rank - 1].logprob == log
        probabilities = torch.tensor([each.logprob for each in step.top]).exp()
        assert float(probabilities.sum()) == pytest.approx(1.0, abs=1e-5)
        assert step.entropy == pytest.approx(float(-(probabilities * probabilities.log()).sum()), rel=1e-4)


def test_ties_are_ranked_by_token_id():
    steps, _ = prediction_steps(torch.zeros(2, 4), [0, 3], 4, NumericTokenRenderer())
    assert [step.rank for step in steps] == [1, 4]
    assert [each.id for each in steps[0].top] == [0, 1, 2, 3]
