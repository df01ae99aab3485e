"""One HTTP request and its response: what ASGI's `receive` and `send` do on a connection."""

import asyncio
import re
import sys
import traceback
from http import HTTPStatus
from typing import Any, Protocol, runtime_checkable

from regard.server.web.responses import RequestError, error_to_json

INVALID_HEADER_NAME = re.compile(rb"[^!#$%&'*+\-.^_`|~0-9A-Za-z]")
INVALID_HEADER_VALUE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
MAX_BUFFERED_BODY = 65_536
"""Bytes of a body that wait for the application; the client sends no more until it has read them."""
NO_BODY_STATUSES = (204, 304)


@runtime_checkable
class Connection(Protocol):
    """What an exchange needs of its connection."""

    @property
    def default_headers(self) -> list[tuple[bytes, bytes]]: ...
    def write(self, data: bytes) -> None: ...
    async def drain(self) -> None: ...
    def update_reading(self) -> None: ...
    def end_exchange(self, exchange: "HttpExchange") -> None: ...
    def is_closing(self) -> bool: ...
    def abort(self) -> None: ...


class HttpExchange:
    """A request whose header is complete, and the response to it."""

    def __init__(
        self, connection: Connection, scope: dict[str, Any], keep_alive: bool, expects_continue: bool
    ) -> None:
        self.scope, self.keep_alive = scope, keep_alive
        self.body_received = 0
        self.is_body_complete = self.is_response_started = self.is_response_complete = False
        self._connection, self._expects_continue = connection, expects_continue
        self._is_disconnected = False
        self._body = bytearray()
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._head = b""
        self._remaining: int | None = None
        self._is_chunked = False

    def start(self, app: Any, tasks: set[asyncio.Task[None]]) -> None:
        """Run the application on the request."""
        self._task = asyncio.get_running_loop().create_task(self._run(app))
        tasks.add(self._task)
        self._task.add_done_callback(tasks.discard)

    def feed_body(self, data: bytes) -> None:
        self.body_received += len(data)
        if not self.is_response_complete:
            self._body += data
            self._changed.set()

    def end_body(self) -> None:
        self.is_body_complete = True
        self._changed.set()

    @property
    def is_body_buffer_full(self) -> bool:
        return len(self._body) > MAX_BUFFERED_BODY

    def disconnect(self) -> None:
        """Cancel the application's task: nobody would read the response."""
        self._is_disconnected = True
        self._changed.set()
        if self._task is not None and not self.is_response_complete:
            self._task.cancel()

    async def _run(self, app: Any) -> None:
        try:
            await app(self.scope, self._receive, self._send)
            if not self.is_response_complete and not self._is_disconnected:
                raise RuntimeError("the application sent no complete response")
        except asyncio.CancelledError:
            if not self._is_disconnected:  # the server stops
                self._connection.abort()
        except Exception as error:
            if not self._is_disconnected and not self._connection.is_closing():
                await self._fail(error)

    async def _fail(self, error: Exception) -> None:
        """Answer an error that the application let through; after the start of a response, cut it off."""
        sys.stderr.write("".join(traceback.format_exception(error)))
        if self.is_response_started:
            return self._connection.abort()
        message = f"internal server error ({type(error).__name__})"
        content = error_to_json(RequestError("internal", message, HTTPStatus.INTERNAL_SERVER_ERROR))
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(content))]
        await self._send({"type": "http.response.start", "status": 500, "headers": headers})
        await self._send({"type": "http.response.body", "body": content})

    async def _receive(self) -> dict[str, Any]:
        """Return the next part of the body; wait for the client to leave once there is none."""
        if self._expects_continue and not self.is_response_started:
            self._expects_continue = False
            self._connection.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self._connection.update_reading()
        while not self._changed.is_set() and not self._is_over():
            await self._changed.wait()
        self._changed.clear()
        if self._is_over():
            return {"type": "http.disconnect"}
        body, self._body = bytes(self._body), bytearray()
        self._connection.update_reading()
        return {"type": "http.request", "body": body, "more_body": not self.is_body_complete}

    def _is_over(self) -> bool:
        return self._is_disconnected or self.is_response_complete

    async def _send(self, message: Any) -> None:
        if self._is_disconnected or self._connection.is_closing():
            raise ConnectionResetError("the client has disconnected")
        match message["type"]:
            case "http.response.start" if not self.is_response_started:
                self._start_response(message["status"], [*message.get("headers", ())])
            case "http.response.body" if self.is_response_started and not self.is_response_complete:
                self._send_body(message.get("body", b""), message.get("more_body", False))
            case other:
                raise RuntimeError(f"the message {other} is out of place")
        await self._connection.drain()
        await asyncio.sleep(0)  # a stream that never waits would stop everything else

    def _start_response(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        self.is_response_started = True
        fields = {name.lower(): value for name, value in headers}
        self.keep_alive &= self.is_body_complete and fields.get(b"connection", b"").lower() != b"close"
        if b"content-length" in fields:
            self._remaining = int(fields[b"content-length"])
        elif self._has_body(status):
            self._is_chunked = self.scope["http_version"] == "1.1"
            self.keep_alive &= self._is_chunked  # without chunks, the end of the body is the connection's
        if not self._has_body(status):
            self._remaining = 0
        lines = [_status_line(status)]
        for name, value in (*self._connection.default_headers, *headers):
            if INVALID_HEADER_NAME.search(name) or INVALID_HEADER_VALUE.search(value):
                raise RuntimeError(f"the response header {name!r} is invalid")
            if name.lower() != b"connection":
                lines.append(b"%b: %b\r\n" % (name, value))
        if self._is_chunked:
            lines.append(b"transfer-encoding: chunked\r\n")
        if not self.keep_alive:
            lines.append(b"connection: close\r\n")
        elif self.scope["http_version"] == "1.0":
            lines.append(b"connection: keep-alive\r\n")
        self._head = b"".join([*lines, b"\r\n"])
        if self._remaining is None:  # a stream: its first part may come late
            self._write(b"")

    def _send_body(self, body: bytes, has_more: bool) -> None:
        if self.scope["method"] == "HEAD":
            body = b""
        if self._is_chunked:
            chunk = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            self._write(chunk if has_more else chunk + b"0\r\n\r\n")
        else:
            if self._remaining is not None:
                self._remaining -= len(body)
                if self._remaining < 0 or (self._remaining and not has_more):
                    raise RuntimeError("the response is longer or shorter than its Content-Length")
            self._write(body)
        if not has_more:
            self.is_response_complete = True
            self._body.clear()
            self._changed.set()
            self._connection.end_exchange(self)

    def _write(self, data: bytes) -> None:
        data, self._head = self._head + data, b""
        if data:
            self._connection.write(data)

    def _has_body(self, status: int) -> bool:
        return self.scope["method"] != "HEAD" and status not in NO_BODY_STATUSES


def _status_line(status: int) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    return f"HTTP/1.1 {status} {phrase}\r\n".encode()


def response_bytes(status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> bytes:
    """Return a whole response, after which the connection is closed."""
    fields = [*headers, (b"content-length", b"%d" % len(body)), (b"connection", b"close")]
    head = b"".join(b"%b: %b\r\n" % field for field in fields)
    return b"%b%b\r\n%b" % (_status_line(status), head, body)
