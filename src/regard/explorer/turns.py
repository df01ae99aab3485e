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

    @contextmanager
    def turn(self, request: Request) -> Iterator[None]:
        """Waits for it; gives up if nobody listens any more."""
        with self._changed:
            self._queue.append(request)
            self._changed.notify_all()
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

    def _wait(self, request: Request) -> None:
        while self._queue[0] is not request:
            self._changed.wait(GLANCE)
            _refuse_needless(request)
        _refuse_needless(request)

    def _leave(self, request: Request) -> None:
        self._queue = deque(other for other in self._queue if other is not request)
        self._changed.notify_all()


def _refuse_needless(request: Request) -> None:
    """The answer reaches nobody; it ends the request."""
    if request.gone():
        raise RequestError("gone", "whoever asked has hung up", HTTPStatus.SERVICE_UNAVAILABLE)
