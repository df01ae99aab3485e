import json
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest
from rich.console import Console

from regard.checkpoint import find_model
from regard.errors import DataError
from regard.explorer.figure import draw, matrix
from regard.tasks.forecasting import train_forecasting
from regard.tasks.series_tracing import SeriesTracer
from regard.trace.request import LengthError
from regard.trace.trace import Trace
from waves import small_run, write_waves


@pytest.fixture(scope="module", params=["parallel", "steps"])
def tracer(tmp_path_factory, request):
    folder = tmp_path_factory.mktemp("waves")
    run = small_run(write_waves(folder / "waves.csv"))
    run = replace(run, model=replace(run.model, decoding=request.param, horizon=30))
    train_forecasting(run, folder / "run", Console(quiet=True))
    return SeriesTracer.load(find_model(folder / "run"), folder / "waves.csv", "cpu")


def test_stretches_of_time_look_at_one_another(tracer):
    trace = tracer.trace("heat")
    assert trace.source.text == "heat"
    assert trace.source.tokens[-1].text == "01-13 00:00–11:00"
    assert trace.target.tokens[0].text == "01-13 12:00–23:00"
    assert {kind: each.shape for kind, each in trace.attention.items()} == {
        "encoder": (1, 2, 4, 4),
        "decoder": (1, 2, 3, 3),
        "cross": (1, 2, 3, 4),
    }
    for weights in trace.attention.values():
        np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)
    hidden = np.triu(trace.attention["decoder"][0, 0], 1)
    assert (hidden == 0).all() == trace.model.causal  # in parallel each may look ahead


def test_without_a_name_it_is_the_first_series_and_an_unknown_one_is_refused(tracer):
    assert tracer.trace("").source.text == tracer.series[0] == "load"
    with pytest.raises(DataError, match="no series 'wind'; it has load, heat"):
        tracer.trace("wind")
    with pytest.raises(LengthError):
        tracer.trace("load", max_tokens=3)


def test_it_keeps_to_the_schema_comes_back_and_can_be_drawn(tracer):
    jsonschema = pytest.importorskip("jsonschema")
    trace = tracer.trace("load")
    said = json.loads(trace.dumps())
    jsonschema.validate(said, json.loads((files("regard") / "trace" / "trace.v1.schema.json").read_text()))
    assert Trace.from_json(said).model == trace.model
    drawn = matrix(trace, "cross", 1, None)
    rows = drawn.rows if not trace.model.causal else tuple(row.split(" → ")[1] for row in drawn.rows)
    assert rows == tuple(token.text for token in trace.target.tokens)
    assert "01-13 12:00–23:00" in draw(drawn)
