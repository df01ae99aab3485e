import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import ConfigError
from regard.trace.interventions import (
    DisableHead,
    HideSource,
    SkipSublayer,
    intervention_from_json,
    intervention_to_json,
)
from regard.trace.request import TraceRequest, trace_id

counted = st.integers(1, 9)
KINDS = st.sampled_from(["encoder", "decoder", "cross"])
INTERVENTIONS = st.one_of(
    st.fixed_dictionaries(
        {
            "type": st.just("head"),
            "kind": KINDS,
            "layer": counted,
            "head": counted,
            "mode": st.sampled_from(["zero", "uniform"]),
        }
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("sublayer"),
            "stack": st.sampled_from(["encoder", "decoder"]),
            "layer": counted,
            "which": st.sampled_from(["self", "cross", "ffn"]),
        }
    ),
    st.just({"type": "positions"}),
    st.fixed_dictionaries({"type": st.just("hide_source"), "positions": st.lists(st.integers(0, 50))}),
)


@given(INTERVENTIONS)
def test_an_intervention_comes_back_from_json(said):
    assert intervention_to_json(intervention_from_json(said)) == said


@given(st.text(), st.lists(INTERVENTIONS, max_size=3), st.integers(1, 8))
def test_a_request_comes_back_and_is_known_by_its_id(text, changes, beam):
    request = TraceRequest(
        text, beam=beam, prefix=(5, 6), interventions=tuple(map(intervention_from_json, changes))
    )
    assert TraceRequest.from_json(request.to_json()) == request
    assert trace_id("m", request) == trace_id("m", TraceRequest.from_json(request.to_json()))
    assert trace_id("n", request) != trace_id("m", request)
    assert trace_id("m", TraceRequest(text, beam=beam + 1)) != trace_id("m", TraceRequest(text, beam=beam))


@pytest.mark.parametrize(
    ("intervention", "said"),
    [
        (DisableHead("cross", 3, 1), "layer = 3 cannot work; this model has layers 1 to 2"),
        (DisableHead("cross", 0, 1), "layer = 0 cannot work"),
        (DisableHead("encoder", 2, 5), "head = 5 cannot work; this model has heads 1 to 4"),
        (SkipSublayer("encoder", 1, "cross"), "which = cross cannot work; the encoder has self and ffn"),
        (SkipSublayer("decoder", 4, "ffn"), "layer = 4 cannot work"),
        (HideSource((0, 5)), "source token 6 cannot be hidden; there are 5"),
        (HideSource((-1,)), "cannot be hidden"),
        (HideSource((0, 1, 2, 3, 4)), "not all of the source can be hidden"),
    ],
)
def test_what_a_model_does_not_have_cannot_be_changed(micro, intervention, said):
    with pytest.raises(ConfigError, match=said):
        intervention.check(micro, 5)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"type": "heat"}, "is no intervention; its type must be one of head, sublayer"),
        ([], "is no intervention"),
        ({"type": ["head"]}, "is no intervention"),
        ({"type": "hide_source", "positions": [True]}, "must be a list of whole numbers"),
        ({"type": "head", "kind": "across"}, "kind = across cannot work; it must be one of encoder, decoder"),
        ({"type": "head", "mode": "off"}, "mode = off cannot work"),
        ({"type": "sublayer", "which": ["ffn"]}, "cannot work"),
        ({"type": "head", "kind": "cross"}, "needs layer, head, mode, too"),
        (
            {"type": "head", "kind": "cross", "layer": "1", "head": 1},
            "layer = 1 cannot work; it must be a whole",
        ),
        ({"type": "hide_source", "positions": 3}, "must be a list of whole numbers"),
    ],
)
def test_json_that_is_no_intervention_is_refused(said, message):
    with pytest.raises(ConfigError, match=message):
        intervention_from_json(said)


def test_a_request_that_cannot_work_is_refused():
    for wrong in ({"beam": 0}, {"alpha": -1.0}, {"top_k": 0}, {"max_extra": -1}):
        with pytest.raises(ConfigError, match="cannot work"):
            TraceRequest("a", **wrong)
    with pytest.raises(ConfigError, match="leave one out"):
        TraceRequest("a", prefix=(5,), target=(5, 6))
