"""Labels as the values that Python gives: text, whole numbers or True and False; files have them as text."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

from regard.data.frames import column_values
from regard.errors import CheckpointError, DataError

LabelType = Literal["text", "integer", "boolean"]
Label = str | int | bool
TYPE_NAMES: dict[LabelType, str] = {"text": "text", "integer": "whole numbers", "boolean": "True and False"}
BOOLEANS = {"False": False, "True": True}


def find_label_type(labels: Sequence[object]) -> LabelType | None:
    """Return the type that all labels have, or None."""
    types = {type(label) for label in labels}
    python_types: dict[LabelType, type] = {"text": str, "integer": int, "boolean": bool}
    return next((name for name, each in python_types.items() if types == {each}), None)


def read_labels(name: str, labels: Any) -> tuple[list[Label], LabelType]:
    """Return the labels of a list, an array or a Series as Python values, and the type that all have."""
    if labels is None or isinstance(labels, str):
        raise DataError(f"{name} must be a list with a label for each text")
    values = [value.item() if isinstance(value, np.generic) else value for value in column_values(labels)]
    label_type = find_label_type(values)
    if label_type is None:
        allowed = " or ".join(TYPE_NAMES.values())
        described = "; ".join(_first_of_each_type(values)) or "nothing"
        raise DataError(f"{name} must all be {allowed}, not a mixture, and they have {described}")
    return values, label_type  # pyright: ignore[reportReturnType]  # find_label_type has checked them


def parse_label(text: str, label_type: LabelType) -> Label:
    """Return the label that a model folder has as text."""
    match label_type:
        case "text":
            return text
        case "boolean" if text in BOOLEANS:
            return BOOLEANS[text]
        case "integer" if text.removeprefix("-").isdecimal() and text.isascii():
            return int(text)
    raise CheckpointError(f"the label {text!r} is not of data.label_type = {label_type}; set it to text")


def _first_of_each_type(values: Iterable[object]) -> list[str]:
    """Describe the first value of each type."""
    first: dict[type, str] = {}
    for number, value in enumerate(values):
        described = "none" if value is None else repr(value)
        first.setdefault(type(value), f"{described} in row {number}")
    return list(first.values())
