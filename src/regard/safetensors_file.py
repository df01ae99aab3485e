"""The header of a safetensors file, checked without reading the tensors; needs no torch."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from regard.errors import CheckpointError
from regard.strict_json import parse_json

MAX_HEADER_BYTES = 16 * 2**20
"""About 150,000 tensors."""
LENGTH_BYTES = 8
"""The length of the header, at the start of the file."""
METADATA_KEY = "__metadata__"
DTYPE_BYTES = {
    "F64": 8,
    "F32": 4,
    "F16": 2,
    "BF16": 2,
    "I64": 8,
    "I32": 4,
    "I16": 2,
    "I8": 1,
    "U8": 1,
    "BOOL": 1,
}
WEIGHT_DTYPE = "F32"
MAX_DIMENSIONS = 8

Shape = tuple[int, ...]


class TensorSpec(NamedTuple):
    """What the header says of one tensor."""

    dtype: str
    shape: Shape
    start: int
    """First byte, counted from the end of the header."""
    end: int


def read_tensor_specs(path: Path) -> dict[str, TensorSpec]:
    """Return the tensors of a file by name; the tensors must fill the file, without gaps and overlaps."""
    try:
        specs, data_bytes = _read_header(path)
        _check_layout(specs, data_bytes)
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from None
    return specs


def check_weight_specs(path: Path, expected: Iterable[tuple[str, Shape]]) -> None:
    """Compare the weights of a file with those that the settings call for, before anything is allocated.

    `expected` is read no further than to the first difference: the settings may call for a million layers.
    """
    specs = read_tensor_specs(path)
    unmatched, error_prefix = dict.fromkeys(specs), f"{path} does not fit its config.toml"
    for name, shape in expected:
        if name not in specs:
            raise CheckpointError(f"{error_prefix}: {name} is missing")
        dtype, actual_shape, *_ = specs[name]
        if actual_shape != shape:
            raise CheckpointError(f"{error_prefix}: {name} is {list(actual_shape)}, not {list(shape)}")
        if dtype != WEIGHT_DTYPE:
            raise CheckpointError(f"{error_prefix}: {name} is {dtype}, not {WEIGHT_DTYPE}")
        del unmatched[name]
    if unmatched:
        raise CheckpointError(f"{error_prefix}: the model has no {min(unmatched)}")


def _read_header(path: Path) -> tuple[dict[str, TensorSpec], int]:
    """Return the tensors and the number of bytes after the header."""
    if not path.is_file():
        raise ValueError("it is not a file")
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(LENGTH_BYTES), "little")
        if size < LENGTH_BYTES or length > min(size - LENGTH_BYTES, MAX_HEADER_BYTES):
            raise ValueError("its header is longer than the file, or than any of regard's")
        header = parse_json(file.read(length), MAX_HEADER_BYTES)
    if not isinstance(header, dict):
        raise ValueError("its header is not an object")
    specs = {name: _parse_spec(name, entry) for name, entry in header.items() if name != METADATA_KEY}
    return specs, size - LENGTH_BYTES - length


def _parse_spec(name: str, entry: Any) -> TensorSpec:
    """Return the spec of one tensor; its size must be that of its shape and dtype."""
    if not (name.isprintable() and name.isascii() and 0 < len(name) <= 200):
        raise ValueError(f"its header names a tensor {name[:80]!a}")
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise ValueError(f"{name} has no dtype, shape and data_offsets in its header")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPE_BYTES:
        raise ValueError(f"{name} has an unknown dtype")
    if not _are_counts(shape) or len(shape) > MAX_DIMENSIONS:
        raise ValueError(f"{name} has no valid shape")
    if not _are_counts(offsets) or len(offsets) != 2:
        raise ValueError(f"{name} has no valid data_offsets")
    if offsets[1] - offsets[0] != math.prod(shape) * DTYPE_BYTES[dtype]:
        raise ValueError(f"the size of {name} is not that of its shape")
    return TensorSpec(dtype, tuple(shape), *offsets)


def _are_counts(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int and 0 <= value < 2**48 for value in values)


def _check_layout(specs: dict[str, TensorSpec], data_bytes: int) -> None:
    end = 0
    for name, spec in sorted(specs.items(), key=lambda item: (item[1].start, item[1].end)):
        if spec.start != end:
            raise ValueError(f"{name} overlaps another tensor, or leaves a gap")
        end = spec.end
    if end != data_bytes:
        raise ValueError(f"its tensors have {end:,} bytes, and {data_bytes:,} follow the header")
