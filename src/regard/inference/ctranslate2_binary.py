"""The file `model.bin` of a CTranslate2 model: written, and checked before CTranslate2 reads it; no torch."""

import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from regard.errors import CheckpointError

BINARY_VERSION = 6
"""The version of the file format; newer CTranslate2 releases still read it."""
SPEC_NAME, SPEC_REVISION = "TransformerSpec", 7
"""The set of array names that CTranslate2 expects."""
DTYPE_CODES = {"float32": 0, "int8": 1, "int16": 2, "int32": 3}

BinaryPart = bytes | np.ndarray
"""Fixed bytes, or the values of an array."""


def write_ctranslate2_binary(
    path: Path, arrays: Mapping[str, np.ndarray], aliases: Mapping[str, str]
) -> None:
    """Write arrays by name, then `aliases`: further names of arrays already written."""
    with path.open("wb") as file:
        for part in _binary_parts(arrays, aliases):
            file.write(part if isinstance(part, bytes) else part.tobytes())


def check_ctranslate2_binary(
    path: Path, arrays: Mapping[str, np.ndarray], aliases: Mapping[str, str]
) -> None:
    """Refuse a file that differs from what is written for such arrays in more than the values of matrices.

    CTranslate2 trusts the file: wrong sizes or a number of heads of 0 end the process. Only the names, types
    and shapes of `arrays` count, and the values of scalars; the others may be zeros without memory.
    """
    with path.open("rb") as file:
        for part in _binary_parts(arrays, aliases):
            if isinstance(part, bytes):
                is_valid = file.read(len(part)) == part
            else:
                values = file.read(part.nbytes) if part.dtype == np.float32 else b""
                is_valid = _are_finite(values)
                file.seek(part.nbytes - len(values), 1)
            if not is_valid:
                raise CheckpointError(f"{path} is damaged: it is not what was written")
        if file.read(1) or file.tell() != path.stat().st_size:
            raise CheckpointError(f"{path} is damaged: it has another length than what was written")


def _are_finite(values: bytes) -> bool:
    array = np.frombuffer(values[: len(values) // 4 * 4], np.float32)
    return not array.size or bool(np.isfinite([array.min(), array.max()]).all())


def _binary_parts(arrays: Mapping[str, np.ndarray], aliases: Mapping[str, str]) -> Iterator[BinaryPart]:
    """Yield the file in parts; scalars are among the fixed bytes."""
    yield (
        struct.pack("<I", BINARY_VERSION) + _text(SPEC_NAME) + struct.pack("<II", SPEC_REVISION, len(arrays))
    )
    for name, value in arrays.items():
        shape = struct.pack(f"<B{value.ndim}I", value.ndim, *value.shape)
        yield _text(name) + shape + struct.pack("<BI", DTYPE_CODES[value.dtype.name], value.nbytes)
        yield value.tobytes() if value.ndim == 0 else value
    yield struct.pack("<I", len(aliases))
    for name, other in aliases.items():
        yield _text(name) + _text(other)


def _text(text: str) -> bytes:
    content = text.encode() + b"\0"
    return struct.pack("<H", len(content)) + content
