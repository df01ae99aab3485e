"""CTranslate2's file format: numbers under names, some of which are other names for the same numbers.

CTranslate2's own package can write it too, but imports torch to do so wherever torch is installed, and
that alone takes longer than a first translation should.
"""

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np

FORMAT = 6
"""CTranslate2 goes on reading the formats it once wrote, so this need not follow it."""
KIND, REVISION = "TransformerSpec", 7
"""What it expects under which names."""
TYPES = {"float32": 0, "int8": 1, "int16": 2, "int32": 3}


def write_model_file(path: Path, named: Mapping[str, np.ndarray], also: Mapping[str, str]) -> None:
    """Every array under its name, then the names in `also`, each for another that is there."""
    with path.open("wb") as file:
        file.write(struct.pack("<I", FORMAT))
        _write_text(file, KIND)
        file.write(struct.pack("<II", REVISION, len(named)))
        for name, value in named.items():
            _write_text(file, name)
            file.write(struct.pack(f"<B{value.ndim}I", value.ndim, *value.shape))
            file.write(struct.pack("<BI", TYPES[value.dtype.name], value.nbytes))
            file.write(value.tobytes())
        file.write(struct.pack("<I", len(also)))
        for name, other in also.items():
            _write_text(file, name)
            _write_text(file, other)


def _write_text(file: BinaryIO, text: str) -> None:
    content = text.encode() + b"\0"
    file.write(struct.pack("<H", len(content)) + content)
