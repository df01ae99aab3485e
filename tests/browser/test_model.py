"""The Model page: blocks, parameters and arrows of the model, and its probes."""

import re
from dataclasses import replace

import numpy as np
import pytest

from browser.explorer_page import choose, chosen, open_page, shown_trace
from oracles import attention_rollout
from regard.model.config import ModelConfig
from regard.model.transformer import Transformer
from regard.server.explorer.model_blocks import describe_model_blocks
from regard.trace.trace import Trace

CONFIG = ModelConfig(
    vocab_size=31,
    d_model=16,
    heads=2,
    d_ff=24,
    encoder_layers=3,
    decoder_layers=2,
    dropout=0.0,
    max_length=40,
)


def answered(page, question):
    page.locator(f"[data-question='{question}'] form button").click()
    return page.locator(f"[data-question='{question}'] [aria-live]")


def test_the_parameters_of_the_blocks_are_those_of_the_model(page, translator):
    open_page(page, "#/model")
    parameters = sum(parameter.numel() for parameter in translator.tracer._model.parameters())
    sizes = page.locator("[data-sizes] tbody tr").last.locator("td").first.inner_text()
    assert int(sizes.replace(",", "")) == parameters
    assert (
        page.evaluate("() => regard.app.info.blocks.reduce((all, b) => all + b.parameters, 0)") == parameters
    )


def facts(config):
    """Return the model facts of a trace for a config."""
    return {
        **{name: getattr(config, name) for name in ("d_model", "heads", "d_ff", "norm")},
        "encoder_layers": config.encoder_layers,
        "decoder_layers": config.decoder_layers,
        "d_k": config.head_width,
        "vocab": {"source": config.vocab_size, "target": config.vocab_size},
        "parameters": sum(parameter.numel() for parameter in Transformer(config).parameters()),
    }


def test_blocks_in_a_file_equal_those_of_the_server(page):
    open_page(page, "#/model")
    for norm, tied in (("post", "all"), ("pre", "none"), ("literal", "all")):
        config = replace(CONFIG, norm=norm, tied=tied)
        model = facts(config)
        result = page.evaluate("async model => (await import('regard/blocks.js')).modelBlocks(model)", model)
        assert sum(block["parameters"] for block in result) == model["parameters"]
        counted = {
            block["id"]: block["parameters"] for block in describe_model_blocks(config) if block["layer"]
        }
        assert {block["id"]: block["parameters"] for block in result if block["layer"]} == counted


def test_the_last_encoder_layer_reaches_every_decoder_layer(page):
    open_page(page, "#/model")
    assert page.locator("[data-arrow]").count() == shown_trace(page)["model"]["decoder_layers"]


def test_bars_are_the_norms_of_the_selected_token(page, translator):
    open_page(page, "#/model?token=s1")
    trace = translator.trace(shown_trace(page)["request"]["text"])
    residual = trace.residual["encoder"]
    point = residual.points.index("2.self")
    for what, expected in (("input", residual.stream[point - 1, 1]), ("update", residual.update[point, 1])):
        bar = page.locator(f"[data-bar='encoder.2.self {what}'] text").inner_html()
        assert float(bar) == pytest.approx(float(expected), abs=0.051)
    assert page.locator("[data-path]").get_attribute("data-path") == "encoder"


def test_a_block_links_to_its_attention_and_steps(page):
    open_page(page, "#/model")
    page.locator("[data-block='decoder.1.cross']").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Its steps").click()
    page.wait_for_function("() => location.hash.startsWith('#/steps')")
    assert (chosen(page, "kind"), chosen(page, "layer")) == ("cross", 1)


def test_layer_predictions_are_those_of_the_logit_lens(page):
    open_page(page, "#/model?token=1")
    cells = page.locator("[data-lens] tbody td").all_inner_texts()
    lens = shown_trace(page)["logit_lens"]
    assert [float(cell.split()[-1]) for cell in cells] == pytest.approx(
        [layer[1]["prob"] for layer in reversed(lens)], abs=0.0051
    )


def test_every_probe_starts_with_valid_words(page):
    open_page(page, "#/model")
    fields = page.locator("[data-question] input:not([type=checkbox])")
    assert fields.count() == 7
    assert all(field.input_value() for field in fields.all())


def test_without_positions_word_order_makes_no_difference(page):
    open_page(page, "#/model")
    answer = answered(page, "Does the order matter?")
    answer.locator("table").wait_for()
    assert "Qian kill you ⇄ you kill Qian" in answer.inner_text()
    rows = [row.locator("td").all_inner_texts() for row in answer.locator("tbody tr").all()]
    assert all(float(with_.replace("−", "-")) > 1e-2 for with_, _ in rows[:-1])
    assert all(float(without.replace("−", "-")) < 1e-4 for _, without in rows)


def test_removed_positions_apply_to_every_page(page):
    open_page(page, "#/model")
    page.get_by_label(re.compile("remove positions")).check()
    page.wait_for_function("() => regard.app.state.show.value === 'b'")
    assert shown_trace(page)["request"]["interventions"] == [{"type": "positions"}]
    page.get_by_label(re.compile("remove positions")).uncheck()
    page.wait_for_function("() => regard.app.traceB.value === null")
    assert chosen(page, "show") == "a"


def test_probes_show_the_numbers_of_the_model(page, translator):
    open_page(page, "#/model")
    page.locator("[data-question='Neighbours of a word'] input").fill("lu")
    near = answered(page, "Neighbours of a word").locator("li")
    near.first.wait_for()
    first = translator.tracer.nearest_tokens("lu", 12)[0]
    assert near.count() == 12
    assert f"{first.cosine:.3f}".replace("-", "−") in near.first.inner_text()

    for field, text in zip(
        page.locator("[data-question='One word in two sentences'] input").all(),
        ("lu", "ba lu mi", "so lu tu"),
        strict=True,
    ):
        field.fill(text)
    answer = answered(page, "One word in two sentences")
    answer.get_by_text("Its row of the embedding is the same in both.").wait_for()
    last = float(answer.locator("tbody tr").last.locator("td").inner_text())
    assert last < 0.9999

    for field, text in zip(
        page.locator("[data-question='Attention, linear, convolution'] input").all(),
        ("ba lu mi", "so ha tu"),
        strict=True,
    ):
        field.fill(text)
    answer = answered(page, "Attention, linear, convolution")
    answer.locator("table").wait_for()
    rows = [row.locator("td").all_inner_texts() for row in answer.locator("tbody tr").all()]
    assert float(rows[0][0]) > 0.01
    assert rows[1][0] == rows[2][0] == "0.000"


def test_attention_rollout_equals_the_reference(page):
    open_page(page, "#/model")
    trace = Trace.from_json(shown_trace(page))
    expected = attention_rollout(trace.attention["encoder"])
    result = page.evaluate(
        """async () => {
          const { rollout } = await import("regard/parts/rollout.js");
          const { attentionWeights } = await import("regard/trace.js");
          const trace = regard.app.trace.value;
          const layers = [1, 2].map((layer) => attentionWeights(trace, "encoder", layer, 0));
          return rollout(layers).map((each) => Array.from(each.values));
        }"""
    )
    assert np.array(result).reshape(expected.shape) == pytest.approx(expected, abs=1e-5)


def test_a_file_explains_how_to_start_the_server(browser, translator, tmp_path):
    file = tmp_path / "trace.html"
    translator.trace("ba lu mi").save(file)
    page = browser.new_page()
    page.goto(f"{file.as_uri()}#/model")
    page.get_by_text("regard explore MODEL").wait_for()
    assert page.locator("[data-question]").count() == 0
    choose(page, token="0")
    page.locator("[data-path='decoder']").wait_for(state="attached")
    page.close()


@pytest.mark.parametrize(("width", "drawer"), [(1280, True), (360, False)])
def test_the_drawing_is_not_cut_off_at_any_width(page, width, drawer):
    page.set_viewport_size({"width": width, "height": 900})
    open_page(page, "#/model")
    if drawer:
        page.keyboard.press("w")
        page.get_by_role("complementary", name="what if").wait_for()
    page.wait_for_function(
        """() => {
          const inside = (room, part) => {
            const [a, b] = [room, part].map((each) => each.getBoundingClientRect());
            return b.width > 0 && b.left >= a.left - 1 && b.right <= a.right + 1;
          };
          const figure = document.querySelector(".model-figure");
          const sizes = document.querySelector("[data-sizes] .scroll");
          const parts = [...figure.querySelectorAll("[data-block], [data-bar]")];
          return parts.every((part) => inside(figure, part)) && inside(sizes, sizes.querySelector("table"));
        }"""
    )
    letters = page.evaluate(
        "() => document.querySelector('.model-figure text').getBoundingClientRect().height"
    )
    assert letters > 10
