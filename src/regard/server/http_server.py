"""An HTTP server for one person's browser: the standard library's, made careful."""

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
"""In the body of a request."""
MAX_DISCARDED_BYTES = 16 * MAX_BODY_BYTES
"""Of a body that is too large so much is read, so that whoever sends it hears why it is refused."""
MAX_LENGTH_DIGITS = 30
"""Of a length: more are as much too large."""
MIN_COMPRESSED_BYTES = 1000
"""Bytes that are not worth compressing."""
SOCKET_TIMEOUT_SECONDS = 30.0
"""Seconds to wait for somebody who sends nothing."""


class ExplorerServer(ThreadingHTTPServer):
    """Answers by a table of routes, each request in a thread of its own."""

    daemon_threads = True

    def __init__(self, host: str, port: int, routes: RouteTable) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            super().__init__((host, port), RequestHandler)
        except (OSError, OverflowError) as error:
            said = error.strerror if isinstance(error, OSError) else "there is no such port"
            raise RegardError(
                f"{host}:{port} cannot be served on: {said}; another --port would do, 0 finds a free one"
            ) from None
        self.routes = routes
        self.guard = HostGuard(host, self.server_port)
        shown = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "[::1]"}.get(host, host)
        self.url = (
            f"http://{f'[{shown}]' if ':' in shown and '[' not in shown else shown}:{self.server_port}/"
        )

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that hangs up is nothing to tell."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class RequestHandler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = SOCKET_TIMEOUT_SECONDS

    def do_GET(self) -> None:
        self._handle()

    do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_GET  # noqa: N815, HTTP's names

    def version_string(self) -> str:
        return "regard"

    def log_message(self, format: str, *args: Any) -> None:
        """The terminal is for what matters."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What is no request at all, in the form of every other refusal."""
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
            found = self._server.routes.get(path)
            if found is None:
                raise RequestError("not_found", "there is nothing under this address", HTTPStatus.NOT_FOUND)
            method = "GET" if self.command == "HEAD" else self.command
            if method not in found:
                return self._method_not_allowed(found)
            body = self._read_body() if method == "POST" else {}
            known = self.headers.get("If-None-Match")
            return found[method](ApiRequest(body, _parse_query(query), known, self._is_disconnected))
        except (ConnectionError, TimeoutError):
            raise
        except Exception as error:
            self._discard_body()
            return error_response(_to_request_error(error))

    def _method_not_allowed(self, found: Mapping[str, object]) -> ApiResponse:
        self._discard_body()
        allowed = ", ".join(["GET", "HEAD"] if "GET" in found else found)
        refusal = RequestError("method", f"this address answers {allowed}", HTTPStatus.METHOD_NOT_ALLOWED)
        return ApiResponse(error_to_json(refusal), status=refusal.status, headers={"Allow": allowed})

    def _read_body(self) -> Mapping[str, Any]:
        if self.headers.get_content_type() != JSON_TYPE or "Content-Type" not in self.headers:
            message = f"send Content-Type: {JSON_TYPE}"
            raise RequestError("content_type", message, HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        length = self._content_length()
        if length is None or "Transfer-Encoding" in self.headers:
            raise RequestError("length", "send Content-Length, in bytes", HTTPStatus.LENGTH_REQUIRED)
        if length > MAX_BODY_BYTES:
            message = f"the body is larger than what is read, {MAX_BODY_BYTES:,} bytes"
            raise RequestError("too_large", message, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, MAX_BODY_BYTES)
        content = self.rfile.read(length)
        del self.headers["Content-Length"]  # nothing is left to be read
        return _parse_json_body(content)

    def _content_length(self) -> int | None:
        """Bytes of the body, as its sender says; Python reads no number of thousands of digits."""
        said = self.headers.get("Content-Length", "")
        return int(said.lstrip("0")[:MAX_LENGTH_DIGITS] or 0) if said.isascii() and said.isdecimal() else None

    def _discard_body(self) -> None:
        """What was not read must not be taken for the next request."""
        left = self._content_length() or 0
        if left or "Transfer-Encoding" in self.headers:
            self.close_connection = True
        left = min(left, MAX_DISCARDED_BYTES)
        with suppress(OSError):
            while left > 0 and (read := self.rfile.read(min(left, 2**16))):
                left -= len(read)

    def _is_disconnected(self) -> bool:
        """Whether the other end is closed: readable, and nothing to read."""
        readable, _, _ = select.select([self.connection], [], [], 0)
        try:
            return bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)
        except OSError:
            return True

    def _send(self, answer: ApiResponse) -> None:
        """Complete, or line by line."""
        self.send_response(answer.status)
        for name, value in (SECURITY_HEADERS | {"Cache-Control": "no-store"} | dict(answer.headers)).items():
            self.send_header(name, value)
        if answer.status != HTTPStatus.NOT_MODIFIED:
            self.send_header("Content-Type", answer.content_type)
        if isinstance(answer.body, bytes):
            self._send_whole(answer.body)
        else:
            self._send_lines(answer.body)

    def _send_whole(self, body: bytes) -> None:
        self.send_header("Vary", "Accept-Encoding")
        if len(body) > MIN_COMPRESSED_BYTES and _accepts_gzip(self._header("Accept-Encoding")):
            body = gzip.compress(body, compresslevel=1, mtime=0)  # more would take longer than sending it
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
        """Of a request that may have been too strange to have any."""
        headers = getattr(self, "headers", None)
        return "" if headers is None else headers.get(name, "")

    @property
    def _server(self) -> ExplorerServer:
        return cast(ExplorerServer, self.server)


def _with_error_line(lines: Iterator[bytes]) -> Iterator[bytes]:
    """What goes wrong on the way becomes the last line."""
    try:
        yield from lines
    except (ConnectionError, TimeoutError):
        raise
    except Exception as error:
        yield error_to_json(_to_request_error(error)) + b"\n"


def _to_request_error(error: Exception) -> RequestError:
    """What the page is told; what is no fault of the request is told to the terminal, too."""
    if isinstance(error, RequestError):
        return error
    if isinstance(error, RegardError):
        return RequestError("refused", str(error), HTTPStatus.UNPROCESSABLE_ENTITY)
    sys.stderr.write("".join(traceback.format_exception(error)))
    return RequestError(
        "internal",
        f"something went wrong in the server ({type(error).__name__}); its terminal says what",
        HTTPStatus.INTERNAL_SERVER_ERROR,
    )


def _parse_query(text: str) -> Mapping[str, str]:
    try:
        return dict(parse_qsl(text, max_num_fields=20))
    except ValueError:
        raise RequestError("bad_value", "no address here takes so many values after its ?") from None


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
    wanted = [part.replace(" ", "").lower() for part in header.split(",")]
    return any(part == "gzip" or (part.startswith("gzip;") and part != "gzip;q=0") for part in wanted)
