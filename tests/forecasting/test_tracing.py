import json
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest
import torch
from rich.console import Console

from regard.checkpoint import find_model_folder
from regard.cli.main import main
from regard.errors import DataError
from regard.forecasting.forecaster import Forecaster
from regard.forecasting.task import train_forecasting
from regard.forecasting.tracing import ForecasterTracer, embed_last_window
from regard.model.masks import CAUSAL_MASK, NO_MASK
from regard.plots.attention_matrix import build_attention_matrix, draw_attention_matrix
from regard.trace.capture import capture_decoder, capture_encoder
from regard.trace.request import TraceLengthError
from regard.trace.trace import Trace
from synthetic_series import small_forecast_run, write_wave_series


@pytest.fixture(scope="module", params=[("parallel", False), ("steps", False), ("parallel", True)], ids=str)
def embedded(tmp_path_factory, request):
    decoding, multivariate = request.param
    folder = tmp_path_factory.mktemp("trained")
    run = small_forecast_run(write_wave_series(folder / "waves.csv"), together=multivariate, cycles=("hour",))
    run = replace(run, model=replace(run.model, decoding=decoding, horizon=30))
    train_forecasting(run, folder / "run", Console(quiet=True))
    forecaster = Forecaster.load(folder / "run", "cpu")
    table = forecaster.read_series(folder / "waves.csv")
    return forecaster, table, embed_last_window(forecaster, table, "heat")


def test_patches_have_the_times_of_their_steps(embedded):
    _, _, window = embedded
    assert window.history_patches[-2:] == ("01-12 12:00–23:00", "01-13 00:00–11:00")
    assert window.horizon_patches == ("01-13 12:00–23:00", "01-14 00:00–11:00", "01-14 12:00–17:00")


def test_the_last_patch_is_labelled_as_far_as_the_forecast_goes(user_folder):
    main(["train", "--series", "sales.csv", "-o", "run", "--steps", "1", "--horizon", "7", "-q"])
    forecaster = Forecaster.load(user_folder / "run", "cpu")
    window = embed_last_window(forecaster, forecaster.read_series(user_folder / "sales.csv"))
    assert window.horizon_patches == ("2024-01–2024-07",)


def test_the_values_are_the_forecast_of_the_series(embedded):
    forecaster, table, window = embedded
    assert window.values == pytest.approx(forecaster.forecast(table).values[:, 1], rel=1e-4)


@torch.inference_mode()
def test_the_captured_layers_reproduce_the_forecast(embedded):
    forecaster, table, window = embedded
    network = forecaster.network
    encoder, encoded = capture_encoder(network.encoder, window.encoder_input, NO_MASK)
    decoder, decoded = capture_decoder(
        network.decoder, window.decoder_input, encoded, window.decoder_mask, NO_MASK
    )
    shapes = [each.attention.weights.shape for each in (*encoder, *decoder) if each.attention]
    assert shapes == [(2, 4, 4), (2, 3, 3), (2, 3, 4)]
    config = forecaster.config
    outputs = network.output(decoded)[0].unflatten(
        1, (config.patch, config.channels, config.outputs_per_value)
    )
    scaled_in_window = outputs[..., 0 if config.channels == 1 else 1, 0].flatten()[: config.horizon].numpy()
    recent, _ = forecaster.recent_history(table)
    scaled = scaled_in_window * np.sqrt(recent[:, 1].var() + 1e-5) + recent[:, 1].mean()
    values = scaled * forecaster.metadata.scaler.std[1] + forecaster.metadata.scaler.mean[1]
    assert values == pytest.approx(window.values, rel=1e-3)


def test_only_step_by_step_decoding_has_a_causal_mask(embedded):
    forecaster, _, window = embedded
    assert window.decoder_mask == (CAUSAL_MASK if forecaster.config.decoding == "steps" else NO_MASK)


def test_an_unknown_series_is_refused(embedded):
    forecaster, table, _ = embedded
    with pytest.raises(DataError, match="has no series 'wind'; it has load, heat"):
        embed_last_window(forecaster, table, "wind")


@pytest.fixture(scope="module", params=["parallel", "steps"])
def tracer(tmp_path_factory, request):
    folder = tmp_path_factory.mktemp("waves")
    run = small_forecast_run(write_wave_series(folder / "waves.csv"))
    run = replace(run, model=replace(run.model, decoding=request.param, horizon=30))
    train_forecasting(run, folder / "run", Console(quiet=True))
    return ForecasterTracer.load(find_model_folder(folder / "run"), folder / "waves.csv", "cpu")


def test_patches_attend_to_one_another(tracer):
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
    above_diagonal = np.triu(trace.attention["decoder"][0, 0], 1)
    assert (above_diagonal == 0).all() == trace.model.causal  # parallel decoding may attend to later patches


def test_the_default_is_the_first_series(tracer):
    assert tracer.trace("").source.text == tracer.series_names[0] == "load"
    with pytest.raises(DataError, match="no series 'wind'; it has load, heat"):
        tracer.trace("wind")
    with pytest.raises(TraceLengthError):
        tracer.trace("load", max_tokens=3)


def test_a_trace_follows_the_schema_and_can_be_drawn(tracer):
    jsonschema = pytest.importorskip("jsonschema")
    trace = tracer.trace("load")
    document = json.loads(trace.dumps())
    jsonschema.validate(
        document, json.loads((files("regard") / "trace" / "trace.v1.schema.json").read_text())
    )
    assert Trace.from_json(document).model == trace.model
    matrix = build_attention_matrix(trace, "cross", 1, None)
    rows = matrix.rows if not trace.model.causal else tuple(row.split(" → ")[1] for row in matrix.rows)
    assert rows == tuple(token.text for token in trace.target.tokens)
    assert "01-13 12:00–23:00" in draw_attention_matrix(matrix)
