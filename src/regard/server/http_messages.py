"""What is asked of the explorer and what it answers, without a word of HTTP's grammar."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from regard.errors import RegardError

JSON, LINES, HTML = "application/json", "application/x-ndjson", "text/html; charset=utf-8"


@dataclass(frozen=True)
class Request:
    """One request, after everything that makes it one was checked."""

    body: Mapping[str, Any] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    known: str | None = None
    """The ETag of what the browser has already."""
    gone: Callable[[], bool] = lambda: False
    """Whether whoever asked has hung up."""


@dataclass(frozen=True)
class Reply:
    """One answer; an iterator is sent piece by piece, as the pieces are found."""

    body: bytes | Iterator[bytes]
    kind: str = JSON
    status: HTTPStatus = HTTPStatus.OK
    headers: Mapping[str, str] = field(default_factory=dict)


Route = Callable[[Request], Reply]
Routes = Mapping[str, Mapping[str, Route]]
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


def written(content: object) -> bytes:
    """As JSON, which has no infinity and no NaN."""
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def reply(content: object) -> Reply:
    """An answer in JSON."""
    return Reply(written(content))


def refused(refusal: RequestError) -> Reply:
    """A refusal as an answer."""
    return Reply(error_line(refusal), status=refusal.status)


def error_line(refusal: RequestError) -> bytes:
    """A refusal as JSON."""
    said: dict[str, object] = {"code": refusal.code, "message": str(refusal)}
    if refusal.limit is not None:
        said["limit"] = refusal.limit
    return written({"error": said})
