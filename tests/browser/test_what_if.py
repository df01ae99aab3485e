"""What if: interventions on the page have the effect they have in Python."""

import numpy as np
import pytest

from browser.conftest import SENTENCE
from browser.explorer_page import choose, chosen, open_page
from regard.trace.interventions import ATTENTION_KINDS, AblateHead, MaskSource
from regard.translation.translator import Translator

CHANGED = "() => regard.app.traceB.value && !regard.app.whatIf.running.value"
B = "regard.app.traceB.value"


def ids(trace):
    return [token.id for token in trace.target.tokens if token.special != "eos"]


def looks(page, kind, layer, head):
    """Return the matrix from which the page draws."""
    found = page.evaluate(
        """async ([kind, layer, head]) => {
          const { shownAttention } = await import("regard/app.js");
          const { matrix, signed } = shownAttention(regard.app, kind, layer, head);
          return { ...matrix, values: Array.from(matrix.values), signed };
        }""",
        [kind, layer, head],
    )
    return np.array(found["values"]).reshape(found["rows"], found["columns"]), found["signed"]


def switch_off(page, kind, layer, head):
    choose(page, kind=kind, layer=layer, head=head)
    page.get_by_role("button", name=f"Switch head {layer}.{head} off").click()
    page.wait_for_function(CHANGED)


def test_disabling_a_head_equals_the_python_intervention(page, translator):
    open_page(page)
    switch_off(page, "cross", 1, 2)
    gone = [AblateHead("cross", 1, 2)]
    a, b = translator.trace(SENTENCE), translator.trace(SENTENCE, interventions=gone)
    forced = translator.trace(SENTENCE, target=ids(a), interventions=gone)
    shown = page.evaluate(f"() => [{B}.target.text, {B}.target.logprob, regard.app.whatIf.delta.value]")
    assert shown[0] == b.target.text
    assert shown[1:] == pytest.approx([b.target.logprob, forced.target.logprob - a.target.logprob], abs=1e-3)
    assert b.target.logprob != pytest.approx(a.target.logprob, abs=1e-3)
    for kind in ATTENTION_KINDS:
        weights, signed = looks(page, kind, 2, 3)
        assert not signed
        np.testing.assert_allclose(weights, b.attention[kind][1, 2], atol=5e-4)
    box = page.locator('#what-if [data-head="cross 1 2"]')
    assert box.is_checked()
    assert page.get_by_role("button", name="What if").get_attribute("aria-expanded") == "true"
    said = page.get_by_role("region", name="A and B").inner_text()
    assert "cross head 1.2 removed" in said
    assert f"Δ log p of A under B: {shown[2]:.2f}".replace("-", "−") in said


def test_b_minus_a_is_the_difference_of_the_tensors(page, translator):
    open_page(page)
    switch_off(page, "encoder", 1, 1)
    page.get_by_role("radio", name="B − A").click()
    assert chosen(page, "show") == "difference"
    a = translator.trace(SENTENCE)
    b = translator.trace(SENTENCE, interventions=[AblateHead("encoder", 1, 1)])
    expected = b.attention["encoder"][1, 3] - a.attention["encoder"][1, 3]
    assert np.abs(expected).max() > 0.01
    choose(page, kind="encoder", layer=2, head=4)
    weights, signed = looks(page, "encoder", 2, 4)
    assert signed
    np.testing.assert_allclose(weights, expected, atol=1e-3)
    page.get_by_role("button", name="Table").click()
    cells = page.locator("main tbody tr").first.locator("td").all_inner_texts()
    np.testing.assert_allclose([float(cell) for cell in cells], expected[0], atol=1e-3)


def test_the_stack_shows_the_change_of_vector_norms(page, translator):
    open_page(page)
    switch_off(page, "cross", 1, 2)
    page.get_by_role("radio", name="B − A").click()
    page.get_by_role("link", name="Model").click()
    a, b = translator.trace(SENTENCE), translator.trace(SENTENCE, interventions=[AblateHead("cross", 1, 2)])
    point = a.residual["decoder"].points.index("1.cross")
    then, now = (trace.residual["decoder"].update[point].mean() for trace in (a, b))
    shown = page.locator('[data-bar="decoder.1.cross update"] text').text_content().replace("−", "-")
    assert abs(now - then) > 0.01
    assert float(shown) == pytest.approx(now - then, abs=0.01)


def test_translations_of_different_length_are_not_subtracted(page):
    open_page(page)
    page.evaluate("() => { regard.app.whatIf.change({ target: 'ab ul' }); regard.app.whatIf.run() }")
    page.wait_for_function(CHANGED)
    page.get_by_role("radio", name="B − A").click()
    said = page.get_by_role("region", name="A and B")
    said.get_by_text("cannot be subtracted").wait_for()
    said.get_by_role("button", name="Give B the words of A").click()
    page.wait_for_function(
        "() => regard.app.traceB.value?.target.text === regard.app.traceA.value.target.text"
    )
    assert looks(page, "cross", 1, 1)[1]
    said.get_by_role("button", name="Clear").click()
    page.wait_for_function("() => !regard.app.traceB.value && regard.app.state.show.value === 'a'")
    said.wait_for(state="hidden")


def test_hidden_tokens_and_a_prefix_equal_python(page, translator):
    open_page(page)
    page.keyboard.press("w")
    drawer = page.get_by_role("complementary", name="what if")
    drawer.locator('[data-hide="1"]').click()
    drawer.get_by_label("starts with").fill("ul")
    drawer.get_by_label("starts with").press("Enter")
    page.wait_for_function(CHANGED)
    expected = translator.trace(SENTENCE, prefix="ul", interventions=[MaskSource((1,))])
    assert page.evaluate(f"() => {B}.target.text") == expected.target.text
    assert expected.target.text.startswith("ul")
    assert looks(page, "encoder", 1, 1)[0][:, 1].max() == 0


def test_the_drawer_works_by_keyboard(page):
    open_page(page)
    page.keyboard.press("w")
    for _ in ("Close", "Run", "Clear", "remove or make uniform", "the first box"):
        page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.dataset.head") == "encoder 1 1"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    assert page.evaluate("() => regard.app.whatIf.changes.value.heads") == ["encoder 2 2"]
    page.keyboard.press("Escape")
    assert page.locator("#what-if").is_hidden()
    assert page.evaluate("() => document.activeElement.dataset.key") == "w"


def test_the_translation_is_edited_in_place(page, translator):
    open_page(page)
    page.get_by_role("button", name="edit the source").click()
    field = page.get_by_role("textbox", name="source text")
    assert field.input_value() == SENTENCE
    field.fill("mi so")
    field.press("Escape")
    assert page.evaluate("() => regard.app.request.value.text") == SENTENCE
    page.get_by_label("source tokens", exact=True).dblclick(position={"x": 2, "y": 2})
    field.fill("mi so")
    field.press("Enter")
    page.wait_for_function("() => regard.app.traceA.value.source.text === 'mi so'")
    page.get_by_role("button", name="edit the target").click()
    page.get_by_role("textbox", name="target text").fill("os im")
    page.get_by_role("textbox", name="target text").press("Enter")
    page.wait_for_function("() => regard.app.traceA.value.target.forced")
    forced = translator.trace("mi so", target="os im")
    assert page.evaluate("() => regard.app.traceA.value.target.logprob") == pytest.approx(
        forced.target.logprob, abs=1e-3
    )
    page.get_by_role("button", name="search again").click()
    page.wait_for_function("() => !regard.app.traceA.value.target.forced")


def test_the_slider_translates_with_another_checkpoint(page, run):
    open_page(page)
    slider = page.get_by_role("slider", name="checkpoint")
    slider.focus()
    slider.press("Home")
    page.wait_for_function("() => regard.app.request.value.step && !regard.app.busy.value")
    steps = sorted(int(folder.name.removeprefix("step-")) for folder in run.glob("step-*"))
    assert slider.get_attribute("aria-valuetext").startswith(f"step {steps[0]}")
    early = Translator.load(run / f"step-{steps[0]:06}", "cpu", "torch").trace(SENTENCE)
    shown = page.evaluate(
        "() => [regard.app.traceA.value.target.text, regard.app.traceA.value.target.logprob]"
    )
    assert shown == [early.target.text, pytest.approx(early.target.logprob, abs=1e-3)]


def test_probes_use_the_selected_checkpoint(page):
    open_page(page)
    slider = page.get_by_role("slider", name="checkpoint")
    slider.focus()
    slider.press("Home")
    page.wait_for_function("() => regard.app.request.value.step && !regard.app.busy.value")
    step = page.evaluate("() => regard.app.request.value.step")
    for name, route in (("steps", "/api/steps"), ("model", "/api/position_survival")):
        with page.expect_request(f"**{route}") as asked:
            page.evaluate("name => { regard.app.state.page.value = name }", name)
        assert asked.value.post_data_json["request"]["step"] == step


def test_a_hidden_token_is_masked_in_the_matrix(page):
    open_page(page, "#/attention?kind=cross&layer=1&head=1")
    page.evaluate("() => { regard.app.whatIf.change({ hidden: [1] }); regard.app.whatIf.run() }")
    page.wait_for_function(CHANGED)
    page.wait_for_function("() => regard.app.state.show.value === 'b'")
    page.locator("section[data-kind] [data-key=t]").click()
    row = page.locator("section[data-kind] tbody tr").first.locator("td").all_inner_texts()
    assert [place for place, cell in enumerate(row) if cell == "masked"] == [1]
