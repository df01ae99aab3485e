import math

import numpy as np
import pytest
import torch
from rich.console import Console

from labelled_corpus import labelled_sentences, tiny_classification_run, write_labelled_file
from regard.checkpoint import find_model_folder
from regard.classification.label_predictor import LabelPredictor
from regard.classification.task import train_classification
from regard.classification.tracing import ClassifierTracer
from regard.errors import DataError
from regard.trace.request import TraceLengthError
from regard.trace.trace import Trace

TEXT = "we saw a cat today"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("things")
    run = tiny_classification_run(write_labelled_file(folder / "things.tsv"))
    train_classification(run, folder / "run", Console(quiet=True))
    return folder / "run"


@pytest.fixture(scope="module")
def tracer(run):
    return ClassifierTracer.load(find_model_folder(run), "cpu")


def test_a_trace_has_the_probabilities_of_the_classifier(run, tracer):
    classifier = LabelPredictor.load(run, "cpu")
    for text, _ in labelled_sentences()[:5]:
        (prediction,) = classifier.classify([text])
        traced = {token.text: math.exp(token.logprob) for token in tracer.trace(text).target.tokens}
        assert list(traced) == list(prediction.probabilities)  # most probable first
        assert list(traced.values()) == pytest.approx(list(prediction.probabilities.values()), abs=1e-5)


def test_the_class_token_is_the_first_row_and_the_weights_are_the_models(run, tracer):
    trace = tracer.trace(TEXT)
    assert [token.text for token in trace.source.tokens] == ["<s>", *TEXT.split()]
    assert trace.attention.keys() == {"encoder"}
    network = LabelPredictor.load(run, "cpu").network
    ids = torch.tensor([[token.id for token in trace.source.tokens]])
    layer = network.encoder.layers[0]
    projections = (layer.self_attention.query, layer.self_attention.key)
    with torch.inference_mode():
        x = network.embedding(ids, torch.arange(ids.shape[1])[None])
        x = layer.around_attention.norm(x) if network.config.norm == "pre" else x
        query, key = (project(x).unflatten(-1, (2, -1)).transpose(1, 2) for project in projections)
        weights = (query @ key.transpose(2, 3) / math.sqrt(query.shape[-1])).softmax(dim=-1)[0]
    np.testing.assert_allclose(trace.attention["encoder"][0], weights.numpy(), atol=1e-6)


def test_a_trace_survives_json_and_can_be_saved_as_a_page(tracer, tmp_path):
    trace = tracer.trace(TEXT)
    restored = Trace.from_json(trace.to_json())
    assert restored.model == trace.model
    assert restored.model.task == "classification"
    np.testing.assert_allclose(restored.attention["encoder"], trace.attention["encoder"], atol=1e-4)
    trace.save(tmp_path / "page.html")
    assert "regard-trace" in (tmp_path / "page.html").read_text()


def test_a_trace_follows_the_schema(tracer):
    import json
    from importlib.resources import files

    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((files("regard") / "trace" / "trace.v1.schema.json").read_text())
    document = tracer.trace(TEXT).to_json()
    jsonschema.validate(document, schema)
    document["model"]["task"] = "translation"  # needs decoder and cross attention, too
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema)


def test_a_blank_text_and_a_too_long_text_are_refused(tracer):
    with pytest.raises(DataError, match="blank"):
        tracer.trace("  ")
    with pytest.raises(TraceLengthError, match="6 tokens, and at most 3"):
        tracer.trace(TEXT, max_tokens=3)
