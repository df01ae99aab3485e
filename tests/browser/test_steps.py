"""The Steps page: the numbers are the model's, and the reader controls the steps."""

import re

import numpy as np
import pytest

from browser.explorer_page import choose, open_page, shown_trace

MINUS_INFINITY = "−∞"


def number(text):
    return -np.inf if text == MINUS_INFINITY else float(text.replace("−", "-"))


def table(page, caption):
    """Return the numbers of an open table, by the start of its caption."""
    tables = page.locator("table", has=page.locator("caption", has_text=re.compile(f"^{re.escape(caption)}")))
    rows = tables.first.locator("tbody tr").all()
    return np.array([[number(cell) for cell in row.locator("td").all_inner_texts()] for row in rows])


def board(page):
    """Return the table of scores: dot, scaled, masked, softmax, one row per key."""
    button = page.locator("section[aria-label='the seven steps'] button[data-key='t']").last
    if button.get_attribute("aria-expanded") == "false":
        button.click()
    return table(page, "the steps of")


def opened(page, kind, layer, head, position):
    token = f"{'s' if kind == 'encoder' else ''}{position}"
    open_page(page, f"#/steps?kind={kind}&layer={layer}&head={head}&token={token}&walk=7")
    page.locator("[data-board]").wait_for()


@pytest.mark.parametrize(
    ("kind", "layer", "head", "position"), [("encoder", 1, 2, 1), ("decoder", 2, 3, 2), ("cross", 2, 4, 3)]
)
def test_the_softmax_of_the_scores_gives_the_weights(page, translator, kind, layer, head, position):
    opened(page, kind, layer, head, position)
    rows = board(page)
    masked = [None if np.isinf(score) else score for score in rows[:, 2]]
    soft = page.evaluate("async scores => (await import('regard/attention_math.js')).softmax(scores)", masked)
    tensor = translator.trace(shown_trace(page)["request"]["text"]).attention[kind]
    assert soft == pytest.approx(rows[:, 3], abs=1e-3)
    assert tensor[layer - 1, head - 1, position] == pytest.approx(rows[:, 3], abs=1e-3)
    assert rows[:, 0] / rows[:, 1] == pytest.approx(np.full(len(rows), np.sqrt(16)), rel=0.05, abs=0.05)


def test_future_keys_have_score_minus_infinity_in_decoder_self_attention(page):
    opened(page, "decoder", 1, 1, 2)
    rows = board(page)
    assert np.isinf(rows[:, 2]).tolist() == [False] * 3 + [True] * (len(rows) - 3)
    assert (rows[3:, 3] == 0).all()
    measured = page.locator("section[aria-label='three measures'] tbody tr").all()
    weights = [row.locator("td").nth(2).inner_text() for row in measured]
    assert [weight == "masked" for weight in weights] == [False] * 3 + [True] * (len(rows) - 3)


def test_a_narrow_board_shows_the_hint_only_where_q_is_drawn(page):
    page.set_viewport_size({"width": 360, "height": 900})
    opened(page, "cross", 1, 1, 0)
    hint = page.locator("section[aria-label='the seven steps'] p.status").last
    choose(page, walk=3)
    hint.get_by_text("Point at a dimension of q").wait_for()
    choose(page, walk=6)
    hint.get_by_text("Point at a dimension of q").wait_for(state="detached")


def test_products_of_all_dimensions_sum_to_the_score(page):
    opened(page, "cross", 1, 1, 0)
    choose(page, walk=3)
    page.locator("[data-board]").focus()
    page.keyboard.press("ArrowDown")
    hint = page.locator("p.status").first
    total = 0.0
    for dimension in range(16):
        page.keyboard.press("ArrowRight")
        page.wait_for_function(
            "n => document.querySelector('p.status').textContent.startsWith(`dimension ${n} of`)",
            arg=(dimension + 1) % 16 + 1,
        )
        q, k, product, whole = map(number, re.findall(r"−?\d+\.\d+", hint.inner_text()))
        assert q * k == pytest.approx(product, abs=0.01)
        total += product
    assert total == pytest.approx(whole, abs=0.02)


def test_steps_advance_by_button_or_key_only(page):
    open_page(page, "#/steps?kind=cross&layer=1&head=1")
    page.locator("[data-board]").wait_for()
    at = "section[aria-label='the seven steps'] [role=status].facts"
    assert page.locator("[data-key='back']").is_disabled()
    page.locator("[data-key='next']").click()
    page.wait_for_function("at => document.querySelector(at).textContent === '2 of 7'", arg=at)
    page.locator("main").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Space")
    page.keyboard.press("Shift+Space")
    page.wait_for_timeout(300)
    assert page.locator(at).inner_text() == "3 of 7"
    assert "walk=3" in page.url


def test_keys_continue_from_the_step_selected_by_mouse(page):
    open_page(page, "#/steps")
    page.get_by_role("radio", name="The worked example").click()
    page.get_by_role("radio", name="The worked example", checked=True).wait_for()
    page.keyboard.press("Space")
    page.get_by_text("2 of 7").wait_for()
    page.get_by_role("button", name="5 mask").click()
    page.get_by_text("5 of 7").wait_for()
    page.keyboard.press("Shift+Space")
    page.get_by_text("4 of 7").wait_for()


def test_the_worked_example_has_the_published_numbers(page):
    open_page(page, "#/steps?example=1&walk=7")
    assert table(page, "scores").tolist() == [[2, 4, 4], [4, 16, 12], [4, 12, 10]]
    outputs = [[1.9366, 6.6831, 1.5951], [2.0000, 7.9640, 0.0540], [1.9997, 7.7599, 0.3584]]
    assert table(page, "outputs").tolist() == outputs
    page.get_by_label("divide by √dₖ").check()
    page.wait_for_function("() => location.hash.includes('divide=1')")
    scores = np.array([[2, 4, 4], [4, 16, 12], [4, 12, 10]]) / np.sqrt(3)
    weights = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert table(page, "outputs") == pytest.approx(
        weights @ np.array([[1, 2, 3], [2, 8, 0], [2, 6, 3]]), abs=1e-4
    )


def test_vectors_after_z_have_the_norms_of_the_server(page):
    opened(page, "encoder", 2, 1, 0)
    steps = page.evaluate(
        """() => fetch("/api/steps", {method: "POST", headers: {"Content-Type": "application/json"},
             body: JSON.stringify({request: regard.app.trace.value.request, kind: "encoder", layer: 2,
                                   head: 1, position: 0})}).then(answer => answer.json())"""
    )
    page.locator("section[aria-label='vectors after the attention'] button[data-key='t']").click()
    lengths = table(page, "vectors after the attention")[:, 0]
    names = ["concat", "out", "after_residual", "after_norm"]
    assert lengths[:4] == pytest.approx([np.linalg.norm(steps[name]) for name in names], abs=1e-3)
    forward = [np.linalg.norm(steps["feed_forward"][name]) for name in ("input", "output", "layer_output")]
    assert lengths[4:] == pytest.approx(forward, abs=1e-3)


def test_a_file_shows_its_steps_and_names_missing_ones(browser, translator, tmp_path):
    trace = translator.trace("ba lu mi", qkv=True)
    file = tmp_path / "trace.html"
    trace.save(file)
    page = browser.new_page()
    page.goto(f"{file.as_uri()}#/steps?kind=cross&layer=2&head=1&token=1&walk=7")
    page.locator("[data-board]").wait_for()
    assert board(page)[:, 3] == pytest.approx(trace.attention["cross"][1, 0, 1], abs=2e-3)
    page.evaluate(
        "() => { for (const each of Object.values(regard.app.traceA.value.qkv)) each.layers[1] = 9 }"
    )
    page.evaluate("() => { regard.app.state.head.value = 2 }")
    page.wait_for_selector("text=of layer 1, 9 only")
    page.close()
