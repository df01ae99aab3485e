"""The Positions page: its formulas equal the model's tables."""

import re

import numpy as np
import pytest

from browser.explorer_page import open_page
from regard.model.position import get_timing_signal_1d, halves_position_table, paper_position_table

TABLES = {
    "interleaved": paper_position_table,
    "halves": halves_position_table,
    "t2t": lambda length, width: get_timing_signal_1d(length, width)[0],
}


@pytest.mark.parametrize("layout", TABLES)
def test_the_page_computes_the_tables_of_the_model(page, layout):
    open_page(page, "#/positions")
    for length, width in ((20, 512), (7, 5), (3, 2)):
        values = page.evaluate(
            "async given => { const { encodingTable } = await import('regard/positional_encoding.js');"
            " return Array.from(encodingTable(...given).values) }",
            [layout, length, width],
        )
        expected = TABLES[layout](length, width).numpy()
        assert np.array(values).reshape(length, width) == pytest.approx(expected, abs=1e-6)
        answer = page.evaluate(
            "async ([layout, length, width]) => { const { unpack } = await import('regard/trace.js');"
            "const found = await (await fetch(`/api/positions?length=${length}&width=${width}`)).json();"
            "return Array.from(unpack(found.tables[layout]).data) }",
            [layout, length, width],
        )
        assert answer == pytest.approx(values, abs=1e-6)


def test_the_small_table_has_the_documented_values(page):
    open_page(page, "#/positions")
    cells = page.locator("table", has=page.locator("caption", has_text="tensor2tensor")).locator("tbody tr")
    rows = [row.locator("td").all_inner_texts() for row in cells.all()]
    assert rows == [
        ["0.0000", "0.0000", "1.0000", "1.0000"],
        ["0.8415", "0.0001", "0.5403", "1.0000"],
        ["0.9093", "0.0002", "−0.4161", "1.0000"],
    ]


def test_a_column_shows_its_wavelength_and_two_rows_their_dot_product(page):
    open_page(page, "#/positions?layout=halves")
    page.locator("[data-heat]").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    wavelength = 2 * np.pi * 10000 ** (2 * 2 / 512)
    page.get_by_text(f"It begins again after {wavelength:.1f} positions.").wait_for()
    table = halves_position_table(20, 512).numpy()
    page.get_by_text(f"PE(1) · PE(8) = {table[1] @ table[8]:.3f}, at distance 7").wait_for()


def test_a_shift_is_one_linear_map_for_all_positions(page):
    open_page(page, "#/positions?layout=t2t")
    text = page.locator("[data-turned]").inner_text()
    difference = re.search(r"difference is ([\d.e+-]+)\.", text)
    assert difference
    assert float(difference[1]) < 1e-12
    wrong = page.evaluate(
        "async () => { const { rotationMatrix } = await import('regard/positional_encoding.js');"
        " const [[a, b]] = rotationMatrix(5, 7);"
        "return Math.abs(a * Math.sin(3 / 7) + b * Math.cos(3 / 7) - Math.sin(8 / 7)) }"
    )
    assert wrong < 1e-12


def test_on_a_narrow_screen_no_dimension_is_skipped(page):
    """512 columns on 300 pixels would show aliasing stripes."""
    page.set_viewport_size({"width": 360, "height": 740})
    open_page(page, "#/positions")
    heat = page.locator("[data-heat]")
    assert heat.locator("canvas").evaluate("canvas => canvas.clientWidth") >= 512
    heat.focus()
    page.keyboard.press("ArrowLeft")
    page.evaluate("regard.app.state.wide.value = 512")
    for _ in range(300):
        page.keyboard.press("ArrowRight")
    assert heat.evaluate("box => box.scrollLeft") > 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
