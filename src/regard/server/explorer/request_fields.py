"""Parsing of request fields: each with its type and bounds, else a 400 error."""

import math
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, TypeVar

from regard.server.web.responses import RequestError

JsonBody = Mapping[str, Any]
ChoiceT = TypeVar("ChoiceT", bound=str)


def parse_text_field(body: JsonBody, name: str, default: str | None = None) -> str:
    """Return a text that is valid UTF-8."""
    value = body.get(name, default)
    if not isinstance(value, str):
        raise _bad_value(name, "a text", value)
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise _bad_value(name, "a text without lone surrogates (U+D800 to U+DFFF)", value) from None
    return value


def parse_bounded_text(body: JsonBody, name: str, max_characters: int) -> str:
    """Return a text of at most `max_characters`."""
    value = parse_text_field(body, name)
    if len(value) > max_characters:
        message = f"{name} has {len(value):,} characters, and at most {max_characters:,} are accepted"
        raise RequestError("too_long", message, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, max_characters)
    return value


def parse_text_or_ids(body: JsonBody, name: str) -> str | list[int]:
    """Return a text or a list of token ids; an empty list if the field is missing."""
    value = body.get(name)
    if isinstance(value, list) and all(
        isinstance(each, int) and not isinstance(each, bool) for each in value
    ):
        return value
    return [] if value is None else parse_text_field(body, name)


def parse_object_list(body: JsonBody, name: str) -> list[JsonBody]:
    """Return a list of objects; an empty one if the field is missing."""
    value = body.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise _bad_value(name, "a list of objects", value)
    return value


def parse_text_list(body: JsonBody, name: str, count: int, max_characters: int) -> list[str]:
    """Return a list of exactly `count` texts."""
    values = body.get(name)
    if not isinstance(values, list) or len(values) != count:
        raise _bad_value(name, f"a list of {count} texts", values)
    return [parse_bounded_text({name: value}, name, max_characters) for value in values]


def parse_integer(body: JsonBody, name: str, default: int | None, minimum: int, maximum: int) -> int:
    """Return a whole number."""
    value = body.get(name)
    value = default if value is None else value
    if not isinstance(value, int) or isinstance(value, bool) or not minimum <= value <= maximum:
        raise _bad_value(name, f"a whole number from {minimum} to {maximum}", value)
    return value


def parse_number(body: JsonBody, name: str, default: float, minimum: float, maximum: float) -> float:
    """Return a finite number."""
    value = body.get(name)
    value = default if value is None else value
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _bad_value(name, f"a number from {minimum:g} to {maximum:g}", value)
    if not (math.isfinite(value) and minimum <= value <= maximum):
        raise _bad_value(name, f"a number from {minimum:g} to {maximum:g}", value)
    return float(value)


def parse_choice(body: JsonBody, name: str, allowed: Sequence[ChoiceT]) -> ChoiceT:
    """Return one of the allowed words."""
    value = body.get(name)
    for word in allowed:
        if word == value:
            return word
    raise _bad_value(name, f"one of {', '.join(allowed)}", value)


def parse_object(body: JsonBody, name: str) -> JsonBody:
    """Return a nested object."""
    value = body.get(name)
    if not isinstance(value, dict):
        raise _bad_value(name, "an object", value)
    return value


def parse_query_numbers(query: Mapping[str, str]) -> JsonBody:
    """Return the query parameters, with decimal values as numbers."""
    numbers = {name: value for name, value in query.items() if value.isascii() and value.isdecimal()}
    return {**query, **{name: int(value) for name, value in numbers.items() if len(value) < 12}}


def _bad_value(name: str, expected: str, value: object) -> RequestError:
    value_text = repr(value)
    value_text = value_text if len(value_text) <= 60 else f"{value_text[:60]}…"
    return RequestError("bad_value", f"{name} must be {expected}, and is {value_text}")
