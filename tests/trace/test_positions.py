import numpy as np
import pytest
import torch

from regard.trace.interventions import Positions
from regard.trace.positions import tables


def test_all_layouts_are_there_and_differ():
    found = tables(20, 512)
    assert set(found) == {"paper", "tensor2tensor", "halves"}
    assert {table.shape for table in found.values()} == {(20, 512)}
    assert np.allclose(found["paper"][:, 0::2], found["halves"][:, :256], atol=1e-6)
    assert not np.allclose(found["tensor2tensor"], found["halves"], atol=1e-3)


def test_how_much_is_left_is_told_point_by_point(tracer):
    trace = tracer.trace(tracer.request("the cat sees the dog", target="a dog"))
    found = tracer.survival(trace)
    for stack, left in found.items():
        assert left.points == trace.residual[stack].points
        assert left.cosine.shape == left.projection.shape == trace.residual[stack].stream.shape
        assert np.abs(left.cosine).max() <= 1 + 1e-5
    off = tracer.trace(tracer.request("the cat sees the dog", target="a dog", interventions=[Positions()]))
    without = tracer.survival(off)["encoder"]
    assert found["encoder"].projection[0] - without.projection[0] == pytest.approx(1.0, abs=1e-5)
    assert tracer.positions(7) == pytest.approx(tables(7, 16)["paper"])


def test_without_words_all_that_is_embedded_is_position(tracer, model):
    with torch.no_grad():
        model.source_embedding.tokens.weight.zero_()
    found = tracer.survival(tracer.trace(tracer.request("the cat sees", target="a")))["encoder"]
    assert found.cosine[0] == pytest.approx(1.0, abs=1e-5)
    assert found.projection[0] == pytest.approx(1.0, abs=1e-5)
