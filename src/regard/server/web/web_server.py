"""Web server: a listening socket, uvicorn with our protocol class, and an orderly end."""

import signal
import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, NamedTuple

import uvicorn
from starlette.types import ASGIApp
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from regard.errors import RegardError
from regard.server.web.access_log import AccessLog
from regard.server.web.application import Lifespan, RouteGroup, build_application
from regard.server.web.connection_limits import ConnectionLimits
from regard.server.web.http_connection import HttpConnection
from regard.server.web.security import HostGuard

BACKLOG = 1024


class TlsFiles(NamedTuple):
    """A certificate with its chain, and its key without a password, in PEM."""

    certificate: Path
    key: Path


class WebServer:
    """Listens from its construction on; `serve` answers until SIGTERM, SIGINT or `stop`."""

    def __init__(
        self,
        host: str,
        port: int,
        *,
        names: Sequence[str] = (),
        origins: Sequence[str] = (),
        trusted_proxies: Sequence[str] = (),
        tls: TlsFiles | None = None,
    ) -> None:
        """Bind a port, 0 for a free one.

        `names` are host names that are accepted besides the usual, `origins` those of the server's own pages
        behind a proxy. The X-Forwarded headers of `trusted_proxies`, addresses or networks, are believed.
        """
        _check_tls(tls)
        self._socket = _listen(host, port)
        self.port: int = self._socket.getsockname()[1]
        self.guard = HostGuard(host, self.port, names, origins)
        shown = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(host, host)
        self._tls, self._trusted_proxies = tls, list(trusted_proxies)
        self.url = f"{'https' if tls else 'http'}://{f'[{shown}]' if ':' in shown else shown}:{self.port}/"
        self._server: _Server | None = None
        self._is_stopped = False

    def serve(
        self,
        groups: Sequence[RouteGroup],
        *,
        limits: ConnectionLimits | None = None,
        drain_seconds: int = 10,
        access_log: AccessLog | None = None,
        lifespan: Lifespan | None = None,
    ) -> None:
        """Answer requests until a signal or `stop`, then finish those in progress within `drain_seconds`."""
        application = build_application(groups, self.guard, access_log=access_log, lifespan=lifespan)
        if self._trusted_proxies:
            trusting: Any = ProxyHeadersMiddleware  # uvicorn's types of ASGI are not starlette's
            application = trusting(application, self._trusted_proxies)
        config = _configure(application, limits or ConnectionLimits(), drain_seconds, self._tls)
        self._server = _Server(config)
        self._server.should_exit = self._is_stopped
        self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        """Make `serve` return; from any thread."""
        self._is_stopped = True
        if self._server is not None:
            self._server.should_exit = True

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> "WebServer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Server(uvicorn.Server):
    """uvicorn's server that ends without an error: it would raise SIGTERM and SIGINT again at its end."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:  # type: ignore[override]
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        signals = (signal.SIGINT, signal.SIGTERM)
        before = {each: signal.signal(each, self._stop) for each in signals}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    def _stop(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002, a signal handler
        """Stop; at the second signal without waiting for requests in progress."""
        self.force_exit = self.should_exit
        self.should_exit = True


def _check_tls(tls: TlsFiles | None) -> None:
    """Raise for files that are not a certificate and its key."""
    if tls is None:
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(tls.certificate, tls.key, lambda: "")
    except ssl.SSLError as error:
        reason = error.reason or "not readable, or the key has a password"
        raise RegardError(
            f"{tls.certificate} and {tls.key} are not a certificate and its key in PEM: {reason}"
        ) from None


def _configure(
    application: ASGIApp, limits: ConnectionLimits, drain_seconds: int, tls: TlsFiles | None
) -> uvicorn.Config:
    protocol: Any = partial(HttpConnection, limits=limits)
    return uvicorn.Config(
        application,
        http=protocol,
        ws="none",
        loop="asyncio",
        interface="asgi3",
        lifespan="on",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=drain_seconds,
        ssl_certfile=None if tls is None else tls.certificate,
        ssl_keyfile=None if tls is None else tls.key,
    )


def _listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; the errors of a host or port are one line."""
    listener: socket.socket | None = None
    try:
        listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except (OSError, OverflowError) as error:
        if listener is not None:
            listener.close()
        reason = error.strerror if isinstance(error, OSError) else "the port does not exist"
        raise RegardError(
            f"cannot serve on {host}:{port}: {reason}; give another --port, or 0 for a free one"
        ) from None
    return listener
