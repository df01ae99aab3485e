"""Access log: one entry per request, without its text, query, key or address."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.types import ASGIApp, Message, Receive, Scope, Send

NO_ROUTE = "-"
KNOWN_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


@dataclass
class LogEntry:
    """What is known of a request once it is answered."""

    method: str
    route: str = NO_ROUTE
    """The template of the route, as `/v2/document/{id}`: an address may have text in it."""
    status: int = 0
    """0 if the client left before the answer."""
    milliseconds: float = 0.0
    fields: dict[str, str | int | float] = field(default_factory=dict)
    """What handlers add, such as the number of characters."""


AccessLog = Callable[[LogEntry], None]


def log_entry(scope: Scope) -> LogEntry:
    """Return the entry of a request, for a handler to add `fields` to."""
    return scope["regard.log"]


class AccessLogMiddleware:
    """Gives every request its entry, and hands it to the log at the end."""

    def __init__(self, app: ASGIApp, log: AccessLog | None) -> None:
        self._app, self._log = app, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        entry = LogEntry(scope["method"] if scope["method"] in KNOWN_METHODS else "other")
        scope["regard.log"] = entry
        started = time.perf_counter()

        async def send_and_note(message: Message) -> None:
            if message["type"] == "http.response.start":
                entry.status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_and_note)
        finally:
            entry.milliseconds = 1000 * (time.perf_counter() - started)
            if self._log is not None:
                self._log(entry)


class JsonAccessLog:
    """Passes each entry on as a line of JSON."""

    def __init__(self, write: Callable[[str], object]) -> None:
        """`write` is that of an open file, such as `sys.stderr.write`."""
        self._write = write

    def __call__(self, entry: LogEntry) -> None:
        line = {
            "time": round(time.time(), 3),
            "method": entry.method,
            "route": entry.route,
            "status": entry.status,
            "ms": round(entry.milliseconds, 1),
            **entry.fields,
        }
        self._write(json.dumps(line, ensure_ascii=False) + "\n")
