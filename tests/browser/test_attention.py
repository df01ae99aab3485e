"""The Attention page shows the model's own numbers, in the place where they belong."""

import random

import numpy as np
import pytest

from browser.conftest import SENTENCE
from browser.explorer_page import open_page
from regard.trace.interventions import ATTENTION_KINDS


def table(page):
    """The matrix as the page's own table says it: labels of the rows, of the columns, and the cells."""
    if page.locator("section[data-kind] [data-key=t]").get_attribute("aria-expanded") == "false":
        page.locator("section[data-kind] [data-key=t]").click()
    columns = page.locator("section[data-kind] thead th").all_inner_texts()
    rows = page.locator("section[data-kind] tbody th").all_inner_texts()
    cells = page.locator("section[data-kind] tbody td").all_inner_texts()
    return rows, columns, np.array(cells).reshape(len(rows), len(columns))


@pytest.mark.parametrize("kind", ATTENTION_KINDS)
def test_what_is_shown_is_the_tensor(page, translator, kind):
    trace = translator.trace(SENTENCE)
    heads, drawn = trace.attention[kind].shape[1], random.Random(0)
    for layer, head in [(1, 1), (2, heads)]:
        open_page(page, f"#/attention?kind={kind}&layer={layer}&head={head}")
        _, _, shown = table(page)
        for _ in range(20):
            row, column = (drawn.randrange(size) for size in shown.shape)
            expected = trace.attention[kind][layer - 1, head - 1, row, column]
            if kind == "decoder" and column > row:
                assert shown[row, column] == "masked"
                assert expected == 0
            else:
                assert float(shown[row, column]) == pytest.approx(expected, abs=5e-4)


def test_every_row_sums_to_one(page):
    open_page(page, "#/attention?kind=decoder&layer=1&head=1")
    _, _, shown = table(page)
    sums = np.where(shown == "masked", "0", shown).astype(float).sum(axis=1)
    np.testing.assert_allclose(sums, 1, atol=2e-3)


def test_a_copying_model_looks_at_the_word_that_it_writes(page, translator):
    """Row i predicts token i: of some head the diagonal is the heaviest, not the line beside it."""
    trace = translator.trace(SENTENCE)
    length = min(len(trace.source.tokens), len(trace.target.tokens)) - 1
    heads = trace.attention["cross"][:, :, :length, :length]
    on = np.trace(heads, axis1=2, axis2=3)
    layer, head = np.unravel_index(on.argmax(), on.shape)
    open_page(page, f"#/attention?kind=cross&layer={layer + 1}&head={head + 1}")
    rows, columns, shown = table(page)
    cells = shown.astype(float)
    beside = [np.diagonal(cells[:length, :length], by).mean() for by in (-1, 1)]
    assert np.diagonal(cells[:length, :length]).mean() > 0.5 > 2 * max(beside)
    written = [row.split(" → ")[1] for row in rows]
    assert [word[::-1] for word in written[:length]] == columns[:length]


def test_a_cell_is_told_to_those_who_use_the_keyboard(page, translator):
    trace = translator.trace(SENTENCE)
    open_page(page, "#/attention?kind=cross&layer=1&head=2")
    page.locator(".matrix").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    said = page.locator(".told").first
    weight = trace.attention["cross"][0, 1, 1, 1]
    page.wait_for_function(
        "text => document.querySelector('.told').textContent.startsWith(text)", arg=f"{weight:.3f}"
    )
    assert "looks at" in said.inner_text()
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.hash.includes('rows=1')")
    page.keyboard.press("Escape")
    page.wait_for_function("() => !location.hash.includes('rows=')")


def test_a_head_chosen_small_is_shown_large_and_the_link_keeps_it(page):
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


def test_whole_words_hide_no_weight(page):
    open_page(page, "#/attention?kind=cross&layer=1&head=1&words=1")
    _, _, shown = table(page)
    np.testing.assert_allclose(shown.astype(float).sum(axis=1), 1, atol=2e-3)


def test_a_figure_to_take_away_has_the_words_as_text(page):
    open_page(page, "#/attention?kind=cross&layer=1&head=1")
    with page.expect_download() as download:
        page.locator("section[data-kind] .take button", has_text="SVG").click()
    content = download.value.path().read_text(encoding="utf-8")
    assert content.startswith("<svg")
    assert all(f">{word}</text>" in content for word in SENTENCE.split())


def test_the_row_that_is_locked_is_the_one_that_was_pressed_also_in_whole_words(page):
    open_page(page, "#/attention?kind=encoder&layer=1&head=1&plain=1")
    page.locator(".matrix").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('.told').textContent.includes('looks at')")
    locked = page.evaluate("() => regard.app.at.rows.value")
    rows, _, _ = table(page)
    shown = page.evaluate("() => regard.app.trace.value.source.tokens.map((token) => token.text.trim())")
    assert [shown[token] for token in locked] == [rows[1]]


def test_a_box_that_is_ticked_by_keyboard_keeps_the_focus(page):
    open_page(page, "#/attention?kind=cross")
    page.get_by_label("whole words").focus()
    page.keyboard.press("Space")
    page.wait_for_function("() => location.hash.includes('words=1')")
    assert page.evaluate("() => document.activeElement.closest('label').textContent") == "whole words"


def test_times_the_norms_of_all_heads_is_the_mean_over_heads(page, translator):
    trace = translator.trace(SENTENCE)
    open_page(page, "#/attention?kind=cross&layer=2&norms=1")
    _, _, shown = table(page)
    each = trace.attention["cross"][1] * trace.value_norm["cross"][1][:, None, :]
    expected = (each / each.sum(axis=2, keepdims=True)).mean(axis=0)
    np.testing.assert_allclose(shown.astype(float), expected, atol=5e-4)


def test_entropy_beside_the_matrix_is_the_head_s(page, translator):
    trace = translator.trace(SENTENCE)
    open_page(page, "#/attention?kind=decoder&layer=2&head=3")
    facts = trace.heads["decoder"][1][2]
    said = page.locator(".told").first.inner_text()
    assert f"entropy {facts.entropy:.2f}" in said
    assert f"entropy {facts.entropy:.2f}" in page.locator(".facts").first.inner_text()


def test_turning_pages_leaves_nothing_behind(page):
    """What a page had is gone with it: the tenth tour leaves as many listeners as the second."""
    client = page.context.new_cdp_session(page)
    client.send("Performance.enable")
    open_page(page)

    def tour():
        for name in ("attention", "steps", "search", "model", "positions", "translate"):
            page.evaluate("name => { regard.app.at.page.value = name }", name)
            page.wait_for_timeout(60)
        client.send("HeapProfiler.collectGarbage")
        found = {each["name"]: each["value"] for each in client.send("Performance.getMetrics")["metrics"]}
        return found["JSEventListeners"]

    counts = [tour() for _ in range(6)]
    assert counts[-1] <= counts[1] * 1.2


def test_a_token_chosen_in_the_sentence_is_marked_in_the_matrix(page):
    open_page(page, "#/attention?kind=cross&layer=1&head=1")
    accent = page.evaluate(
        "() => getComputedStyle(document.documentElement).getPropertyValue('--accent').trim()"
    )
    for token, label in [("2", "→"), ("s1", "lu")]:
        page.locator(f"[data-token='{token}']").click()
        with page.expect_download() as download:
            page.locator("section[data-kind] .take button", has_text="SVG").click()
        figure = download.value.path().read_text(encoding="utf-8")
        marked = [text for text in figure.split("<text ")[1:] if f'fill="{accent}"' in text]
        assert len(marked) == 1
        assert label in marked[0]


def test_escape_closes_the_list_of_keys_and_no_key_works_behind_it(page):
    open_page(page, "#/attention?kind=cross")
    page.keyboard.press("?")
    page.locator("dialog[open]").wait_for()
    page.keyboard.press("k")
    page.keyboard.press("Escape")
    page.locator("dialog[open]").wait_for(state="detached")
    assert page.evaluate("() => regard.app.at.kind.value") == "cross"


def test_the_sentence_is_one_tab_stop_a_side(page):
    open_page(page)
    assert page.locator(".strip .tokens button[tabindex='0']").count() == 2
    page.locator(".strip .tokens button[tabindex='0']").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("() => document.activeElement.dataset.token") == "s1"


def test_a_link_has_the_sentence_and_a_blank_field_shows_nothing_old(page):
    open_page(page, "#/translate?text=mi+so")
    assert page.evaluate("() => regard.app.a.value.source.text") == "mi so"
    page.locator("textarea").fill("")
    page.wait_for_function("() => regard.app.a.value === null")


def test_the_cell_that_the_keys_walk_to_is_in_sight(page):
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
