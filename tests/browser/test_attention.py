"""The Attention page shows the model's own numbers, in the place where they belong."""

import random

import numpy as np
import pytest

from browser.conftest import SENTENCE
from browser.looking import open_page
from regard.trace.interventions import KINDS


def table(page):
    """The matrix as the page's own table says it: labels of the rows, of the columns, and the cells."""
    if page.locator("section[data-kind] [data-key=t]").get_attribute("aria-expanded") == "false":
        page.locator("section[data-kind] [data-key=t]").click()
    columns = page.locator("section[data-kind] thead th").all_inner_texts()
    rows = page.locator("section[data-kind] tbody th").all_inner_texts()
    cells = page.locator("section[data-kind] tbody td").all_inner_texts()
    return rows, columns, np.array(cells).reshape(len(rows), len(columns))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_shown_is_the_tensor(page, translator, kind):
    trace = translator.trace(SENTENCE)
    heads = trace.attention[kind].shape[1]
    for layer, head in [(1, 1), (2, heads)]:
        open_page(page, f"#/attention?kind={kind}&layer={layer}&head={head}")
        _, _, shown = table(page)
        for _ in range(20):
            row, column = (random.Random(head).randrange(size) for size in shown.shape)
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
