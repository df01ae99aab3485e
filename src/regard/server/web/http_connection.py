"""Protocol class for uvicorn: HTTP/1.1 on httptools' parser, with a deadline for whatever a client may delay.

uvicorn's own protocol classes have a deadline between two requests only: a client that sends half a header,
drips a body or does not read the response holds its connection for ever.
"""

import asyncio
from collections import deque
from enum import Enum
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

import httptools
from uvicorn.config import Config
from uvicorn.protocols.utils import get_local_addr, get_remote_addr, is_ssl
from uvicorn.server import ServerState

from regard.server.web.connection_limits import ConnectionLimits
from regard.server.web.http_exchange import HttpExchange, response_bytes
from regard.server.web.responses import RequestError, error_to_json

MAX_DISCARDED_BYTES = 16_000_000
"""Most bytes of a rejected request that are read and discarded."""
YOUNG_SECONDS = 1.0
"""A connection of this age in its header or body is not yet a slow one."""


class Phase(Enum):
    """What a connection waits for. All but RESPONDING have a deadline."""

    HEADER, BODY, RESPONDING, IDLE, LINGERING = range(5)


class HttpConnection(asyncio.Protocol):
    """One client connection."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        limits: ConnectionLimits,
    ) -> None:
        self._app, self._app_state = config.loaded_app, app_state
        self._loop = _loop or asyncio.get_running_loop()
        self._state, self._limits = server_state, limits
        self._parser = httptools.HttpRequestParser(self)
        self._exchange: HttpExchange | None = None
        self._pipeline: deque[HttpExchange] = deque()
        self._reading: HttpExchange | None = None
        """The exchange whose body is being parsed."""
        self._phase, self._since = Phase.HEADER, self._loop.time()
        self._timer: asyncio.TimerHandle | None = None
        self._ignores_input = self._is_closing = self._is_in_header = self._is_reading_paused = False
        self._error: RequestError | None = None
        """Answered once the responses before it are sent."""
        self._header_bytes = self._discarded = 0
        """Bytes since the last part of a body or end of a header, and after a rejection."""
        self._is_writable = asyncio.Event()
        self._is_writable.set()
        self._write_timer: asyncio.TimerHandle | None = None
        self._unwritten, self._was_resumed = 0, False

    # asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._addresses = {
            "server": get_local_addr(transport),
            "client": get_remote_addr(transport),
            "scheme": "https" if is_ssl(transport) else "http",
        }
        self._enter(Phase.HEADER)
        if len(self._state.connections) >= self._limits.connection_cap():
            self._close_slowest_connection()
        self._state.connections.add(self)  # type: ignore[arg-type] # uvicorn names its own classes only

    def _close_slowest_connection(self) -> None:
        """Make room: close a slow connection or an idle one, never one that waits for its response."""
        others = [each for each in self._state.connections if isinstance(each, HttpConnection)]
        slowest = min(others, key=HttpConnection._rank, default=None)
        if slowest is None or slowest._phase is Phase.RESPONDING:
            self._reject(RequestError("busy", "too many connections", HTTPStatus.SERVICE_UNAVAILABLE))
        else:
            slowest.abort()
            self._state.connections.discard(slowest)  # type: ignore[arg-type]

    def _rank(self) -> tuple[int, float]:
        """Return a key by which connections are closed for new ones, lowest first."""
        is_young = self._loop.time() - self._since < YOUNG_SECONDS
        order = {Phase.LINGERING: 0, Phase.IDLE: 2, Phase.RESPONDING: 4}
        return order.get(self._phase, 3 if is_young else 1), self._since

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002, asyncio's name
        self._state.connections.discard(self)  # type: ignore[arg-type]
        self._is_closing = True
        for timer in (self._timer, self._write_timer):
            if timer is not None:
                timer.cancel()
        self._is_writable.set()
        if self._exchange is not None:
            self._exchange.disconnect()
        self._pipeline.clear()

    def eof_received(self) -> bool:
        """Close: a client that sends no more counts as gone, which is how one that left is seen."""
        return False

    def pause_writing(self) -> None:
        self._is_writable.clear()
        self._watch_writes()

    def resume_writing(self) -> None:
        self._was_resumed = True
        self._is_writable.set()

    def data_received(self, data: bytes) -> None:
        if self._ignores_input:
            self._discarded += len(data)
            if self._discarded > MAX_DISCARDED_BYTES:
                self.abort()
            return
        if self._phase is Phase.IDLE:
            self._enter(Phase.HEADER)
        self._header_bytes += len(data)
        try:
            self._parser.feed_data(data)
            if self._header_bytes > self._limits.max_header_bytes and not self._ignores_input:
                self._refuse(_header_too_large())
        except httptools.HttpParserUpgrade:
            self._ignores_input = True
        except httptools.HttpParserError as error:
            if not self._ignores_input:
                self._refuse(_parser_error(error))

    # the parser's side

    def on_message_begin(self) -> None:
        self._url, self._headers = b"", list[tuple[bytes, bytes]]()
        self._is_in_header = True

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._is_in_header:  # the others are trailers, which nobody reads
            self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        self._is_in_header, self._header_bytes = False, 0
        if self._ignores_input:
            return
        version, url = self._parser.get_http_version(), self._url
        size = len(url) + sum(len(name) + len(value) + 4 for name, value in self._headers)
        if size > self._limits.max_header_bytes or len(self._headers) > self._limits.max_headers:
            return self._refuse(_header_too_large())
        if version not in ("1.0", "1.1"):
            status = HTTPStatus.HTTP_VERSION_NOT_SUPPORTED
            return self._refuse(RequestError("bad_request", "send HTTP/1.1", status))
        names = [name for name, _ in self._headers]
        if version == "1.0" and b"transfer-encoding" in names:
            return self._refuse(RequestError("bad_request", "HTTP/1.0 has no Transfer-Encoding"))
        if not url.startswith(b"/") or b"#" in url:
            return self._refuse(RequestError("bad_request", "send the path alone, such as GET / HTTP/1.1"))
        if len(self._pipeline) >= self._limits.max_pipelined:
            return self._refuse(RequestError("bad_request", "too many requests before an answer"))
        self._add_exchange(version)

    def _add_exchange(self, version: str) -> None:
        path, _, query = self._url.partition(b"?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": version,
            "method": self._parser.get_method().decode("ascii"),
            "path": unquote(path.decode("ascii", "replace")),
            "raw_path": path,
            "query_string": query,
            "root_path": "",
            "headers": self._headers,
            "state": self._app_state.copy(),
            **self._addresses,
        }
        expects_continue = version == "1.1" and (b"expect", b"100-continue") in self._headers
        keep_alive = self._parser.should_keep_alive() and not self._parser.should_upgrade()
        self._reading = HttpExchange(self, scope, keep_alive, expects_continue)
        self._pipeline.append(self._reading)
        self._start_next()

    def on_body(self, body: bytes) -> None:
        self._header_bytes = 0
        if self._reading is not None:
            self._reading.feed_body(body)
            self.update_reading()

    def on_message_complete(self) -> None:
        exchange, self._reading = self._reading, None
        self._header_bytes = 0
        if exchange is None or self._ignores_input:
            return
        exchange.end_body()
        self._ignores_input = not exchange.keep_alive
        if exchange is self._exchange:
            if exchange.is_response_complete:
                self.end_exchange(exchange)
            else:
                self._enter(Phase.RESPONDING)

    # the exchange's side

    @property
    def default_headers(self) -> list[tuple[bytes, bytes]]:
        return self._state.default_headers

    def write(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)

    async def drain(self) -> None:
        await self._is_writable.wait()

    def update_reading(self) -> None:
        """Read on unless requests wait, or a body that the application has not read."""
        current = self._exchange
        is_full = bool(self._pipeline) or (current is not None and current.is_body_buffer_full)
        if is_full != self._is_reading_paused and not self._transport.is_closing():
            self._is_reading_paused = is_full
            (self._transport.pause_reading if is_full else self._transport.resume_reading)()

    def end_exchange(self, exchange: HttpExchange) -> None:
        """Go on after a response: with the next request, or by closing."""
        self._state.total_requests += 1
        if self._transport.get_write_buffer_size():
            self._watch_writes()
        if not exchange.is_body_complete:
            return self._linger()
        if not exchange.keep_alive or self._is_closing:
            return self._transport.close()
        self._exchange = None
        if not self._start_next():
            if self._error is not None:
                return self._reject(self._error)
            self._enter(Phase.HEADER if self._is_in_header else Phase.IDLE)
        self.update_reading()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def abort(self) -> None:
        self._transport.abort()

    def _start_next(self) -> bool:
        if self._exchange is not None or not self._pipeline:
            return self._exchange is not None
        self._exchange = self._pipeline.popleft()
        self._enter(Phase.RESPONDING if self._exchange.is_body_complete else Phase.BODY)
        self._exchange.start(self._app, self._state.tasks)
        return True

    # deadlines

    def _enter(self, phase: Phase) -> None:
        self._phase, self._since = phase, self._loop.time()
        if self._timer is not None:
            self._timer.cancel()
        seconds = {
            Phase.HEADER: self._limits.header_seconds,
            Phase.BODY: self._limits.body_seconds,
            Phase.IDLE: self._limits.idle_seconds,
            Phase.LINGERING: self._limits.linger_seconds,
        }.get(phase)
        self._timer = None if seconds is None else self._loop.call_later(seconds, self._check_deadline)

    def _check_deadline(self) -> None:
        if self._phase is Phase.BODY and (left := self._body_seconds_left()) > 0:
            self._timer = self._loop.call_later(left, self._check_deadline)
        elif self._phase is Phase.BODY or (self._phase is Phase.HEADER and self._is_in_header):
            message = "the request took too long to arrive"
            self._refuse(RequestError("slow", message, HTTPStatus.REQUEST_TIMEOUT))
        elif self._phase is Phase.LINGERING and not self._transport.get_write_buffer_size():
            self.abort()
        else:
            self._transport.close()

    def _body_seconds_left(self) -> float:
        if self._is_reading_paused:  # the application is slow, not the client
            return self._limits.body_seconds
        received = 0 if self._exchange is None else self._exchange.body_received
        seconds = self._limits.body_seconds + received / self._limits.min_bytes_per_second
        return self._since + seconds - self._loop.time()

    def _watch_writes(self) -> None:
        if self._write_timer is None:
            self._unwritten, self._was_resumed = self._transport.get_write_buffer_size(), False
            seconds = self._limits.stalled_write_seconds
            self._write_timer = self._loop.call_later(seconds, self._check_writes)

    def _check_writes(self) -> None:
        """Disconnect a client that has hardly read in the last seconds."""
        self._write_timer = None
        unwritten = self._transport.get_write_buffer_size()
        least = self._limits.min_bytes_per_second * self._limits.stalled_write_seconds
        if unwritten and not self._was_resumed and unwritten > self._unwritten - least:
            self.abort()
        elif unwritten:
            self._watch_writes()

    # ends

    def shutdown(self) -> None:
        """Close when the request in progress is answered; uvicorn calls this when it stops."""
        self._is_closing = self._ignores_input = True
        if self._exchange is None or self._exchange.is_response_complete:
            self._transport.close()
        else:
            self._exchange.keep_alive = False

    def _refuse(self, error: RequestError) -> None:
        """Answer a malformed or slow request: after the responses before it, or instead of its own."""
        self._ignores_input = True
        self._error = error
        reading = self._reading
        if reading is not None and reading is not self._exchange:
            self._pipeline.remove(reading)
        elif reading is not None:
            reading.disconnect()
            if reading.is_response_started:
                return self.abort()
        elif self._exchange is not None:
            return None
        if self._exchange is None or self._exchange is reading:
            self._reject(error)
        return None

    def _reject(self, error: RequestError) -> None:
        body = error_to_json(error)
        headers = [
            *self.default_headers,
            (b"content-type", b"application/json"),
            (b"cache-control", b"no-store"),
        ]
        self.write(response_bytes(error.status, headers, body))
        self._linger()

    def _linger(self) -> None:
        """Close after what the client still sends: closed at once, it would lose the answer."""
        self._ignores_input = self._is_closing = True
        self._enter(Phase.LINGERING)
        self._watch_writes()
        if self._is_reading_paused:
            self._is_reading_paused = False
            self._transport.resume_reading()
        if self._transport.can_write_eof() and not self._transport.is_closing():
            self._transport.write_eof()


def _header_too_large() -> RequestError:
    status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
    return RequestError("bad_request", "the header of the request is too large", status)


def _parser_error(error: Exception) -> RequestError:
    message = str(error)
    if message == "Content-Length overflow":
        return RequestError("too_large", "the body is too large", HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    return RequestError("bad_request", f"the request is not valid HTTP: {message}")
