"""The fields of a request, each of the type and within the bounds that it must have."""

import math
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, TypeVar

from regard.server.http_messages import RequestError

Body = Mapping[str, Any]
Word = TypeVar("Word", bound=str)


def text(body: Body, name: str, default: str | None = None) -> str:
    """A text without half a character in it."""
    value = body.get(name, default)
    if not isinstance(value, str):
        raise _wrong(name, "a text", value)
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise _wrong(name, "a text without half a character (U+D800 to U+DFFF)", value) from None
    return value


def short_text(body: Body, name: str, longest: int) -> str:
    """A text of at most so many characters."""
    value = text(body, name)
    if len(value) > longest:
        message = f"{name} has {len(value):,} characters, and at most {longest:,} are read"
        raise RequestError("too_long", message, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, longest)
    return value


def text_or_ids(body: Body, name: str) -> str | list[int]:
    """A text, or token ids; neither is no ids."""
    value = body.get(name)
    if isinstance(value, list) and all(
        isinstance(each, int) and not isinstance(each, bool) for each in value
    ):
        return value
    return [] if value is None else text(body, name)


def objects(body: Body, name: str) -> list[Body]:
    """A list of them; nothing is an empty one."""
    value = body.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise _wrong(name, "a list of objects", value)
    return value


def texts(body: Body, name: str, count: int, longest: int) -> list[str]:
    """So many of them."""
    values = body.get(name)
    if not isinstance(values, list) or len(values) != count:
        raise _wrong(name, f"a list of {count} texts", values)
    return [short_text({name: value}, name, longest) for value in values]


def whole(body: Body, name: str, default: int | None, low: int, high: int) -> int:
    """A whole number."""
    value = body.get(name)
    value = default if value is None else value
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise _wrong(name, f"a whole number from {low} to {high}", value)
    return value


def number(body: Body, name: str, default: float, low: float, high: float) -> float:
    """A number that may have a fraction."""
    value = body.get(name)
    value = default if value is None else value
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _wrong(name, f"a number from {low:g} to {high:g}", value)
    if not (math.isfinite(value) and low <= value <= high):
        raise _wrong(name, f"a number from {low:g} to {high:g}", value)
    return float(value)


def choice(body: Body, name: str, allowed: Sequence[Word]) -> Word:
    """One of a few words."""
    value = body.get(name)
    for word in allowed:
        if word == value:
            return word
    raise _wrong(name, f"one of {', '.join(allowed)}", value)


def inner(body: Body, name: str) -> Body:
    """An object inside of it."""
    value = body.get(name)
    if not isinstance(value, dict):
        raise _wrong(name, "an object", value)
    return value


def numbers(query: Mapping[str, str]) -> Body:
    """The values of an address, those that are digits as numbers."""
    few = {name: value for name, value in query.items() if value.isascii() and value.isdecimal()}
    return {**query, **{name: int(value) for name, value in few.items() if len(value) < 12}}


def _wrong(name: str, right: str, value: object) -> RequestError:
    shown = repr(value)
    shown = shown if len(shown) <= 60 else f"{shown[:60]}…"
    return RequestError("bad_value", f"{name} must be {right}, and is {shown}")
