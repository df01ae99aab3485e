import json
from importlib.resources import files

import jsonschema
import numpy as np
import pytest

import regard
from regard.errors import DataError, RegardError
from regard.trace.interventions import AblateHead, MaskSource, RemovePositions, SkipSublayer
from regard.trace.trace import Trace

SCHEMA = json.loads(files("regard.trace").joinpath("trace.v1.schema.json").read_text("utf-8"))


def validate(trace):
    data = json.loads(trace.dumps())
    jsonschema.Draft202012Validator(SCHEMA).validate(data)
    return data


def test_the_schema_is_valid():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_every_kind_of_trace_validates_against_the_schema(tracer):
    everything = (
        AblateHead("cross", 2, 3),
        AblateHead("encoder", 1, 1, "uniform"),
        SkipSublayer("decoder", 1, "ffn"),
        RemovePositions(),
        MaskSource((1,)),
    )
    validate(tracer.trace(tracer.build_request("the cat sees a dog")))
    validate(tracer.trace(tracer.build_request("the cat", beam=1, top_k=1, prefix="a bird"), qkv=True))
    validate(tracer.trace(tracer.build_request("the cat é", target="", interventions=everything)))
    assert validate(tracer.trace(tracer.build_request("the cat", target="a dog")))["target"]["forced"]


def test_repr_is_one_line(tracer):
    trace = tracer.trace(tracer.build_request("the cat", target="a dog"))
    size = f"{len(trace.source.tokens)}×{len(trace.target.tokens)} tokens"
    assert repr(trace) == f'Trace("the cat" → "a dog", 2+2 layers, 4 heads, {size})'
    long = tracer.trace(tracer.build_request("the\ncat " + "sees " * 7, target="the " * 15))
    assert repr(long).startswith('Trace("the cat sees')
    assert "…" in repr(long)
    assert len(repr(long)) < 150


def test_a_trace_survives_saving_and_loading(tracer, tmp_path):
    trace = tracer.trace(
        tracer.build_request("the cat sees a dog", interventions=[AblateHead("cross", 1, 2)]), qkv=True
    )
    trace.save(tmp_path / "t.json")
    loaded = regard.Trace.load(tmp_path / "t.json")
    assert loaded.dumps() == trace.dumps()
    assert loaded.request == trace.request
    for kind, weights in trace.attention.items():
        assert loaded.attention[kind] == pytest.approx(weights, abs=1e-5)
        assert np.array_equal(loaded.attention[kind] == 0, np.rint(weights * 65_535) == 0)


def test_every_token_of_the_trace_has_its_piece(tracer):
    trace = tracer.trace(tracer.build_request("the cat sees a dog"))
    assert all(trace.vocabulary[token.id] == token.piece for token in trace.target.tokens)
    ids = {node.token for node in trace.beam.nodes} | {c.id for step in trace.steps for c in step.top}
    assert ids | set(trace.beam.greedy.tokens) <= set(trace.vocabulary)


def test_unknown_keys_are_ignored_and_other_versions_rejected(tracer):
    data = tracer.trace(tracer.build_request("the cat")).to_json()
    added = {**data, "new": 1, "target": {**data["target"], "mood": "calm"}}
    assert Trace.from_json(added).target.text == data["target"]["text"]
    with pytest.raises(DataError, match="version 2, this regard reads 1; upgrade"):
        Trace.from_json({**data, "version": 2})
    with pytest.raises(DataError, match="not a trace"):
        Trace.from_json({})
    with pytest.raises(DataError, match="incomplete or damaged: .*'x'"):
        Trace.from_json({**data, "vocabulary": {"x": "the"}})
    del added["steps"]
    with pytest.raises(DataError, match="incomplete or damaged: 'steps'"):
        Trace.from_json(added)


def test_an_invalid_trace_file_is_rejected(tracer, tmp_path):
    (tmp_path / "t.json").write_text("{")
    with pytest.raises(DataError, match="t.json cannot be read as a trace"):
        Trace.load(tmp_path / "t.json")
    with pytest.raises(RegardError, match="end it in .json"):
        tracer.trace(tracer.build_request("the cat")).save(tmp_path / "t.png")


def test_weights_of_long_traces_are_packed_in_8_bits(tracer):
    trace = tracer.trace(tracer.build_request("the cat"))
    assert trace.to_json()["attention"]["cross"]["dtype"] == "u16"
    long = Trace(**{**vars(trace), "source": regard.trace.schema.TraceSource("", trace.source.tokens * 50)})
    assert long.to_json()["attention"]["cross"]["dtype"] == "u8"
