"""Help texts: paragraphs are filled, columns are kept, and nothing is wider than the terminal."""

import argparse

import pytest

from regard.cli.args.help_format import HelpFormatter, flag_name, wrap_help

TEXT = """\
A paragraph of several lines that are joined
before they are filled.

codes
  0   success
  10  an error with a long explanation that is
      continued below its beginning
  A sentence over two lines that has
  no columns.

examples
  regard translate model new.en -o new.fr
  regard list                              all of them
"""


def test_text_that_fits_keeps_its_lines_and_columns():
    lines = list(wrap_help(TEXT, 80))
    assert lines[0] == "A paragraph of several lines that are joined before they are filled."
    assert lines[1:] == TEXT.splitlines()[2:]


def test_narrow_text_is_wrapped_below_its_second_column():
    assert list(wrap_help(TEXT, 30)) == [
        "A paragraph of several lines",
        "that are joined before they",
        "are filled.",
        "",
        "codes",
        "  0   success",
        "  10  an error with a long",
        "      explanation that is",
        "      continued below its",
        "      beginning",
        "  A sentence over two lines",
        "  that has no columns.",
        "",
        "examples",
        "  regard translate model",
        "      new.en -o new.fr",
        "  regard list",
        "      all of them",
    ]


@pytest.mark.parametrize("width", range(20, 100, 7))
def test_no_word_is_lost_and_no_line_is_too_wide(width):
    lines = list(wrap_help(TEXT, width))
    assert " ".join(lines).split() == TEXT.split()
    assert max(map(len, lines)) <= width


def test_a_flag_shows_its_value_once_and_no_hidden_name():
    parser = argparse.ArgumentParser(formatter_class=HelpFormatter)
    action = parser.add_argument("-o", "--out", "--output", metavar="FILE", help="where to")
    assert "-o, --out FILE  where to" in parser.format_help()
    assert flag_name(action) == "--out"
