"""HTTP server of the explorer on http.server: limits, timeouts, compression and streaming."""

import gzip
import json
import select
import socket
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast
from urllib.parse import parse_qsl

from regard.errors import RegardError
from regard.server.http_messages import (
    JSON_TYPE,
    ApiRequest,
    ApiResponse,
    RequestError,
    RouteTable,
    error_response,
    error_to_json,
)
from regard.server.security import SECURITY_HEADERS, HostGuard

MAX_BODY_BYTES = 1_000_000
"""Largest request body."""
MAX_DISCARDED_BYTES = 16 * MAX_BODY_BYTES
"""Bytes of a body that is too large which are read and discarded, so that the client gets the error."""
MAX_LENGTH_DIGITS = 30
"""Digits of a Content-Length that are parsed; a longer number is too large anyway."""
MIN_COMPRESSED_BYTES = 1000
"""Smaller bodies are not compressed."""
SOCKET_TIMEOUT_SECONDS = 30.0
"""Timeout of a connection that sends nothing."""


class ExplorerServer(ThreadingHTTPServer):
    """Serves a table of routes, each request in its own thread."""

    daemon_threads = True

    def __init__(self, host: str, port: int, routes: RouteTable) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            super().__init__((host, port), RequestHandler)
        except (OSError, OverflowError) as error:
            reason = error.strerror if isinstance(error, OSError) else "the port does not exist"
            raise RegardError(
                f"cannot serve on {host}:{port}: {reason}; give another --port, or 0 for a free one"
            ) from None
        self.routes = routes
        self.guard = HostGuard(host, self.server_port)
        display_host = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(host, host)
        display_host = f"[{display_host}]" if ":" in display_host else display_host
        self.url = f"http://{display_host}:{self.server_port}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report errors, except that a browser closed the connection."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class RequestHandler(BaseHTTPRequestHandler):
    """Handles the requests of one connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = SOCKET_TIMEOUT_SECONDS

    def do_GET(self) -> None:
        self._handle()

    do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_GET  # noqa: N815, HTTP's names

    def version_string(self) -> str:
        return "regard"

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the terminal is for errors."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Send a malformed request's error in the same JSON form as every other error."""
        status = HTTPStatus(code)
        self.close_connection = True
        self._send(
            error_response(RequestError("bad_request", explain or message or status.description, status))
        )

    def _handle(self) -> None:
        try:
            self._send(self._respond())
        except ConnectionError:
            self.close_connection = True

    def _respond(self) -> ApiResponse:
        try:
            self._server.guard.check(self.headers.get_all("Host", []), self.headers.get("Origin"))
            path, _, query = self.path.partition("?")
            handlers = self._server.routes.get(path)
            if handlers is None:
                raise RequestError("not_found", "this address does not exist", HTTPStatus.NOT_FOUND)
            method = "GET" if self.command == "HEAD" else self.command
            if method not in handlers:
                return self._method_not_allowed(handlers)
            body = self._read_body() if method == "POST" else {}
            known = self.headers.get("If-None-Match")
            return handlers[method](ApiRequest(body, _parse_query(query), known, self._is_disconnected))
        except (ConnectionError, TimeoutError):
            raise
        except Exception as error:
            self._discard_body()
            return error_response(_to_request_error(error))

    def _method_not_allowed(self, handlers: Mapping[str, object]) -> ApiResponse:
        self._discard_body()
        allowed = ", ".join(["GET", "HEAD"] if "GET" in handlers else handlers)
        error = RequestError("method", f"this address accepts {allowed}", HTTPStatus.METHOD_NOT_ALLOWED)
        return ApiResponse(error_to_json(error), status=error.status, headers={"Allow": allowed})

    def _read_body(self) -> Mapping[str, Any]:
        if self.headers.get_content_type() != JSON_TYPE or "Content-Type" not in self.headers:
            message = f"send Content-Type: {JSON_TYPE}"
            raise RequestError("content_type", message, HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        length = self._content_length()
        if length is None or "Transfer-Encoding" in self.headers:
            raise RequestError("length", "send Content-Length, in bytes", HTTPStatus.LENGTH_REQUIRED)
        if length > MAX_BODY_BYTES:
            message = f"the body is larger than {MAX_BODY_BYTES:,} bytes"
            raise RequestError("too_large", message, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, MAX_BODY_BYTES)
        content = self.rfile.read(length)
        del self.headers["Content-Length"]  # the body has been read
        return _parse_json_body(content)

    def _content_length(self) -> int | None:
        """Return the Content-Length; only some digits are parsed, as Python rejects numbers of thousands."""
        length = self.headers.get("Content-Length", "")
        return (
            int(length.lstrip("0")[:MAX_LENGTH_DIGITS] or 0)
            if length.isascii() and length.isdecimal()
            else None
        )

    def _discard_body(self) -> None:
        """Discard an unread body, so that it is not parsed as the next request."""
        remaining = self._content_length() or 0
        if remaining or "Transfer-Encoding" in self.headers:
            self.close_connection = True
        remaining = min(remaining, MAX_DISCARDED_BYTES)
        with suppress(OSError):
            while remaining > 0 and (chunk := self.rfile.read(min(remaining, 2**16))):
                remaining -= len(chunk)

    def _is_disconnected(self) -> bool:
        """Return whether the client closed the connection: it is readable, but has no data."""
        readable, _, _ = select.select([self.connection], [], [], 0)
        try:
            return bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)
        except OSError:
            return True

    def _send(self, response: ApiResponse) -> None:
        """Send a response, complete or streamed."""
        self.send_response(response.status)
        for name, value in (
            SECURITY_HEADERS | {"Cache-Control": "no-store"} | dict(response.headers)
        ).items():
            self.send_header(name, value)
        if response.status != HTTPStatus.NOT_MODIFIED:
            self.send_header("Content-Type", response.content_type)
        if isinstance(response.body, bytes):
            self._send_whole(response.body)
        else:
            self._send_lines(response.body)

    def _send_whole(self, body: bytes) -> None:
        self.send_header("Vary", "Accept-Encoding")
        if len(body) > MIN_COMPRESSED_BYTES and _accepts_gzip(self._header("Accept-Encoding")):
            body = gzip.compress(body, compresslevel=1, mtime=0)  # a higher level takes longer than sending
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _send_lines(self, lines: Iterator[bytes]) -> None:
        chunked = self.request_version == "HTTP/1.1"
        self.close_connection |= not chunked
        self.send_header(*(("Transfer-Encoding", "chunked") if chunked else ("Connection", "close")))
        self.end_headers()
        for line in _with_error_line(lines):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line) if chunked else line)
        if chunked:
            self.wfile.write(b"0\r\n\r\n")

    def _header(self, name: str) -> str:
        """Return a header; a malformed request may have no headers."""
        headers = getattr(self, "headers", None)
        return "" if headers is None else headers.get(name, "")

    @property
    def _server(self) -> ExplorerServer:
        return cast(ExplorerServer, self.server)


def _with_error_line(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines; an error on the way becomes the last line."""
    try:
        yield from lines
    except (ConnectionError, TimeoutError):
        raise
    except Exception as error:
        yield error_to_json(_to_request_error(error)) + b"\n"


def _to_request_error(error: Exception) -> RequestError:
    """Convert an error for the page; an unexpected one is also printed in the terminal."""
    if isinstance(error, RequestError):
        return error
    if isinstance(error, RegardError):
        return RequestError("refused", str(error), HTTPStatus.UNPROCESSABLE_ENTITY)
    sys.stderr.write("".join(traceback.format_exception(error)))
    return RequestError(
        "internal",
        f"internal server error ({type(error).__name__}); see the terminal of `regard explore`",
        HTTPStatus.INTERNAL_SERVER_ERROR,
    )


def _parse_query(text: str) -> Mapping[str, str]:
    try:
        return dict(parse_qsl(text, max_num_fields=20))
    except ValueError:
        raise RequestError("bad_value", "the query has too many parameters") from None


def _parse_json_body(content: bytes) -> Mapping[str, Any]:
    try:
        body = json.loads(content.decode("utf-8"), parse_constant=_reject_constant)
    except (ValueError, RecursionError):
        raise RequestError("bad_json", "the body is not JSON in UTF-8") from None
    if not isinstance(body, dict):
        raise RequestError("bad_json", 'the body is not a JSON object, such as {"text": "…"}')
    return body


def _reject_constant(name: str) -> float:
    raise ValueError(name)


def _accepts_gzip(header: str) -> bool:
    encodings = [encoding.replace(" ", "").lower() for encoding in header.split(",")]
    return any(
        encoding == "gzip" or (encoding.startswith("gzip;") and encoding != "gzip;q=0")
        for encoding in encodings
    )
