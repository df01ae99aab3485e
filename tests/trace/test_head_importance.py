from dataclasses import replace

import pytest
import torch

from regard.model.transformer import Transformer
from regard.trace.head_importance import HeadImportance, measure_head_importance, with_head_importance
from regard.trace.intervene import apply_interventions
from regard.trace.interventions import AblateHead

SOURCE, TARGET = torch.tensor([[5, 6, 7, 2]]), torch.tensor([[8, 9, 2]])
TARGET_IN = torch.tensor([[1, 8, 9]])


@pytest.mark.parametrize("norm", ["post", "pre", "literal"])
@pytest.mark.parametrize("keep", [[True] * 4, [True, False, True, True]])
def test_importance_equals_the_change_from_disabling_the_head(micro, norm, keep):
    torch.manual_seed(0)
    model = Transformer(replace(micro, norm=norm, encoder_layers=1)).eval()
    keep = torch.tensor([keep])

    def log_probability(model):
        with torch.no_grad():
            logprobs = model(SOURCE, keep, TARGET_IN).log_softmax(dim=-1)
        return float(logprobs.gather(2, TARGET[:, :, None]).sum())

    full = log_probability(model)
    importances = list(measure_head_importance(model, SOURCE, keep, TARGET_IN, TARGET))
    heads = [(each.kind, each.layer, each.head) for each in importances]
    assert len(set(heads)) == len(heads) == 4 * (1 + 2 + 2)
    for kind, layer, head, importance in importances:
        without = log_probability(apply_interventions(model, [AblateHead(kind, layer, head)]))
        assert importance == pytest.approx(without - full, abs=1e-4)
    assert max(abs(each.importance) for each in importances) > 1e-2


def test_measured_importance_is_stored_with_its_head(tracer):
    trace = tracer.trace(tracer.build_request("the cat"))
    filled = with_head_importance(trace, [HeadImportance("cross", 2, 3, -1.5)])
    assert filled.heads["cross"][1][2].importance == -1.5
    assert filled.heads["cross"][1][1].importance is None
    assert trace.heads["cross"][1][2].importance is None
    complete = with_head_importance(trace, tracer.measure_heads(trace))
    assert all(
        head.importance is not None for kind in complete.heads.values() for layer in kind for head in layer
    )
