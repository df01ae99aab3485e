import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import ConfigError
from regard.trace.interventions import (
    AblateHead,
    MaskSource,
    SkipSublayer,
    intervention_from_json,
    intervention_to_json,
)
from regard.trace.request import TraceRequest, trace_id

numbers = st.integers(1, 9)
kinds = st.sampled_from(["encoder", "decoder", "cross"])
INTERVENTIONS = st.one_of(
    st.fixed_dictionaries(
        {
            "type": st.just("head"),
            "kind": kinds,
            "layer": numbers,
            "head": numbers,
            "mode": st.sampled_from(["zero", "uniform"]),
        }
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("sublayer"),
            "stack": st.sampled_from(["encoder", "decoder"]),
            "layer": numbers,
            "sublayer": st.sampled_from(["self", "cross", "ffn"]),
        }
    ),
    st.just({"type": "positions"}),
    st.fixed_dictionaries({"type": st.just("mask_source"), "positions": st.lists(st.integers(0, 50))}),
)


@given(INTERVENTIONS)
def test_json_round_trip_of_an_intervention(data):
    assert intervention_to_json(intervention_from_json(data)) == data


@given(st.text(), st.lists(INTERVENTIONS, max_size=3), st.integers(1, 8))
def test_a_request_survives_json_and_has_a_stable_id(text, interventions, beam):
    request = TraceRequest(
        text, beam=beam, prefix=(5, 6), interventions=tuple(map(intervention_from_json, interventions))
    )
    assert TraceRequest.from_json(request.to_json()) == request
    assert trace_id("m", request) == trace_id("m", TraceRequest.from_json(request.to_json()))
    assert trace_id("n", request) != trace_id("m", request)
    assert trace_id("m", TraceRequest(text, beam=beam + 1)) != trace_id("m", TraceRequest(text, beam=beam))


@pytest.mark.parametrize(
    ("intervention", "message"),
    [
        (AblateHead("cross", 3, 1), "layer = 3 cannot work; this model has layers 1 to 2"),
        (AblateHead("cross", 0, 1), "layer = 0 cannot work"),
        (AblateHead("encoder", 2, 5), "head = 5 cannot work; this model has heads 1 to 4"),
        (SkipSublayer("encoder", 1, "cross"), "sublayer = cross cannot work; the encoder has self and ffn"),
        (SkipSublayer("decoder", 4, "ffn"), "layer = 4 cannot work"),
        (MaskSource((0, 5)), "source token 6 cannot be masked; there are 5"),
        (MaskSource((-1,)), "cannot be masked"),
        (MaskSource((0, 1, 2, 3, 4)), "not all source tokens can be masked"),
    ],
)
def test_an_intervention_on_a_missing_layer_head_or_token_is_rejected(micro, intervention, message):
    with pytest.raises(ConfigError, match=message):
        intervention.check(micro, 5)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"type": "heat"}, "is not an intervention; its type must be one of head, sublayer"),
        ([], "is not an intervention"),
        ({"type": ["head"]}, "is not an intervention"),
        ({"type": "mask_source", "positions": [True]}, "must be a list of whole numbers"),
        ({"type": "head", "kind": "across"}, "kind = across cannot work; it must be one of encoder, decoder"),
        ({"type": "head", "mode": "off"}, "mode = off cannot work"),
        ({"type": "sublayer", "sublayer": ["ffn"]}, "cannot work"),
        ({"type": "head", "kind": "cross"}, "also needs layer, head, mode"),
        (
            {"type": "head", "kind": "cross", "layer": "1", "head": 1},
            "layer = 1 cannot work; it must be a whole",
        ),
        ({"type": "mask_source", "positions": 3}, "must be a list of whole numbers"),
    ],
)
def test_invalid_intervention_json_is_rejected(data, message):
    with pytest.raises(ConfigError, match=message):
        intervention_from_json(data)


def test_invalid_request_settings_are_rejected():
    for wrong in ({"beam": 0}, {"alpha": -1.0}, {"top_k": 0}, {"max_extra": -1}):
        with pytest.raises(ConfigError, match="cannot work"):
            TraceRequest("a", **wrong)
    with pytest.raises(ConfigError, match="exclude each other"):
        TraceRequest("a", prefix=(5,), target=(5, 6))
