"""Whose turn it is: one request computes at a time, in the order they came, and none for nobody."""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from threading import Condition

from regard.explorer.reply import Request, RequestError

GLANCE = 0.5
"""Seconds after which whoever waits looks whether it is still waited for."""


class Turns:
    """A queue for what can do one thing at a time."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._queue: deque[Request] = deque()
        self._newest: dict[str, Request] = {}

    @contextmanager
    def turn(self, request: Request) -> Iterator[None]:
        """Waits for it; gives up if a newer request came for the same slot, or nobody listens."""
        with self._changed:
            self._come(request)
            try:
                self._wait(request)
            except BaseException:
                self._leave(request)
                raise
        try:
            yield
        finally:
            with self._changed:
                self._leave(request)

    def _come(self, request: Request) -> None:
        if request.slot is not None:
            self._newest[request.slot] = request
        self._queue.append(request)
        self._changed.notify_all()

    def _wait(self, request: Request) -> None:
        while self._queue[0] is not request:
            self._changed.wait(GLANCE)
            self._refuse_needless(request)
        self._refuse_needless(request)

    def _refuse_needless(self, request: Request) -> None:
        newer = request.slot is not None and self._newest.get(request.slot) is not request
        if newer or request.gone():
            raise RequestError(
                "superseded", "a newer request took the place of this one", HTTPStatus.SERVICE_UNAVAILABLE
            )

    def _leave(self, request: Request) -> None:
        self._queue = deque(other for other in self._queue if other is not request)
        if request.slot is not None and self._newest.get(request.slot) is request:
            del self._newest[request.slot]
        self._changed.notify_all()
