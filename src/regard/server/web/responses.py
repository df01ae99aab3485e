"""Request errors, and responses as JSON, as JSON lines and as bytes."""

import sys
import traceback
from collections.abc import AsyncIterator, Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.responses import Response, StreamingResponse

from regard.errors import RegardError

JSON_TYPE, NDJSON_TYPE, HTML_TYPE = "application/json", "application/x-ndjson", "text/html; charset=utf-8"


def _plain_number(value: Any) -> Any:
    """Return the Python number of a NumPy one."""
    return value.item()


_encoder = msgspec.json.Encoder(enc_hook=_plain_number)


class RequestError(RegardError):
    """A rejected request; `code` is for programs, the message for a person."""

    def __init__(
        self,
        code: str,
        message: str,
        status: int = HTTPStatus.BAD_REQUEST,
        limit: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.status, self.limit, self.headers = code, status, limit, headers or {}


def to_json_bytes(content: object) -> bytes:
    """Return JSON in UTF-8; numbers that are not finite, which JSON does not have, become null."""
    return _encoder.encode(content)


def json_response(content: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a JSON response."""
    return bytes_response(to_json_bytes(content), status=status, headers=headers)


def bytes_response(
    content: bytes,
    media_type: str = JSON_TYPE,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return a response of encoded content."""
    response = Response(content, status, headers)
    response.headers["Content-Type"] = media_type  # as given: Starlette would add a charset
    return response


def error_response(error: RequestError) -> Response:
    """Return an error as `{"error": {"code": …, "message": …}}`, with `limit` if it has one."""
    return bytes_response(error_to_json(error), status=error.status, headers=error.headers)


def error_to_json(error: RequestError) -> bytes:
    """Return an error as JSON."""
    data: dict[str, Any] = {"code": error.code, "message": str(error)}
    if error.limit is not None:
        data["limit"] = error.limit
    return to_json_bytes({"error": data})


def lines_response(lines: AsyncIterator[bytes]) -> Response:
    """Return a streamed response of JSON lines; an error on the way becomes the last line."""
    response = StreamingResponse(_with_error_line(lines))
    response.headers["Content-Type"] = NDJSON_TYPE
    return response


async def _with_error_line(lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    try:
        async for line in lines:
            yield line
    except Exception as error:
        yield error_to_json(to_request_error(error)) + b"\n"


def to_request_error(error: Exception) -> RequestError:
    """Convert an error for the client; the traceback of an unexpected one is for the terminal only."""
    if isinstance(error, RequestError):
        return error
    if isinstance(error, RegardError):
        return RequestError("refused", str(error), HTTPStatus.UNPROCESSABLE_ENTITY)
    sys.stderr.write("".join(traceback.format_exception(error)))
    message = f"internal server error ({type(error).__name__}); see the terminal of the server"
    return RequestError("internal", message, HTTPStatus.INTERNAL_SERVER_ERROR)
