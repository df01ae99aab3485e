from dataclasses import replace

import pytest
import torch

from regard.model.transformer import Transformer
from regard.trace.capture import capture_forward
from regard.trace.intervene import apply_interventions, build_source_keep
from regard.trace.interventions import AblateHead, MaskSource, RemovePositions, SkipSublayer

SOURCE, TARGET_IN = torch.tensor([[5, 6, 7, 2]]), torch.tensor([[1, 8, 9]])
KEEP = torch.ones(1, 4, dtype=torch.bool)


@pytest.fixture(params=["post", "pre", "literal"])
def model(micro, request):
    torch.manual_seed(0)
    model = Transformer(replace(micro, norm=request.param, dropout=0.5))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model.train()


def logits(model):
    with torch.no_grad():
        return model(SOURCE, KEEP, TARGET_IN)


def test_the_copy_shares_unchanged_parameters_and_the_model_keeps_its_values(model):
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    other = apply_interventions(
        model, [AblateHead("cross", 2, 3), AblateHead("encoder", 1, 2, "uniform"), RemovePositions()]
    )
    assert model.training
    assert not other.training
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    own = {name for name, tensor in other.named_parameters() if tensor is not model.get_parameter(name)}
    assert own == {
        "decoder.layers.1.cross_attention.output.weight",
        "decoder.layers.1.cross_attention.output.bias",
        "encoder.layers.0.self_attention.query.weight",
        "encoder.layers.0.self_attention.query.bias",
    }
    assert other.output.weight is model.target_embedding.tokens.weight
    assert model.source_embedding.positions.table.abs().sum() > 0


def test_without_interventions_the_logits_are_those_of_the_model(model):
    assert torch.equal(logits(apply_interventions(model, [])), logits(model.eval()))


def test_a_model_that_nothing_changes_is_not_copied(model):
    model.eval()
    assert apply_interventions(model, []) is model
    assert apply_interventions(model, [MaskSource((1,))]) is model
    assert apply_interventions(model, [MaskSource((1,)), RemovePositions()]) is not model


def test_a_model_in_training_is_copied_and_stays_in_training(model):
    assert not apply_interventions(model, []).training
    assert model.training


def test_a_disabled_head_removes_its_contribution_alone(model):
    original = capture_forward(apply_interventions(model, []), SOURCE, KEEP, TARGET_IN)
    without = capture_forward(
        apply_interventions(model, [AblateHead("cross", 1, 3)]), SOURCE, KEEP, TARGET_IN
    )
    attention = original.attention("cross")[0]
    part = model.decoder.layers[0].cross_attention.output.weight[:, 8:12]
    expected = original.decoder[1].output - attention.weights[2] @ attention.value[2] @ part.T
    assert torch.allclose(without.decoder[1].output, expected, atol=1e-5)
    assert torch.equal(without.decoder[0].output, original.decoder[0].output)
    assert without.attention("cross")[0].value_norm[2].abs().max() == 0


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_a_uniform_head_attends_equally_to_all_unmasked_keys(model, kind):
    captured = capture_forward(
        apply_interventions(model, [AblateHead(kind, 2, 4, "uniform")]), SOURCE, KEEP, TARGET_IN
    )
    uniform = captured.attention(kind)[1].weights[3]
    if kind == "decoder":
        assert torch.allclose(uniform, torch.ones(3, 3).tril() / torch.arange(1, 4)[:, None])
    else:
        assert torch.allclose(uniform, torch.full_like(uniform, 1 / 4))


@pytest.mark.parametrize(
    ("sublayer", "index"),
    [
        (SkipSublayer("encoder", 1, "self"), 0),
        (SkipSublayer("encoder", 2, "ffn"), 3),
        (SkipSublayer("decoder", 1, "self"), 0),
        (SkipSublayer("decoder", 2, "cross"), 4),
        (SkipSublayer("decoder", 2, "ffn"), 5),
    ],
)
def test_a_skipped_sublayer_adds_nothing(model, sublayer, index):
    captured = capture_forward(apply_interventions(model, [sublayer]), SOURCE, KEEP, TARGET_IN)
    skipped = getattr(captured, sublayer.stack)[index]
    assert skipped.name == f"{sublayer.layer}.{sublayer.sublayer}"
    assert skipped.update.abs().max() == 0


@pytest.mark.parametrize("position", ["paper", "learned"])
def test_without_positions_the_order_of_the_source_does_not_matter(micro, position):
    torch.manual_seed(0)
    model = apply_interventions(Transformer(replace(micro, position=position)), [RemovePositions()])
    one = model(SOURCE, KEEP, TARGET_IN)
    assert torch.allclose(one, model(SOURCE[:, [2, 0, 3, 1]], KEEP, TARGET_IN), atol=1e-5)


def test_hidden_source_tokens_do_not_change_the_logits(model):
    keep = build_source_keep([MaskSource((1,)), MaskSource((3,))], 4)
    assert keep.tolist() == [[True, False, True, False]]
    other = apply_interventions(model, [])
    one = capture_forward(other, SOURCE, keep, TARGET_IN).logits
    assert torch.equal(one, capture_forward(other, torch.tensor([[5, 20, 7, 21]]), keep, TARGET_IN).logits)
