"""Figures that commands write, in the format of their file name."""

import sys
from pathlib import Path

from regard.cli.output import write_output


def write_figure(path: Path, svg: str) -> None:
    """Write a figure as the suffix says; print a note if it has characters that no installed font has."""
    from regard.plots.figure_file import encode_figure_file

    content, missing = encode_figure_file(svg, path.suffix.lower())
    write_output(path, content)
    if missing:
        shown = missing[:20] + ("…" if len(missing) > 20 else "")
        sys.stderr.write(
            f"{path}: no installed font has {shown}; they are boxes. Install a font for them, or write .svg\n"
        )
