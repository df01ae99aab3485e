"""Fields of DeepL's requests, from JSON, forms and query strings, and its error answers."""

import re
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import Response

from regard.server.operations.access import KeyRequiredError, QuotaExceededError, UnknownKeyError
from regard.server.surfaces.surface import ErrorStatuses
from regard.server.translation.requests import DeadlineExceededError
from regard.server.web.application import has_body
from regard.server.web.request_body import content_type, read_form, read_json_object, read_query
from regard.server.web.responses import JSON_TYPE, RequestError, json_response

QUOTA_EXCEEDED = 456
"""DeepL's status for a quota that is used up; HTTP has no such status."""
STATUSES: ErrorStatuses = {
    KeyRequiredError: HTTPStatus.FORBIDDEN,
    UnknownKeyError: HTTPStatus.FORBIDDEN,
    QuotaExceededError: QUOTA_EXCEEDED,
    DeadlineExceededError: HTTPStatus.SERVICE_UNAVAILABLE,
}
"""As DeepL answers, where that differs from the other surfaces."""
KEY_SCHEME = "deepl-auth-key "
LIST_FIELDS = ("text", "ignore_tags", "splitting_tags", "non_splitting_tags")
"""Fields that are lists, and in forms repeated."""
OBJECT_FIELD = re.compile(r"(\w+)\[([0-9]{1,4})\]\.(\w+)", re.ASCII)
"""A field of an object in a list, as deepl-node writes it in forms."""
MESSAGES = {
    HTTPStatus.FORBIDDEN: "Authorization failed",
    HTTPStatus.NOT_FOUND: "Not found",
    HTTPStatus.TOO_MANY_REQUESTS: "Too many requests",
    QUOTA_EXCEEDED: "Quota exceeded",
    HTTPStatus.SERVICE_UNAVAILABLE: "Service unavailable",
}


def deepl_error(error: RequestError) -> Response:
    """Return an error in DeepL's shape."""
    message = MESSAGES.get(error.status, "Bad request")
    return json_response({"message": message, "detail": str(error)}, error.status, error.headers)


def invalid_value(name: str, detail: str) -> RequestError:
    return RequestError("bad_value", f"Value for '{name}' not supported: {detail}")


async def read_values(request: Request) -> dict[str, Any]:
    """Return the fields of a request; in a form, those of `LIST_FIELDS` are lists."""
    values = collect_fields(read_query(request))
    if not has_body(request):
        return values
    if content_type(request) == JSON_TYPE:
        return values | await read_json_object(request)
    return values | collect_fields(await read_form(request))


def collect_fields(pairs: Iterable[tuple[str, str | UploadFile]]) -> dict[str, Any]:
    """Return the texts of a form by name; the first of a repeated field counts, unless it is a list.

    Fields such as `dictionaries[0].entries` are the objects of a list.
    """
    values: dict[str, Any] = {}
    objects: dict[str, dict[int, dict[str, str]]] = {}
    for written, value in pairs:
        name = written.removesuffix("[]")
        if isinstance(value, UploadFile):
            continue
        if part := OBJECT_FIELD.fullmatch(name):
            objects.setdefault(part[1], {}).setdefault(int(part[2]), {}).setdefault(part[3], value)
        elif name in LIST_FIELDS:
            values.setdefault(name, []).append(value)
        else:
            values.setdefault(name, value)
    return values | {name: [items[index] for index in sorted(items)] for name, items in objects.items()}


def read_deepl_key(request: Request, values: Mapping[str, Any]) -> str | None:
    """Return the key of the header `Authorization: DeepL-Auth-Key`, or of the field `auth_key`."""
    header = request.headers.get("Authorization", "")
    if header.lower().startswith(KEY_SCHEME):
        return header[len(KEY_SCHEME) :].strip() or None
    return optional_text(values, "auth_key")


def optional_text(values: Mapping[str, Any], name: str) -> str | None:
    """Return a field that is a text, or None if it is missing or empty."""
    value = values.get(name)
    if value is not None and not isinstance(value, str):
        raise invalid_value(name, "it must be a string")
    return value or None


def required_text(values: Mapping[str, Any], name: str) -> str:
    """Return a field that must be a text and not empty."""
    value = optional_text(values, name)
    if value is None:
        raise RequestError("missing", f"Parameter '{name}' not specified.")
    return value


def read_choice(values: Mapping[str, Any], name: str, choices: tuple[str, ...], default: str) -> str:
    """Return a field that is one of some words."""
    value = values.get(name)
    if value is None or value == "":
        return default
    word = str(value).lower() if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if word not in choices:
        raise invalid_value(name, f"it must be {', '.join(choices)}")
    return word


def read_boolean(values: Mapping[str, Any], name: str, default: bool) -> bool:
    """Return a field that is a boolean in JSON, or 0 or 1."""
    value = values.get(name)
    if value is None or value == "":
        return default
    if isinstance(value, bool):
        return value
    return read_choice({name: value}, name, ("0", "1", "false", "true"), "") in ("1", "true")


def read_names(values: Mapping[str, Any], name: str) -> frozenset[str]:
    """Return names that are a list, or joined by commas."""
    value = values.get(name) or []
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(each, str) for each in items):
        raise invalid_value(name, "it must be a list of names")
    return frozenset(part.strip() for each in items for part in each.split(",") if part.strip())
