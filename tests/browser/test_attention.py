"""The Attention page: weights, rows and columns are those of the trace."""

import random

import numpy as np
import pytest

from browser.conftest import SENTENCE
from browser.explorer_page import open_page
from regard.trace.interventions import ATTENTION_KINDS


def table(page):
    """Return the matrix from the page's table: row labels, column labels and cells."""
    if page.locator("section[data-kind] [data-key=t]").get_attribute("aria-expanded") == "false":
        page.locator("section[data-kind] [data-key=t]").click()
    columns = page.locator("section[data-kind] thead th").all_inner_texts()
    rows = page.locator("section[data-kind] tbody th").all_inner_texts()
    cells = page.locator("section[data-kind] tbody td").all_inner_texts()
    return rows, columns, np.array(cells).reshape(len(rows), len(columns))


@pytest.mark.parametrize("kind", ATTENTION_KINDS)
def test_cells_are_the_weights_of_the_tensor(page, translator, kind):
    trace = translator.trace(SENTENCE)
    heads, generator = trace.attention[kind].shape[1], random.Random(0)
    for layer, head in [(1, 1), (2, heads)]:
        open_page(page, f"#/attention?kind={kind}&layer={layer}&head={head}")
        _, _, cells_shown = table(page)
        for _ in range(20):
            row, column = (generator.randrange(size) for size in cells_shown.shape)
            expected = trace.attention[kind][layer - 1, head - 1, row, column]
            if kind == "decoder" and column > row:
                assert cells_shown[row, column] == "masked"
                assert expected == 0
            else:
                assert float(cells_shown[row, column]) == pytest.approx(expected, abs=5e-4)


def test_every_row_sums_to_one(page):
    open_page(page, "#/attention?kind=decoder&layer=1&head=1")
    _, _, cells_shown = table(page)
    sums = np.where(cells_shown == "masked", "0", cells_shown).astype(float).sum(axis=1)
    np.testing.assert_allclose(sums, 1, atol=2e-3)


def test_a_copying_model_attends_to_the_copied_token(page, translator):
    """Row i predicts token i: in some head the diagonal has the highest weights, not the one beside it."""
    trace = translator.trace(SENTENCE)
    length = min(len(trace.source.tokens), len(trace.target.tokens)) - 1
    heads = trace.attention["cross"][:, :, :length, :length]
    on = np.trace(heads, axis1=2, axis2=3)
    layer, head = np.unravel_index(on.argmax(), on.shape)
    open_page(page, f"#/attention?kind=cross&layer={layer + 1}&head={head + 1}")
    rows, columns, cells_shown = table(page)
    cells = cells_shown.astype(float)
    beside = [np.diagonal(cells[:length, :length], by).mean() for by in (-1, 1)]
    assert np.diagonal(cells[:length, :length]).mean() > 0.5 > 2 * max(beside)
    written = [row.split(" → ")[1] for row in rows]
    assert [word[::-1] for word in written[:length]] == columns[:length]


def test_a_cell_selected_by_keyboard_is_described(page, translator):
    trace = translator.trace(SENTENCE)
    open_page(page, "#/attention?kind=cross&layer=1&head=2")
    page.locator(".matrix").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    status = page.locator(".status").first
    weight = trace.attention["cross"][0, 1, 1, 1]
    page.wait_for_function(
        "text => document.querySelector('.status').textContent.startsWith(text)", arg=f"{weight:.3f}"
    )
    assert "attends to" in status.inner_text()
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.hash.includes('rows=1')")
    page.keyboard.press("Escape")
    page.wait_for_function("() => !location.hash.includes('rows=')")


def test_a_head_selected_in_the_overview_is_shown_and_in_the_link(page):
    open_page(page, "#/attention?kind=encoder")
    page.get_by_role("option", name="layer 1 head 3").click()
    page.wait_for_function("() => location.hash.includes('layer=1') && location.hash.includes('head=3')")
    assert "layer 1 · head 3" in page.locator("section[data-kind] h2").inner_text()
    other = page.context.new_page()
    other.goto(page.url)
    other.wait_for_selector("section[data-kind] h2")
    other.wait_for_function(
        "() => document.querySelector('section[data-kind] h2').textContent.includes('head 3')"
    )
    other.close()


def test_merging_tokens_into_words_keeps_all_weight(page):
    open_page(page, "#/attention?kind=cross&layer=1&head=1&words=1")
    _, _, cells_shown = table(page)
    np.testing.assert_allclose(cells_shown.astype(float).sum(axis=1), 1, atol=2e-3)


def test_an_exported_figure_has_its_tokens_as_text(page):
    open_page(page, "#/attention?kind=cross&layer=1&head=1")
    with page.expect_download() as download:
        page.locator("section[data-kind] .downloads button", has_text="SVG").click()
    content = download.value.path().read_text(encoding="utf-8")
    assert content.startswith("<svg")
    assert all(f">{word}</text>" in content for word in SENTENCE.split())


def test_the_locked_row_is_the_selected_one_also_with_whole_words(page):
    open_page(page, "#/attention?kind=encoder&layer=1&head=1&plain=1")
    page.locator(".matrix").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('.status').textContent.includes('attends to')")
    locked = page.evaluate("() => regard.app.state.rows.value")
    rows, _, _ = table(page)
    cells_shown = page.evaluate(
        "() => regard.app.trace.value.source.tokens.map((token) => token.text.trim())"
    )
    assert [cells_shown[token] for token in locked] == [rows[1]]


def test_a_checkbox_toggled_by_keyboard_keeps_the_focus(page):
    open_page(page, "#/attention?kind=cross")
    page.get_by_label("whole words").focus()
    page.keyboard.press("Space")
    page.wait_for_function("() => location.hash.includes('words=1')")
    assert page.evaluate("() => document.activeElement.closest('label').textContent") == "whole words"


def test_weights_times_value_norms_of_all_heads_are_their_mean(page, translator):
    trace = translator.trace(SENTENCE)
    open_page(page, "#/attention?kind=cross&layer=2&norms=1")
    _, _, cells_shown = table(page)
    each = trace.attention["cross"][1] * trace.value_norm["cross"][1][:, None, :]
    expected = (each / each.sum(axis=2, keepdims=True)).mean(axis=0)
    np.testing.assert_allclose(cells_shown.astype(float), expected, atol=5e-4)


def test_the_entropy_shown_is_that_of_the_head(page, translator):
    trace = translator.trace(SENTENCE)
    open_page(page, "#/attention?kind=decoder&layer=2&head=3")
    facts = trace.heads["decoder"][1][2]
    status = page.locator(".status").first.inner_text()
    assert f"entropy {facts.entropy:.2f}" in status
    assert f"entropy {facts.entropy:.2f}" in page.locator(".facts").first.inner_text()


def test_changing_pages_leaks_no_listeners(page):
    """Leaving a page removes its listeners: the tenth tour leaves as many as the second."""
    client = page.context.new_cdp_session(page)
    client.send("Performance.enable")
    open_page(page)

    def tour():
        for name in ("attention", "steps", "search", "model", "positions", "translate"):
            page.evaluate("name => { regard.app.state.page.value = name }", name)
            page.wait_for_timeout(60)
        client.send("HeapProfiler.collectGarbage")
        metrics = {each["name"]: each["value"] for each in client.send("Performance.getMetrics")["metrics"]}
        return metrics["JSEventListeners"]

    counts = [tour() for _ in range(6)]
    assert counts[-1] <= counts[1] * 1.2


def test_a_token_selected_in_the_sentence_is_marked_in_the_matrix(page):
    open_page(page, "#/attention?kind=cross&layer=1&head=1")
    accent = page.evaluate(
        "() => getComputedStyle(document.documentElement).getPropertyValue('--accent').trim()"
    )
    for token, label in [("2", "→"), ("s1", "lu")]:
        page.locator(f"[data-token='{token}']").click()
        with page.expect_download() as download:
            page.locator("section[data-kind] .downloads button", has_text="SVG").click()
        figure = download.value.path().read_text(encoding="utf-8")
        marked = [text for text in figure.split("<text ")[1:] if f'fill="{accent}"' in text]
        assert len(marked) == 1
        assert label in marked[0]


def test_escape_closes_the_key_list_and_keys_do_not_act_behind_it(page):
    open_page(page, "#/attention?kind=cross")
    page.keyboard.press("?")
    page.locator("dialog[open]").wait_for()
    page.keyboard.press("k")
    page.keyboard.press("Escape")
    page.locator("dialog[open]").wait_for(state="detached")
    assert page.evaluate("() => regard.app.state.kind.value") == "cross"


def test_each_sentence_is_one_tab_stop(page):
    open_page(page)
    assert page.locator(".strip .tokens button[tabindex='0']").count() == 2
    page.locator(".strip .tokens button[tabindex='0']").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("() => document.activeElement.dataset.token") == "s1"


def test_a_link_contains_the_sentence_and_a_blank_field_clears_the_page(page):
    open_page(page, "#/translate?text=mi+so")
    assert page.evaluate("() => regard.app.traceA.value.source.text") == "mi so"
    page.locator("textarea").fill("")
    page.wait_for_function("() => regard.app.traceA.value === null")


def test_the_cell_selected_by_keys_scrolls_into_view(page):
    page.set_viewport_size({"width": 360, "height": 300})
    open_page(page, f"#/attention?kind=encoder&text={'%20'.join(['ba', 'lu', 'mi', 'so', 'tu'] * 16)}")
    matrix = page.locator(".matrix")
    matrix.focus()
    for key in ("End", *["ArrowDown"] * 70):
        page.keyboard.press(key)
    scrolled = matrix.evaluate("box => [box.scrollLeft, box.scrollTop]")
    room = matrix.evaluate("box => [box.scrollWidth - box.clientWidth, box.scrollHeight - box.clientHeight]")
    assert min(room) > 20  # or there was nothing to scroll to
    assert scrolled[0] == pytest.approx(room[0], abs=12)
    assert scrolled[1] > 0
    for key in ("Home", *["ArrowUp"] * 70):
        page.keyboard.press(key)
    assert matrix.evaluate("box => [box.scrollLeft, box.scrollTop]") == [0, 0]
