"""NumPy arrays in JSON: dtype, shape and base64 bytes."""

import base64
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from regard.errors import DataError

PackedDtype = Literal["u8", "u16", "f16", "f32"]

_STORED: dict[str, np.dtype] = {
    "u8": np.dtype("<u1"),
    "u16": np.dtype("<u2"),
    "f16": np.dtype("<f2"),
    "f32": np.dtype("<f4"),
}
_MAX_INTEGER = {"u8": 255, "u16": 65_535}
"""The integer that stands for 1.0: integer types hold fractions from 0 to 1."""


def pack_array(array: np.ndarray, dtype: PackedDtype) -> dict[str, Any]:
    """Return the array as JSON: little-endian, in C order."""
    if dtype in _MAX_INTEGER:
        if array.size and not (array.min() >= 0 and array.max() <= 1):
            raise ValueError(f"{dtype} holds fractions from 0 to 1, and these go up to {array.max()}")
        array = np.rint(array * _MAX_INTEGER[dtype])
    stored = np.ascontiguousarray(array, _STORED[dtype])
    data = base64.b64encode(stored.tobytes()).decode("ascii")
    return {"dtype": dtype, "shape": list(array.shape), "data": data}


def unpack_array(packed: Mapping[str, Any]) -> np.ndarray:
    """Return a packed array in float32."""
    try:
        dtype = packed["dtype"]
        stored = np.frombuffer(base64.b64decode(packed["data"], validate=True), _STORED[dtype])
        array = stored.reshape(packed["shape"]).astype(np.float32)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"this is not a packed array: {error}") from None
    return array / np.float32(_MAX_INTEGER[dtype]) if dtype in _MAX_INTEGER else array
