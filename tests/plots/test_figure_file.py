import io
import re
import subprocess
import sys
import zlib
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.image import imread

from regard.errors import RegardError
from regard.plots.attention_matrix import AttentionMatrix, draw_attention_matrix
from regard.plots.chart import ChartAnnotation, ChartLine, LineChart, ReferenceLine, draw_line_chart
from regard.plots.confusion_matrix import draw_confusion_matrix
from regard.plots.curves_page import _draw_changed_words
from regard.plots.figure_file import check_figure_suffix, encode_figure_file
from regard.plots.svg_style import StyleSheet
from regard.plots.theme import svg_document

SVG = "{http://www.w3.org/2000/svg}"
BLUE, WHITE, GREEN = (0x00, 0x72, 0xB2), (255, 255, 255), (0x00, 0x7A, 0x58)


def draw_pixels(svg) -> np.ndarray:
    """Return the red, green and blue of the pixels of the PNG, which has two for each of the SVG."""
    content, _ = encode_figure_file(svg, ".png")
    return (imread(io.BytesIO(content))[:, :, :3] * 255).round().astype(int)


def pdf_text(content: bytes) -> str:
    """Return the Latin text that a PDF writes as text, in its order."""
    text = b""
    for stream in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", content, re.DOTALL):
        try:
            page = zlib.decompress(stream)
        except zlib.error:
            continue
        for shown in re.findall(rb"\[((?:[^\]\\]|\\.)*)\]\s*TJ|(\((?:[^)\\]|\\.)*\))\s*Tj", page, re.DOTALL):
            parts = re.findall(rb"\(((?:[^)\\]|\\.)*)\)", b"".join(shown), re.DOTALL)
            text += re.sub(rb"\x00|\\(?=[()])", b"", b"".join(parts)) + b"\n"
    return text.decode("latin-1")


def attention_svg(rows=("A", "dog")) -> str:
    weights = np.array([[1.0, 0.0], [0.5, 0.5]], dtype=np.float32)
    keep = np.tril(np.ones((2, 2), dtype=bool))
    return draw_attention_matrix(
        AttentionMatrix("attention of B", "decoder", weights, keep, rows, ("<s>", "A"))
    )


def chart_svg() -> str:
    x = np.arange(5.0)
    lines = [
        ChartLine(x, x, 0, "one", show_markers=True),
        ChartLine(x, x**2, 1, "second", dash=1),
        ChartLine(x, np.array([1.0, np.nan, 3.0, np.nan, 5.0]), 2, "third", stroke="thin"),
    ]
    chart = LineChart(
        "one",
        "Chart",
        "step",
        lines,
        [ReferenceLine(8.0, "the bottom")],
        [ChartAnnotation(4.0, 16.0, "best"), ChartAnnotation(3.0, None, "here")],
        [(1.0, 1.5)],
        caption="caption",
    )
    return svg_document([draw_line_chart(chart, 480.0, 270.0, 10.0, 20.0)], "Charts", 500.0, 300.0)


def test_a_png_has_the_size_and_colours_of_the_svg():
    svg = draw_confusion_matrix(["a", "b"], np.array([[4, 0], [1, 3]]))
    root = ElementTree.fromstring(svg)
    pixels = draw_pixels(svg)
    size = float(root.attrib["height"]) * 2, float(root.attrib["width"]) * 2
    assert pixels.shape[:2] == pytest.approx(size, abs=1)
    right = next(each for each in root.iter(f"{SVG}rect") if each.get("class") == "right")
    x, y = (round(2 * float(right.attrib[name])) for name in "xy")
    assert tuple(pixels[y + 4, x + 4]) == GREEN  # all of its row
    assert tuple(pixels[y - 6, x + 4]) == WHITE
    assert tuple(pixels[y + 4, x + 100]) == WHITE  # a cell with zero


def test_weights_are_shades_and_masked_cells_hatched():
    svg = attention_svg()
    pixels = draw_pixels(svg)
    cells = [
        each for each in ElementTree.fromstring(svg).iter(f"{SVG}rect") if each.get("class") == "decoder"
    ]
    corners = [tuple(round(2 * float(cell.attrib[name])) for name in "xy") for cell in cells[:3]]
    full, half, _ = (pixels[y + 6, x + 6] for x, y in corners)
    assert tuple(full) == (0xA3, 0x5F, 0x00)
    assert np.abs(half - (full + 255) / 2).max() <= 1
    x, y = corners[0][0] + 60, corners[0][1]
    masked = pixels[y + 2 : y + 56, x + 2 : x + 56].reshape(-1, 3)
    assert {(0xF0,) * 3} < set(map(tuple, masked))  # the ground, and the lines over it
    assert 0xC9 <= masked.min() < 0xE0


def test_lines_markers_and_bands_are_drawn_where_the_svg_has_them():
    pixels = draw_pixels(chart_svg())
    area = pixels[2 * (20 + 56) : 2 * (20 + 230), 2 * (10 + 58) : 2 * (10 + 462)]
    blue = np.argwhere((area == BLUE).all(axis=-1))
    assert blue[:, 1].min() <= 8
    assert blue[:, 1].max() >= area.shape[1] - 8
    assert (area == (0xDC,) * 3).all(axis=-1).sum() > 1000  # the band
    # the thin line has a dot at each of its isolated points, the second of which is in the middle
    red, green, blue_part = area[:, area.shape[1] // 2 - 3 : area.shape[1] // 2 + 3].transpose(2, 0, 1)
    assert ((green > red + 30) & (green > blue_part)).any()


@pytest.mark.parametrize("svg", [attention_svg(), chart_svg()])
def test_each_text_of_the_svg_is_text_in_the_pdf(svg):
    content, missing = encode_figure_file(svg, ".pdf")
    assert content.startswith(b"%PDF")
    assert missing == ""
    texts = [each.text for each in ElementTree.fromstring(svg).iter(f"{SVG}text") if each.text]
    written = pdf_text(content).split("\n")
    assert [text for text in texts if text not in written] == []


def test_a_figure_is_the_same_each_time():
    assert [encode_figure_file(chart_svg(), ".pdf")] * 2 == [encode_figure_file(chart_svg(), ".pdf")] * 2
    assert encode_figure_file(chart_svg(), ".png") == encode_figure_file(chart_svg(), ".png")


def test_changed_words_follow_one_another_underlined():
    words = [("one", False), ("two", True), ("three", False)]
    svg = svg_document([_draw_changed_words(words, 10.0, 20.0, 400.0)], "words", 420.0, 30.0)
    content, _ = encode_figure_file(svg, ".pdf")
    assert re.findall("[a-z]+", pdf_text(content)) == ["one", "two", "three"]
    ink = np.flatnonzero((draw_pixels(svg)[42:47] < 128).all(axis=-1).any(axis=0))  # below the letters
    assert 60 > ink[-1] - ink[0] > 30


@pytest.mark.parametrize("suffix", [".png", ".pdf"])
def test_any_text_can_be_drawn(suffix):
    rows = ("$x^2", "中文 العربية हिन्दी 👩‍🔬 \U000e0001")
    content, missing = encode_figure_file(attention_svg(rows), suffix)
    assert len(content) > 5000
    assert not set(missing) & set("$x^2 ا")  # the base font has Arabic
    assert set(missing) <= set(rows[1])


def test_a_new_element_or_path_command_is_not_left_out_silently():
    with pytest.raises(ValueError, match="<ellipse>"):
        encode_figure_file(svg_document(['<ellipse rx="1"/>'], "t", 10.0, 10.0), ".png")
    with pytest.raises(ValueError, match="path command Q"):
        encode_figure_file(svg_document(['<path d="M0 0Q1 1 2 2"/>'], "t", 10.0, 10.0), ".png")


def test_the_more_specific_rule_wins_and_dark_mode_is_left_out():
    css = ".rg .ink { fill: #111111 } .rg text { fill: #222222 }"
    css += "@media (prefers-color-scheme: dark) { .rg .ink { fill: #eeeeee } .a { b: c } }"
    sheet = StyleSheet(css)
    element = ElementTree.fromstring('<text class="ink small" style="font-size:9px" fill="red"/>')
    assert sheet.style_of(element, {"stroke": "none"}) == {
        "fill": "#111111",
        "stroke": "none",
        "font-size": "9px",
    }


def test_without_matplotlib_only_svg_is_written(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert check_figure_suffix(Path("x.svg")) == ".svg"
    with pytest.raises(RegardError, match=r'^x.pdf needs matplotlib: pip install "regard\[figures\]"'):
        check_figure_suffix(Path("x.pdf"))
    with pytest.raises(RegardError, match=r"a name that ends in .html, .svg, .pdf or .png$"):
        check_figure_suffix(Path("x.gif"), ".html")


def test_svg_is_written_without_importing_matplotlib():
    code = (
        "import sys; from pathlib import Path; import regard.cli.verbs.plot\n"
        "from regard.plots.figure_file import check_figure_suffix, encode_figure_file\n"
        "check_figure_suffix(Path('x.png')); encode_figure_file('<svg/>', '.svg')\n"
        "print('matplotlib' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert answer.stdout == "False\n"
