import json
from dataclasses import replace

import numpy as np
import pytest

from regard.errors import ConfigError
from regard.model.transformer import Transformer
from regard.trace.interventions import MaskSource
from regard.translation.tracing import Tracer

KINDS = ("encoder", "decoder", "cross")


@pytest.fixture(params=["post", "pre", "literal"])
def traced(request, model, tokenizer, tracer):
    model = Transformer(replace(model.config, norm=request.param)).eval()
    tracer = Tracer(model, tokenizer, tracer._identity)
    trace_request = tracer.build_request(
        "the cat sees a dog", target="a dog sings", interventions=[MaskSource((1,))]
    )
    return model, tracer, tracer.trace(trace_request)


def softmax(scores):
    logits = np.array([-np.inf if score is None else score for score in scores])
    exponentials = np.exp(logits - logits.max())
    return exponentials / exponentials.sum()


@pytest.mark.parametrize("kind", KINDS)
def test_each_step_follows_from_the_previous_one(traced, kind):
    model, tracer, trace = traced
    for position in (0, 2):
        steps = tracer.attention_steps(trace, kind, 2, 3, position)
        steps = json.loads(json.dumps(steps, allow_nan=False))
        q, k, v = (np.array(steps[name]) for name in "qkv")
        assert steps["dot"] == pytest.approx(k @ q, abs=1e-3)
        assert steps["scaled"] == pytest.approx(np.array(steps["dot"]) * steps["scale"], abs=1e-4)
        assert steps["scale"] == pytest.approx(0.5)
        assert steps["cosine"] == pytest.approx(
            k @ q / np.linalg.norm(k, axis=1) / np.linalg.norm(q), abs=1e-3
        )
        assert softmax(steps["masked"]) == pytest.approx(steps["weights"], abs=1e-4)
        assert trace.attention[kind][1, 2, position] == pytest.approx(steps["weights"], abs=1e-5)
        assert steps["z"] == pytest.approx(np.array(steps["weights"]) @ v, abs=1e-4)
        assert steps["concat"][8:12] == pytest.approx(steps["z"], abs=1e-5)
        attention = model.encoder.layers[1].self_attention
        if kind != "encoder":
            layer = model.decoder.layers[1]
            attention = layer.cross_attention if kind == "cross" else layer.self_attention
        weight, bias = (each.detach().numpy() for each in (attention.output.weight, attention.output.bias))
        assert steps["out"] == pytest.approx(weight @ steps["concat"] + bias, abs=1e-3)
        assert steps["norms"]["out"] == pytest.approx(np.linalg.norm(steps["out"]), rel=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_residual_and_norm_follow_the_norm_placement(traced, kind):
    model, tracer, trace = traced
    steps = {
        name: np.array(value) if isinstance(value, list) and name != "masked" else value
        for name, value in tracer.attention_steps(trace, kind, 1, 1, 1).items()
    }
    norm = model.config.norm

    def is_normalised(vector):
        return abs(vector.mean()) < 1e-4 and vector.std() == pytest.approx(1.0, abs=1e-2)

    assert steps["norm"] == norm
    assert is_normalised(steps["after_norm"])
    if norm == "literal":
        assert steps["after_residual"] == pytest.approx(steps["stream"] + steps["after_norm"], abs=1e-4)
    else:
        assert steps["after_residual"] == pytest.approx(steps["stream"] + steps["out"], abs=1e-4)
    assert (norm == "pre") == (not np.allclose(steps["x"], steps["stream"], atol=1e-4))
    assert set(steps["feed_forward"]) == {"input", "output", "layer_output"}
    if kind != "decoder" and norm != "literal":  # in the decoder cross-attention comes between
        assert steps["feed_forward"]["input"] == pytest.approx(steps["after_norm"], abs=1e-4)


def test_tokens_name_query_keys_and_prediction(tracer):
    trace = tracer.trace(tracer.build_request("the cat", target="a dog", interventions=[MaskSource((0,))]))
    cross, decoder = (tracer.attention_steps(trace, kind, 1, 1, 1) for kind in ("cross", "decoder"))
    source, target = ([token.text for token in side.tokens] for side in (trace.source, trace.target))
    assert cross["tokens"] == {"query": target[0], "keys": source, "predicted": target[1]}
    assert decoder["tokens"]["keys"] == ["<s>", *target[:-1]]
    assert [score is None for score in cross["masked"]] == [True] + [False] * (len(source) - 1)
    assert [score is None for score in decoder["masked"]] == [False] * 2 + [True] * (len(target) - 2)
    encoder = tracer.attention_steps(trace, "encoder", 1, 1, 0)
    assert (encoder["tokens"]["query"], encoder["tokens"]["predicted"]) == (source[0], None)


def test_a_layer_head_or_position_out_of_range_is_rejected(tracer):
    trace = tracer.trace(tracer.build_request("the cat", target="a dog"))
    for wrong, message in (
        (("cross", 3, 1, 0), "layer = 3"),
        (("cross", 1, 5, 0), "head = 5"),
        (("cross", 1, 0, 0), "head = 0"),
        (("encoder", 1, 1, 99), "position = 99"),
        (("cross", 1, 1, -1), "position = -1"),
    ):
        with pytest.raises(ConfigError, match=f"{message} cannot work"):
            tracer.attention_steps(trace, *wrong)
