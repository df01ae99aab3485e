"""What is asked of the explorer and what it answers, without a word of HTTP's grammar."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from regard.errors import RegardError

JSON_TYPE, NDJSON_TYPE, HTML_TYPE = "application/json", "application/x-ndjson", "text/html; charset=utf-8"


@dataclass(frozen=True)
class ApiRequest:
    """One request, after everything that makes it one was checked."""

    body: Mapping[str, Any] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    if_none_match: str | None = None
    """The ETag of what the browser has already."""
    is_disconnected: Callable[[], bool] = lambda: False
    """Whether whoever asked has hung up."""


@dataclass(frozen=True)
class ApiResponse:
    """One answer; an iterator is sent piece by piece, as the pieces are found."""

    body: bytes | Iterator[bytes]
    content_type: str = JSON_TYPE
    status: HTTPStatus = HTTPStatus.OK
    headers: Mapping[str, str] = field(default_factory=dict)


RouteHandler = Callable[[ApiRequest], ApiResponse]
RouteTable = Mapping[str, Mapping[str, RouteHandler]]
"""By path and by method; what is not in it does not exist, so that no path leads out of it."""


class RequestError(RegardError):
    """A request that is not answered, and why; `code` is for the page, the message for a person."""

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
    """As JSON, which has no infinity and no NaN."""
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def json_response(content: object) -> ApiResponse:
    """An answer in JSON."""
    return ApiResponse(to_json_bytes(content))


def error_response(error: RequestError) -> ApiResponse:
    """A refusal as an answer."""
    return ApiResponse(error_to_json(error), status=error.status)


def error_to_json(error: RequestError) -> bytes:
    """A refusal as JSON."""
    said: dict[str, object] = {"code": error.code, "message": str(error)}
    if error.limit is not None:
        said["limit"] = error.limit
    return to_json_bytes({"error": said})
