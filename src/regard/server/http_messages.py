"""Requests, responses, routes and errors of the explorer's API, independent of the HTTP server."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from regard.errors import RegardError

JSON_TYPE, NDJSON_TYPE, HTML_TYPE = "application/json", "application/x-ndjson", "text/html; charset=utf-8"


@dataclass(frozen=True)
class ApiRequest:
    """A validated request."""

    body: Mapping[str, Any] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    if_none_match: str | None = None
    """ETag of the client's cached copy."""
    is_disconnected: Callable[[], bool] = lambda: False
    """Return whether the client has disconnected."""


@dataclass(frozen=True)
class ApiResponse:
    """A response; an iterator is streamed chunk by chunk."""

    body: bytes | Iterator[bytes]
    content_type: str = JSON_TYPE
    status: HTTPStatus = HTTPStatus.OK
    headers: Mapping[str, str] = field(default_factory=dict)


RouteHandler = Callable[[ApiRequest], ApiResponse]
RouteTable = Mapping[str, Mapping[str, RouteHandler]]
"""Handlers by path and method. Only these exact paths exist, so no path can leave the folder."""


class RequestError(RegardError):
    """A rejected request; `code` is for the page, the message for a person."""

    def __init__(
        self,
        code: str,
        message: str,
        status: HTTPStatus = HTTPStatus.BAD_REQUEST,
        limit: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.status, self.limit = code, status, limit


def to_json_bytes(content: object) -> bytes:
    """Return JSON, which must have no infinity and no NaN."""
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def json_response(content: object) -> ApiResponse:
    """Return a JSON response."""
    return ApiResponse(to_json_bytes(content))


def error_response(error: RequestError) -> ApiResponse:
    """Return an error response."""
    return ApiResponse(error_to_json(error), status=error.status)


def error_to_json(error: RequestError) -> bytes:
    """Return an error as JSON."""
    data: dict[str, object] = {"code": error.code, "message": str(error)}
    if error.limit is not None:
        data["limit"] = error.limit
    return to_json_bytes({"error": data})
