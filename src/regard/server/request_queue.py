"""Whose turn it is: one request computes at a time, in the order they came, and none for nobody."""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from itertools import chain, islice
from threading import Condition
from typing import Generic, TypeVar

import torch

from regard.server import request_fields
from regard.server.checkpoint_cache import Models, Ready
from regard.server.http_messages import Request, RequestError
from regard.server.request_fields import Body
from regard.trace.request import LengthError

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


Found = TypeVar("Found")


class Work(Generic[Ready]):
    """The models, and whose turn it is."""

    def __init__(self, models: Models[Ready]) -> None:
        self._models, self._turns = models, Turns()

    def on(self, request: Request, body: Body, do: Callable[[Ready], Found]) -> Found:
        """What `do` finds with the model that the body names, when it is its turn."""
        step = None if body.get("step") is None else request_fields.whole(body, "step", None, 0, 10**12)
        return self._in_turn(request, lambda: do(self._models.model(step)))

    def each(self, request: Request, body: Body, do: Callable[[Ready], Iterator[Found]]) -> Iterator[Found]:
        """The same for what is found one by one: the first at once; between two, others have their turn."""

        def begin(model: Ready) -> tuple[list[Found], Iterator[Found]]:
            found = do(model)
            return list(islice(found, 1)), found

        first, rest = self.on(request, body, begin)
        return chain(first, self._rest(request, rest))

    def _rest(self, request: Request, found: Iterator[Found]) -> Iterator[Found]:
        while each := self._in_turn(request, lambda: list(islice(found, 1))):
            yield from each

    def _in_turn(self, request: Request, do: Callable[[], Found]) -> Found:
        with self._turns.turn(request), torch.inference_mode(), _saying_too_long():
            return do()


@contextmanager
def _saying_too_long() -> Iterator[None]:
    try:
        yield
    except LengthError as error:
        said = str(error.naming("--max-trace-tokens of `regard explore`"))
        raise RequestError("too_long", said, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, error.limit) from None
