import xml.etree.ElementTree as ET

import numpy as np

from regard.plots.attention_matrix import (
    LARGE_CELL,
    MAX_TOKENS_FOR_LARGE_CELLS,
    SMALL_CELL,
    AttentionMatrix,
    draw_attention_matrix,
)

SVG = "{http://www.w3.org/2000/svg}"


def draw_svg(size, columns=None):
    weights = np.eye(size, dtype=np.float32)
    names = tuple(f"w{number}" for number in range(size))
    return ET.fromstring(
        draw_attention_matrix(
            AttentionMatrix("name", "cross", weights, weights >= 0, names, columns or names)
        )
    )


def cells(tree):
    return [each for each in tree.iter(f"{SVG}rect") if each.get("class") == "cross"][:-11]  # less the key


def test_the_opacity_of_a_cell_is_its_weight():
    rects = cells(draw_svg(3))
    assert [cell.get("fill-opacity") for cell in rects] == ["1.000"] * 3
    assert len({(cell.get("x"), cell.get("y")) for cell in rects}) == 3


def test_many_tokens_get_small_cells_without_numbers():
    few, many = draw_svg(MAX_TOKENS_FOR_LARGE_CELLS), draw_svg(MAX_TOKENS_FOR_LARGE_CELLS + 1)
    assert float(cells(few)[0].get("width")) == LARGE_CELL - 1
    assert float(cells(many)[0].get("width")) == SMALL_CELL - 1
    assert "1.00" in [each.text for each in few.iter(f"{SVG}text")]
    assert "1.00" not in [each.text for each in many.iter(f"{SVG}text")]


def test_markup_in_a_token_is_escaped():
    tree = draw_svg(2, ("<script>", "a & b"))
    assert {"<script>", "a & b"} <= {each.text for each in tree.iter(f"{SVG}text")}
    assert not list(tree.iter(f"{SVG}script"))
