import json
import re
from dataclasses import replace

import pytest

from regard.errors import ConfigError, RegardError
from regard.model.transformer import Transformer
from regard.trace.interventions import ATTENTION_KINDS
from regard.trace.model_facts import identify_model_in_memory
from regard.trace.page import (
    VIEW_NAMES,
    build_view_fragment,
    fit_trace_to_size,
    page_assets,
    render_trace_html,
)
from regard.trace.trace import Trace
from regard.translation.tracing import Tracer


def test_a_trace_that_is_too_large_keeps_qkv_of_the_viewed_layer(tracer):
    trace = tracer.trace(tracer.build_request("the cat", target="a dog"), qkv=True)
    assert fit_trace_to_size(trace, 2) is trace
    small = fit_trace_to_size(trace, 2, max_bytes=1000)
    assert len(small.dumps()) < len(trace.dumps())
    for kind, kept in small.qkv.items():
        assert kept.layers == (2,)
        assert (kept.q[0] == trace.qkv[kind].q[1]).all()
        assert kept.q.shape[1:] == trace.qkv[kind].q.shape[1:]
    assert small.omitted == ("qkv.encoder", "qkv.decoder", "qkv.cross")
    without = tracer.trace(tracer.build_request("the cat", target="a dog"))
    assert fit_trace_to_size(without, 2, max_bytes=1000) is without


HOSTILE = "</script><script>alert(1)</script><!-- <script> ]]> \u2028 &lt;"


@pytest.fixture
def trace(tracer):
    return tracer.trace(tracer.build_request("the cat", target="a dog"), qkv=True)


def script_content(page, name):
    return re.search(rf'id="{name}">(.*?)</script>', page, re.DOTALL)[1]


def test_a_page_contains_its_trace_and_its_view(trace):
    page = render_trace_html(trace, "#/steps?layer=2")
    assert Trace.from_json(json.loads(script_content(page, "regard-trace"))).dumps() == trace.dumps()
    assert script_content(page, "regard-view") == "#/steps?layer=2"


def test_a_page_loads_no_external_resource(trace):
    page = render_trace_html(trace)
    assert not re.search(
        r"""(?:src|href)=["'](?!data:)|@import|url\((?!data:)|https?://(?!www\.w3\.org/)""", page
    )
    assert "default-src 'none'; script-src 'unsafe-inline' data:" in page
    assert page.index("Content-Security-Policy") < page.index("<script")


def test_markup_in_a_trace_cannot_close_its_script(trace):
    """A trace with markup in it yields the same tags as one without."""
    hostile = replace(trace, source=replace(trace.source, text=HOSTILE))

    def tags(page):
        return re.findall(r"</?[a-z!-]+", page)

    page = render_trace_html(hostile, f"#/attention?{HOSTILE}")
    assert tags(page)[:8] == tags(render_trace_html(trace))[:8]
    assert page.count("<script") == render_trace_html(trace).count("<script")
    assert json.loads(script_content(page, "regard-trace"))["source"]["text"] == HOSTILE


def test_omitted_projections_are_listed(trace, tracer):
    small = json.loads(
        script_content(render_trace_html(trace, "#/steps?layer=1", max_bytes=1), "regard-trace")
    )
    assert small["qkv"]["cross"]["layers"] == [1]
    assert "qkv.cross" in small["omitted"]
    without = tracer.trace(tracer.build_request("the cat", target="a dog"))
    assert json.loads(script_content(render_trace_html(without), "regard-trace"))["omitted"] == ["qkv"]
    assert json.loads(script_content(render_trace_html(trace), "regard-trace"))["omitted"] == []


@pytest.mark.parametrize(
    ("view", "layers"),
    [
        ("", 2),
        ("?kind=cross", 2),
        ("?kind=encoder", 3),
        ("?head=1&kind=decoder", 3),
        ("?kind=encoder&layer=1", 1),
    ],
)
def test_the_kept_layer_is_the_one_the_view_opens_with(micro, tokenizer, view, layers):
    config = replace(micro, vocab_size=tokenizer.vocab_size, encoder_layers=3, decoder_layers=3)
    model = Transformer(config).eval()
    tracer = Tracer(model, tokenizer, identify_model_in_memory(model))
    trace = tracer.trace(tracer.build_request("the cat", target="a dog"), qkv=True)
    small = json.loads(
        script_content(render_trace_html(trace, f"#/steps{view}", max_bytes=1), "regard-trace")
    )
    assert {kind: each["layers"] for kind, each in small["qkv"].items()} == {
        kind: [layers] for kind in ATTENTION_KINDS
    }


def test_a_view_of_a_missing_layer_or_head_is_rejected(trace):
    with pytest.raises(ConfigError, match="layer = 3 cannot work; this model has layers 1 to 2"):
        trace.show(layer=3)
    with pytest.raises(ConfigError, match="head = 0 cannot work; this model has heads 1 to 4"):
        trace.show(head=0)
    with pytest.raises(ConfigError, match="kind = across cannot work"):
        build_view_fragment(trace, "attention", "across", None, None)


def test_a_notebook_shows_a_sandboxed_frame(trace):
    frame = trace.show("steps", kind="cross", layer=2, head=3, height=400)._repr_html_()
    assert frame.startswith("<iframe ")
    assert 'sandbox="allow-scripts allow-downloads"' in frame
    assert 'height="400"' in frame
    assert "#/steps?kind=cross&amp;layer=2&amp;head=3" in frame
    assert "<" not in frame[len("<iframe ") : -len("></iframe>")]


def test_an_unknown_page_is_rejected(trace):
    assert build_view_fragment(trace, "attention", None, None, None) == "#/attention"
    with pytest.raises(
        ConfigError, match="page = inside cannot work; it must be one of translate, attention"
    ):
        build_view_fragment(trace, "inside", None, None, None)


def test_page_names_are_those_of_the_front_end():
    state = (page_assets() / "js" / "state.js").read_text("utf-8")
    listed = re.search(r"export const PAGES = [^[]*\[(.*?)\]", state, re.DOTALL)[1]
    assert tuple(re.findall(r'"(\w+)"', listed)) == VIEW_NAMES


def test_a_trace_is_saved_as_html_and_not_with_an_unknown_suffix(trace, tmp_path):
    trace.save(tmp_path / "t.html")
    assert (tmp_path / "t.html").read_text("utf-8").startswith("<!doctype html>")
    with pytest.raises(RegardError, match=r"t\.pdf is not a trace file name; end it in \.json or \.html"):
        trace.save(tmp_path / "t.pdf")
