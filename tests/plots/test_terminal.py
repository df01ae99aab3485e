import io

import numpy as np
import pytest
from rich.console import Console

from regard.plots.attention_matrix import AttentionMatrix
from regard.plots.terminal import _matrix_lines, shade_block


def matrix(columns, rows=("<s> → a", "a → 東京")):
    weights = np.zeros((len(rows), len(columns)), np.float32)
    weights[0, 0] = 1.0
    weights[1, -1] = 0.5
    return AttentionMatrix("m", "cross", weights, weights >= 0, rows, columns)


@pytest.mark.parametrize(
    ("weight", "block"), [(1.0, "█"), (0.7, "█"), (0.69, "▓"), (0.39, "▒"), (0.1, "░"), (0.049, " ")]
)
def test_higher_weights_have_darker_blocks(weight, block):
    assert shade_block(weight) == block


def test_blocks_are_aligned_with_their_tokens():
    head, first, second = (line.plain for line in _matrix_lines(matrix(("the", "cat", "京")), 80))
    assert head.index("the") == first.index("█")
    assert head.index("京") == second.index("▓") + 2  # two letters that are wide as four before it


def test_columns_are_numbered_where_tokens_do_not_fit():
    named, head, first, _ = (line.plain for line in _matrix_lines(matrix(("word",) * 20), 90))
    assert named.startswith("1 word  2 word")
    assert head.split() == list(map(str, range(1, 21)))
    assert head.index("1") == first.index("█")


def test_control_characters_are_not_printed():
    out = io.StringIO()
    for line in _matrix_lines(matrix(("a\x1b[2J", "\n")), 80):
        Console(file=out, width=80).print(line)
    assert "\x1b" not in out.getvalue()
    assert "▁" in out.getvalue()
