"""Arrays inside JSON: a type, a shape, and the bytes in base64."""

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
"""What stands for 1: these types are for shares between 0 and 1."""


def pack_array(array: np.ndarray, dtype: PackedDtype) -> dict[str, Any]:
    """The array as JSON can hold it: little-endian, the last axis fastest."""
    if dtype in _MAX_INTEGER:
        if array.size and not (array.min() >= 0 and array.max() <= 1):
            raise ValueError(f"{dtype} holds shares from 0 to 1, and these go up to {array.max()}")
        array = np.rint(array * _MAX_INTEGER[dtype])
    stored = np.ascontiguousarray(array, _STORED[dtype])
    data = base64.b64encode(stored.tobytes()).decode("ascii")
    return {"dtype": dtype, "shape": list(array.shape), "data": data}


def unpack_array(packed: Mapping[str, Any]) -> np.ndarray:
    """The array that was packed, in float32."""
    try:
        dtype = packed["dtype"]
        stored = np.frombuffer(base64.b64decode(packed["data"], validate=True), _STORED[dtype])
        array = stored.reshape(packed["shape"]).astype(np.float32)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"this is no packed array: {error}") from None
    return array / np.float32(_MAX_INTEGER[dtype]) if dtype in _MAX_INTEGER else array
