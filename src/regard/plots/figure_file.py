"""The file formats of figures: SVG, and PDF and PNG by matplotlib, which is imported only for these."""

from importlib.util import find_spec
from pathlib import Path

from regard.errors import RegardError

MATPLOTLIB_SUFFIXES = (".pdf", ".png")
FIGURE_SUFFIXES = (".svg", *MATPLOTLIB_SUFFIXES)


def check_figure_suffix(path: Path, *others: str) -> str:
    """Return the suffix of an output file in lower case; raise an error if nothing can write it.

    `others` are suffixes of formats that are not figures.
    """
    suffix = path.suffix.lower()
    suffixes = (*others, *FIGURE_SUFFIXES)
    if suffix not in suffixes:
        names = f"{', '.join(suffixes[:-1])} or {suffixes[-1]}"
        raise RegardError(f"{path} has no supported suffix; use a name that ends in {names}")
    if suffix in MATPLOTLIB_SUFFIXES and find_spec("matplotlib") is None:
        raise RegardError(f'{path} needs matplotlib: pip install "regard[figures]"; .svg needs nothing')
    return suffix


def encode_figure_file(svg: str, suffix: str) -> tuple[bytes, str]:
    """Return the content of a figure file, and the characters in it that no installed font has."""
    if suffix not in MATPLOTLIB_SUFFIXES:
        return svg.encode("utf-8"), ""
    from regard.plots.matplotlib_figure import encode_figure

    return encode_figure(svg, suffix.removeprefix("."))
